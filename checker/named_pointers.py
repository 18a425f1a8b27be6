"""Pointers that stay the same when runs are inserted: ids in place of indices.

`/runs/3/decode/tok_s` is written `/runs[id=dflash-code]/decode/tok_s` where the fourth run has
that id. Baselines keep pointers in this form, and suppressions are matched against it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchlint.checker.pointers import split

_ITEM = r"\[(?:id=[^\]]*|\d+|\*)\]"
_STEP = re.compile(rf"/?(?:(?P<item>{_ITEM})|(?P<name>(?:(?!{_ITEM})[^/])+))")

#: No pointer that a person writes is longer.
_MAX_PATTERN = 1_000


class PointerNames:
    """Names for the pointers into one tree."""

    def __init__(self, tree: object) -> None:
        self._tree = tree
        self._lists: dict[int, list[str | None]] = {}

    def steps(self, pointer: str) -> Iterator[tuple[str, str | None]]:
        """Each part of the pointer, and for a list item with an id its name, `id=…`.

        The second and later items of one id are `id=…#2` and so on.
        """
        node = self._tree
        for part in split(pointer):
            name = None
            if isinstance(node, list) and part.isdecimal() and int(part) < len(node):
                name = self._names(node)[int(part)]
                node = node[int(part)]
            else:
                node = node.get(part) if isinstance(node, dict) else None
            yield part, name

    def name(self, pointer: str) -> str:
        """The pointer with ids in place of indices, where there are ids."""
        return "".join(
            f"/{_escaped(part)}" if name is None else f"[{_escaped(name)}]"
            for part, name in self.steps(pointer)
        )

    def _names(self, items: list[object]) -> list[str | None]:
        # The tree is kept alive by self, so an id() stands for one list.
        if id(items) not in self._lists:
            self._lists[id(items)] = _item_names(items)
        return self._lists[id(items)]


def _item_names(items: list[object]) -> list[str | None]:
    seen: Counter[str] = Counter()
    names: list[str | None] = []
    for item in items:
        found = item.get("id") if isinstance(item, dict) else None
        if not isinstance(found, str) or not found:
            names.append(None)
            continue
        seen[found] += 1
        names.append(f"id={found}" + (f"#{seen[found]}" if seen[found] > 1 else ""))
    return names


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, slots=True)
class PointerPattern:
    """A pointer as a user writes it in a suppression; it covers everything below.

    Parts are member names, indices, `[id=…]` or `[3]` after the list's name; `*` stands for
    any text within one part. `/runs[id=dflash-*]/decode` covers the decode block of every run
    whose id starts with `dflash-`.
    """

    steps: tuple[re.Pattern[str], ...]

    @staticmethod
    def of(text: str) -> PointerPattern:
        """The pattern in `text`. Raises ValueError where it is none."""
        if len(text) > _MAX_PATTERN:
            raise ValueError(f"{text[:40]!r}… is longer than {_MAX_PATTERN:,} characters")
        steps: list[re.Pattern[str]] = []
        at = 0
        rest = text.rstrip("/")
        while at < len(rest):
            found = _STEP.match(rest, at)
            if found is None:
                raise ValueError(f"{text!r} is not a pointer such as /runs[id=name]/decode")
            item, name = found["item"], found["name"]
            steps.append(_wildcard(name if item is None else item[1:-1]))
            at = found.end()
        return PointerPattern(tuple(steps))

    def covers(self, pointer: str, names: PointerNames) -> bool:
        """Whether the pattern is a prefix of the pointer, by indices or by ids."""
        parts = list(names.steps(pointer))
        if len(parts) < len(self.steps):
            return False
        pairs = zip(self.steps, parts, strict=False)
        return all(
            step.fullmatch(part) or step.fullmatch(name or part) for step, (part, name) in pairs
        )


def _wildcard(step: str) -> re.Pattern[str]:
    plain = step.replace("~1", "/").replace("~0", "~")
    first, *others = map(re.escape, plain.split("*"))
    # The first place that fits is as good as any later one, so that nothing is tried twice.
    middle = "".join(f"(?>.*?{each})" for each in others[:-1])
    return re.compile(first + middle + "".join(f".*{each}" for each in others[-1:]), re.DOTALL)
