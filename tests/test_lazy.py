"""Answers that are kept with the object that they are about."""

from __future__ import annotations

from benchlint.checker.lazy import cached_property, once


class Subject:
    def __init__(self) -> None:
        self.asked: list[str] = []

    @cached_property
    def answer(self) -> int:
        """What it says."""
        self.asked.append("property")
        return 42


@once
def length(subject: Subject) -> int:
    subject.asked.append("function")
    return len(subject.asked)


def test_a_property_is_worked_out_once_for_each_object() -> None:
    one, other = Subject(), Subject()
    assert (one.answer, one.answer, other.answer) == (42, 42, 42)
    assert one.asked == other.asked == ["property"]


def test_a_function_is_asked_once_for_each_object() -> None:
    one, other = Subject(), Subject()
    other.asked.append("something else")
    assert (length(one), length(one), length(other), length(other)) == (1, 1, 2, 2)
    assert one.asked == ["function"]
