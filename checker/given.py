"""Which members a block gives, whatever their values are: what decides which rules may speak.

Members are named by their path from the block, as `decode.tok_s` of a run. Lists and objects of
blocks are passed through: a report gives `configurations.drafter` where one of its configurations
does. What configurations lay over a block of the report counts as that block's (`engine.version`).
A measured number that is written as an object also gives `*.samples` and the like, wherever it
stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchlint.checker.model import Block, MeasuredObject
from benchlint.checker.tree import Digits

#: All of these must be given, each of them by one of its alternatives.
Needs = tuple[frozenset[str], ...]

#: The members that a block gives: by name alone, or with the types and shapes of the blocks in
#: it. Reports have few shapes, so what follows from one is worked out once for all of them.
Shape = tuple["str | tuple[str, Kinds]", ...]
Kinds = tuple[tuple[type[Block], Shape], ...]

_PLAIN = frozenset({str, int, float, Digits, bool})

#: So many shapes are known at a time; one takes some kilobytes.
_SHAPES = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The members that blocks of one shape give.

    measured: of them the measured numbers that are written as objects, in order of the format.
    """

    paths: frozenset[str]
    measured: tuple[str, ...] = ()

    def meets(self, needs: Needs) -> bool:
        """Whether all that is needed is given."""
        return not any(self.paths.isdisjoint(need) for need in needs)


def needs_of(texts: Iterable[str]) -> Needs:
    """Needs as a rule states them: each is a path, or alternatives: "decode | prefill.tok_s"."""
    return tuple(frozenset(path.strip() for path in text.split("|")) for text in texts)


def given_by(block: Block) -> Given:
    """What a block gives: mostly the same object for blocks of the same shape."""
    return _given(type(block), _shape(block))


@lru_cache(maxsize=256)
def given_by_parts(names: tuple[str, ...], parts: tuple[tuple[str, Given], ...]) -> Given:
    """What a block gives that has members of these names, with what the blocks in them give.

    parts: each block with the name of the member that it is in.
    """
    inside: dict[str, set[Given]] = {name: set() for name in names}
    for name, given in parts:
        inside[name].add(given)
    return _given_by_parts(tuple([(name, frozenset(given)) for name, given in inside.items()]))


def _shape(block: Block) -> Shape:
    members = block.__dict__
    found: list[str | tuple[str, Kinds]] = []
    for name in block.__pydantic_fields_set__:  # model_fields_set, without its call
        value = members[name]
        kind = type(value)
        if kind in _PLAIN:
            found.append(name)
        elif isinstance(value, Block):
            found.append((name, ((kind, _shape(value)),)))
        elif isinstance(value, list) and value and isinstance(value[0], Block):
            found.append((name, tuple(dict.fromkeys((type(v), _shape(v)) for v in value))))
        elif value is not None:
            found.append(name)
    return tuple(found)


@lru_cache(maxsize=_SHAPES)
def _given(kind: type[Block], shape: Shape) -> Given:
    kinds = dict(_paths(kind, shape))
    measured = [path for path, kind in kinds.items() if issubclass(kind, MeasuredObject)]
    heads = tuple(f"{path}." for path in measured)
    details = {f"*.{path.rpartition('.')[2]}" for path in kinds if path.startswith(heads)}
    return Given(frozenset(kinds) | details, tuple(measured))


def _paths(kind: type[Block], shape: Shape) -> Iterator[tuple[str, type]]:
    """All paths in the order of the format, with the types of blocks."""
    order = list(kind.model_fields)
    members = {each if isinstance(each, str) else each[0]: each for each in shape}
    for name in sorted(members, key=order.index):
        member = members[name]
        kinds: Kinds = () if isinstance(member, str) else member[1]
        yield name, kinds[0][0] if kinds else object
        for each, inner in kinds:
            yield from ((f"{name}.{path}", type_) for path, type_ in _paths(each, inner))


@lru_cache(maxsize=_SHAPES)
def _given_by_parts(members: tuple[tuple[str, frozenset[Given]], ...]) -> Given:
    inner = {f"{name}.{path}" for name, parts in members for each in parts for path in each.paths}
    laid_over = {path.partition(".")[2] for path in inner if path.startswith(_LAID_OVER)}
    return Given(frozenset(inner | laid_over).union(name for name, _ in members))


#: Blocks of configurations that are laid over those of the report.
_LAID_OVER = ("configurations.machine", "configurations.engine", "configurations.target")


class Absent:
    """What facts are where the members that they come from are not given.

    Looking for what is not there, member by member, is most of what a check of a small report
    would do; the shape of the block tells it of all members at once.
    """

    def __init__(self, table: Mapping[str, tuple[str, object]], always: Iterable[str] = ()) -> None:
        """table: attributes with the members they need (alternatives) and what they are without.

        always: attributes that all facts have, whatever is given. They come first, so that they
        have the same place in every `__dict__`, by which Python finds them several times faster.
        """
        self._table = {name: (needs_of([need]), value) for name, (need, value) in table.items()}
        self._always = dict.fromkeys(always)
        self._known = lru_cache(maxsize=_SHAPES)(self._of)

    def of(self, given: Given) -> dict[str, Any]:
        """The attributes that are known without looking, for the `__dict__` of new facts."""
        return self._known(given).copy()

    def _of(self, given: Given) -> dict[str, object]:
        absent = {n: value for n, (need, value) in self._table.items() if not given.meets(need)}
        return self._always | absent
