"""Several files into one report: results side by side, logs laid over what they are about.

Nothing is overwritten: values that contradict each other are named, both of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchlint.checker.importers.run_pairs import paired, the_sum
from benchlint.checker.importers.traced import Block, Leaf, Names, Part, Pieces, agreed, taken_apart


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two values for one thing. at: the field, as `engine.version`."""

    at: str
    one: Leaf
    other: Leaf

    def __str__(self) -> str:
        """Both, in a line."""
        return f"{self.at}: {self.one} against {self.other}"


@dataclass
class Merged:
    """One report made of parts.

    conflicts: contradictions between files that speak of one setup; no report can hold both.
    remarks: what a reader of the report should know of how it was made.
    """

    pieces: Pieces
    conflicts: list[Conflict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def merged(parts: Sequence[Part]) -> Merged:
    """All parts as one report. Results come first, in the order given."""
    results = [p for p in parts if not p.is_companion] or [parts[0]]
    first = results[0]
    others = [p for p in parts if p.is_companion and p is not first]
    merging = _Merging(taken_apart(results[0]))
    for result in results[1:]:
        merging.beside(result)
    for companion in others:
        if len(results) > 1:
            merging.apart(companion, len(results))
        elif companion.goes_with(results[0]):
            merging.over(companion)
        else:
            merging.beside(companion)
    return merging.done


class _Merging:
    """A report to which others are added."""

    def __init__(self, first: Pieces) -> None:
        self.done = Merged(first)

    # side by side

    def beside(self, part: Part) -> None:
        """Add another result: another arm, whose setup may be another."""
        theirs, ours = taken_apart(part), self.done.pieces
        _without_clashes(theirs, ours, part.stem)
        for names in _contradicted(ours.top, theirs.top):
            if names[0] in _SETUP:
                _into_configurations(ours, names, _stem_of(ours))
                _into_configurations(theirs, names, part.stem)
        self._add_top(theirs)
        self._add_rest(theirs)

    def apart(self, part: Part, results: int) -> None:
        """Add a log of which nobody says to which of several results it belongs."""
        self.done.remarks.append(
            f"{part.name} stands by itself: it is not said to which of the {results} results it "
            "belongs; convert each result with its log, then these reports"
        )
        self.beside(part)

    def _add_top(self, theirs: Pieces) -> None:
        ours = self.done.pieces.top
        for names, leaf in theirs.top.items():
            known = ours.get(names)
            if names == ("date",) and known is not None:
                ours[names] = min(known, leaf, key=lambda each: str(each.value))
            elif names[0] in ("notes", "source", "authors") and known is not None:
                ours[names] = Leaf([*_listed(known), *_listed(leaf)], known.part, known.at)
            elif known is None:
                if not _overlaps(names, ours):
                    ours[names] = leaf
            elif agreed(known, leaf) is None:
                self.done.remarks.append(str(Conflict(".".join(names), known, leaf)))

    def _add_rest(self, theirs: Pieces) -> None:
        ours = self.done.pieces
        ours.configurations |= theirs.configurations
        ours.workloads |= theirs.workloads
        ours.runs += theirs.runs
        ours.quality += theirs.quality
        ours.claims += theirs.claims

    # one over the other

    def over(self, part: Part) -> None:
        """Lay a log over the one result that it is about."""
        theirs, ours = taken_apart(part), self.done.pieces
        date = theirs.top.pop(("date",), None)
        if date is not None:
            ours.top.setdefault(("date",), date)
        self._lay("", ours.top, theirs.top)
        _as_named(theirs, "configurations", "configuration", ours)
        _as_named(theirs, "workloads", "workload", ours)
        for kind in ("configurations", "workloads"):
            blocks = getattr(ours, kind)
            for name, block in getattr(theirs, kind).items():
                self._lay(f"{kind}.{name}", blocks.setdefault(name, {}), block)
        self._lay_runs(theirs, part)
        ours.quality += theirs.quality
        ours.claims += theirs.claims

    def _lay(self, start: str, ours: Block, theirs: Block) -> None:
        for at, one, other in _laid(ours, theirs):
            self.done.conflicts.append(Conflict(".".join(filter(None, [start, *at])), one, other))

    def _lay_runs(self, theirs: Pieces, part: Part) -> None:
        ours = self.done.pieces
        total = the_sum(theirs.runs)
        if len(ours.runs) == len(theirs.runs) == 1:
            if self._lay_run(theirs.runs[0], part):
                return
            theirs = taken_apart(part)
            _as_named(theirs, "configurations", "configuration", ours)
            _as_named(theirs, "workloads", "workload", ours)
        elif pairs := paired(ours.runs, theirs.runs):
            self._lay_pairs(theirs, pairs)
        elif len(ours.runs) == 1 and total is not None and self._lay_sum(total, theirs, part):
            return
        _rename(theirs, "runs", _clashing(_ids(theirs), _ids(ours), part.stem))
        ours.runs += theirs.runs

    def _lay_run(self, run: Block, part: Part) -> bool:
        """Lay a run over the only one of ours, where nothing in it contradicts that."""
        ours = self.done.pieces
        trial = dict(ours.runs[0])
        clashes = _laid(trial, {names: leaf for names, leaf in run.items() if names != ("id",)})
        if clashes:
            self._say_apart(part, [Conflict(".".join(at), one, two) for at, one, two in clashes])
            return False
        ours.runs[0] = trial
        return True

    def _lay_pairs(self, theirs: Pieces, pairs: dict[int, int]) -> None:
        """Lay requests of a log over the same requests of a result; others stay for themselves."""
        ours, names = self.done.pieces, {}
        for i, j in pairs.items():
            names[str(theirs.runs[i][("id",)].value)] = str(ours.runs[j][("id",)].value)
            _laid(ours.runs[j], {n: leaf for n, leaf in theirs.runs[i].items() if n not in _NAMES})
        theirs.runs = [run for i, run in enumerate(theirs.runs) if i not in pairs]
        _rename(theirs, "runs", _clashing(_ids(theirs), _ids(ours), "log"))
        _rename(theirs, "runs", names)

    def _lay_sum(self, total: Block, theirs: Pieces, part: Part) -> bool:
        """Lay the sums over all requests of a log over the one run of a client.

        They may hold requests before it, so they are said to count since the start.
        """
        counters = ("measurement", "counters")
        run = {n: leaf for n, leaf in total.items() if n[0] == "speculation"}
        run[counters] = Leaf("server_cumulative", part, total[("id",)].at)
        if not run.keys() - {counters} or not self._lay_run(run, part):
            return False
        rest = len(theirs.runs) - 1
        self.done.remarks.append(f"{part.name}: the sums over its {rest} requests, not each")
        return True

    def _say_apart(self, part: Part, clashes: Sequence[Conflict]) -> None:
        first = "; ".join(map(str, clashes[:3]))
        more = f"; and {len(clashes) - 3} more" if len(clashes) > 3 else ""
        self.done.remarks.append(f"{part.name} is a run of its own: {first}{more}")


#: What a run is called and what it refers to, which is the same only by chance.
_NAMES: tuple[Names, ...] = (("id",), ("configuration",), ("workload",))

#: Blocks of the top that a configuration may give another of.
_SETUP = frozenset({"engine", "machine", "target"})


def _listed(leaf: Leaf) -> list[object]:
    return leaf.value if isinstance(leaf.value, list) else [leaf.value]


def _overlaps(names: Names, block: Iterable[Names]) -> bool:
    """Whether something stands where this would, as a bare value does where an object would."""
    return any(a != names and (a[: len(names)] == names or names[: len(a)] == a) for a in block)


def _laid(ours: Block, theirs: Block) -> list[tuple[Names, Leaf, Leaf]]:
    """Lay their values over ours; what contradicts is left out and handed back."""
    clashes: list[tuple[Names, Leaf, Leaf]] = []
    for names, leaf in theirs.items():
        known = ours.get(names)
        if known is not None:
            same = agreed(known, leaf) or _stronger(known, leaf, names)
            ours[names] = same or known
            if same is None:
                clashes.append((names, known, leaf))
        elif not _overlaps(names, ours):
            ours[names] = leaf
    return clashes


def _stronger(known: Leaf, leaf: Leaf, names: Names) -> Leaf | None:
    """The one of two values that the other gives way to; None where neither does."""
    if leaf.gives_way(names):
        return known
    return leaf if known.gives_way(names) else None


def _contradicted(ours: Block, theirs: Block) -> list[Names]:
    both = [names for names in theirs if names in ours]
    return [names for names in both if agreed(ours[names], theirs[names]) is None]


def _stem_of(pieces: Pieces) -> str:
    return next(iter(pieces.top.values())).part.stem


def _into_configurations(pieces: Pieces, names: Names, fallback: str) -> None:
    """Move a value of the top into every configuration; runs without one get one."""
    leaf = pieces.top.pop(names, None)
    if leaf is None:
        return
    bare = [run for run in pieces.runs if ("configuration",) not in run]
    if bare:
        pieces.configurations.setdefault(fallback, {})
    for run in bare:
        run[("configuration",)] = Leaf(fallback, leaf.part, leaf.at)
    for block in pieces.configurations.values():
        if ("based_on",) not in block and not _overlaps(names, block):
            block.setdefault(names, leaf)


# --- names -----------------------------------------------------------------------------------

#: Where a run's id is referred to, and a configuration's and a workload's name.
_REFERENCES: dict[str, tuple[Names, ...]] = {
    "runs": (
        ("id",),
        ("of",),
        ("to",),
        ("among",),
        ("parts",),
        ("speedup", "over"),
        ("losslessness", "baseline"),
    ),
    "configurations": (("configuration",), ("based_on",)),
    "workloads": (("workload",), ("scope", "workloads")),
}


def _ids(pieces: Pieces) -> list[str]:
    rows = [*pieces.runs, *pieces.quality]
    return [str(row[("id",)].value) for row in rows if ("id",) in row]


def _clashing(theirs: Iterable[str], ours: Iterable[str], stem: str) -> dict[str, str]:
    """New names for those of theirs that ours have too."""
    taken = set(ours)
    renamed: dict[str, str] = {}
    for name in theirs:
        if name in taken:
            new, number = f"{name} ({stem})", 1
            while new in taken:
                number += 1
                new = f"{name} ({stem} {number})"
            renamed[name] = new
            taken.add(new)
    return renamed


def _without_clashes(theirs: Pieces, ours: Pieces, stem: str) -> None:
    """Give other names to what has a name that is taken; equal configurations are one."""
    _rename(theirs, "runs", _clashing(_ids(theirs), _ids(ours), stem))
    for kind in ("configurations", "workloads"):
        mine, other = getattr(ours, kind), getattr(theirs, kind)
        differ = [name for name in other if name in mine and not _equal(mine[name], other[name])]
        _rename(theirs, kind, _clashing(differ, mine, stem))


def _equal(one: Block, other: Block) -> bool:
    return one.keys() == other.keys() and all(agreed(one[n], other[n]) for n in one)


def _as_named(theirs: Pieces, kind: str, member: str, ours: Pieces) -> None:
    """Call their only configuration (or workload) as ours is called: they are one."""
    mine: dict[str, Block] = getattr(ours, kind)
    other: dict[str, Block] = getattr(theirs, kind)
    if len(mine) == len(other) == 1:
        _rename(theirs, kind, {next(iter(other)): next(iter(mine))})
    elif len(other) == 1 and not mine:
        name, block = next(iter(other.items()))
        for run in ours.runs:
            if block and (member,) not in run:
                first = next(iter(block.values()))
                run[(member,)] = Leaf(name, first.part, first.at)


def _rename(pieces: Pieces, kind: str, names: dict[str, str]) -> None:
    if not names:
        return
    if kind != "runs":
        blocks = getattr(pieces, kind)
        setattr(pieces, kind, {names.get(k, k): v for k, v in blocks.items()})
    rows: list[Block] = [*pieces.runs, *pieces.quality, *pieces.claims]
    rows += [*pieces.configurations.values()]
    for row in rows:
        for reference in _REFERENCES[kind]:
            leaf = row.get(reference)
            if leaf is not None:
                row[reference] = Leaf(_renamed(leaf.value, names), leaf.part, leaf.at)


def _renamed(value: object, names: dict[str, str]) -> object:
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value
