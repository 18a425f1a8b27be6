"""What is worked out once about an object.

functools.cached_property takes a lock at every first access before Python 3.12, which a check
of thousands of reports pays for some hundred times a report. Facts belong to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar, overload

S = TypeVar("S")
T = TypeVar("T")

_NOT_ASKED: Any = object()


class cached_property(Generic[T]):  # noqa: N801 - reads as the one in functools
    """Call the method at the first access, and be the value from then on."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value


def once(function: Callable[[S], T]) -> Callable[[S], T]:
    """Ask a function about an object once; the answer is kept with the object.

    For questions about facts that several rules ask and that are no business of the facts.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def answer(subject: S) -> T:
        kept = subject.__dict__
        found: T = kept.get(name, _NOT_ASKED)
        if found is _NOT_ASKED:  # half of the time, too often for a KeyError
            found = kept[name] = function(subject)
        return found

    return answer
