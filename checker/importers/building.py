"""Putting a report together value by value, with the place of each."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

from benchlint.checker.importers.found import Found, Place
from benchlint.checker.pointers import pointer

#: Member names and list indices from the top of the report to a value.
Path = tuple[str | int, ...]


#: Stands for a member that a block lacks.
_ABSENT: Any = object()


class Building:
    """A report that is being put together.

    tree: the report so far. places: JSON Pointer → where in the source the value stands; what
    contains values stands where the first of them does.
    remarks: what was met in the source and could not be taken over, one line each.
    """

    def __init__(self) -> None:
        self.tree: dict[str, Any] = {"benchlint": "1"}
        self.places: dict[str, Place] = {}
        self.remarks: list[str] = []
        self._ids: set[str] = set()
        #: How often a name was asked for, so that not all numbers are tried each time.
        self._repeats: dict[str, int] = {}

    def put(self, path: Path, found: Found | None) -> None:
        """Set a value, unless there is none, or one is there already (the first stays)."""
        if found is None or found.value is None:
            return
        parent = self._container(path)
        name = path[-1]
        if isinstance(parent, list):
            if name == len(parent):
                parent.append(found.value)
        elif parent is not None and name not in parent:
            parent[cast("str", name)] = found.value
        else:
            return
        self._place(path, found.place)

    def put_null(self, path: Path) -> None:
        """Set null, which for a drafter says that there is none."""
        parent = self._container(path)
        if isinstance(parent, dict):
            parent.setdefault(cast("str", path[-1]), None)

    def value(self, path: Path) -> object:
        """The value that is there; None where there is none."""
        value: Any = self.tree
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def has(self, path: Path) -> bool:
        """Whether a value is there."""
        value: Any = self.tree
        for part in path:
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return False
        return True

    def run(self, name: str, configuration: str | None = None) -> Path:
        """Begin a run with this id, made unique by a number; the path of the run."""
        runs = self.tree.setdefault("runs", [])
        run: dict[str, Any] = {"id": self._unused(name or "run")}
        if configuration is not None:
            run["configuration"] = configuration
        runs.append(run)
        return ("runs", len(runs) - 1)

    def configuration(self, name: str) -> Path:
        """The path of the configuration of this name, which is there afterwards."""
        self.tree.setdefault("configurations", {}).setdefault(name, {})
        return ("configurations", name)

    def workload(self, name: str) -> Path:
        """The path of the workload of this name, which is there afterwards."""
        self.tree.setdefault("workloads", {}).setdefault(name, {})
        return ("workloads", name)

    def hoist(self) -> None:
        """Say once for the report what all configurations say of machine, engine and target."""
        setups: dict[str, dict[str, Any]] = self.tree.get("configurations", {})
        for block in ("machine", "engine", "target"):
            blocks = [each.get(block) for each in setups.values()]
            first = next(iter(blocks), None)
            for member in list(first) if isinstance(first, dict) else ():
                self._hoist(setups, block, member)

    def _hoist(self, setups: dict[str, dict[str, Any]], block: str, member: str) -> None:
        values = [each.get(block, {}).get(member, _ABSENT) for each in setups.values()]
        if any(value != values[0] for value in values) or self.has((block, member)):
            return
        self.tree.setdefault(block, {})[member] = values[0]
        self._move_places(pointer("configurations", next(iter(setups)), block), f"/{block}")
        for each in setups.values():
            del each[block][member]
            if not each[block]:
                del each[block]

    def _move_places(self, old: str, new: str) -> None:
        """Let what stands at or below one pointer stand below another too."""
        for at in [each for each in self.places if each == old or each.startswith(f"{old}/")]:
            self.places.setdefault(new + at[len(old) :], self.places[at])

    def _unused(self, name: str) -> str:
        number, unused = self._repeats.get(name, 1), name
        while unused in self._ids:
            number += 1
            unused = f"{name} ({number})"
        self._repeats[name] = number
        self._ids.add(unused)
        return unused

    def _container(self, path: Path) -> dict[str, Any] | list[Any] | None:
        """What the value at the path goes into; made on the way: a list where an index follows.

        None where null or a plain value stands on the way, which stays.
        """
        value: Any = self.tree
        for part, following in pairwise(path):
            empty: Any = [] if isinstance(following, int) else {}
            if isinstance(value, list):
                index = cast("int", part)
                if index == len(value):
                    value.append(empty)
                value = value[index]
            elif isinstance(value, dict):
                value = value.setdefault(part, empty)
        return value if isinstance(value, (dict, list)) else None

    def _place(self, path: Path, place: Place | None) -> None:
        if place is None:
            return
        self.places[pointer(*path)] = place
        for end in range(len(path)):
            self.places.setdefault(pointer(*path[:end]), place)
