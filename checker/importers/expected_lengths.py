"""Tables of accepted lengths that were not measured but worked out from an acceptance rate.

Where every draft token is accepted with probability p, a step gives 1 + p + p² + … tokens
(Leviathan et al., arXiv 2211.17192). How far the sum goes depends on whether a block of drafts
counts the token that the target gives; in one table it has to be one or the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlint.checker.importers.cells import quantity
from benchlint.checker.importers.fields import whole
from benchlint.checker.importers.found import Found
from benchlint.checker.importers.table_columns import ResultColumn
from benchlint.checker.importers.text_tables import Table
from benchlint.checker.numbers import Interval, shown, unit_of_last_digit

_EXPECTED = re.compile(r"\bexpected\b.{0,20}\btok(?:en)?s?\b", re.IGNORECASE)
_BLOCK = re.compile(r"^(?:block|block size|k|γ|draft length)$", re.IGNORECASE)

#: No block is longer.
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with what it expects. beyond: by how much the highest power exceeds the block."""

    expected: Found
    rate: float
    block: int
    beyond: int


def remarks(table: Table, columns: Sequence[ResultColumn]) -> Iterator[str]:
    """What rows expect by another count of the block than most rows of their table."""
    rows = list(_rows(table, columns))
    counted = Counter(row.beyond for row in rows).most_common()
    if len(counted) < 2 or counted[0][1] == counted[1][1]:
        return
    usual = counted[0][0]
    yield from (_unlike(row, usual) for row in rows if row.beyond != usual)


def _unlike(row: _Row, usual: int) -> str:
    place = row.expected.place
    where = "" if place is None else f"line {place.location().line}: "
    same = _sum(row.rate, row.block + usual)
    return (
        f"{where}{row.expected.value} expected tokens a step are the sum of powers of "
        f"{shown(row.rate)} up to {row.block + row.beyond}; as in the other rows, up to "
        f"{row.block + usual} for block {row.block}, it is {shown(same)}"
    )


def _rows(table: Table, columns: Sequence[ResultColumn]) -> Iterator[_Row]:
    expected = next((i for i, word in enumerate(table.words) if _EXPECTED.search(word)), None)
    block = next((i for i, word in enumerate(table.words) if _BLOCK.match(word)), None)
    rates = [c.at for c in columns if c.meaning == "rate"]
    if expected is None or block is None or len(rates) != 1:
        return
    for cells in table.rows:
        found = _row(cells[expected], cells[rates[0]], cells[block])
        if found is not None:
            yield found


def _row(expected: Found, rate: Found, block: Found) -> _Row | None:
    e, p, b = (quantity(str(cell.value)) for cell in (expected, rate, block))
    k = None if b is None else whole(b.value)
    if e is None or p is None or k is None or not 1 <= k <= _LONGEST:
        return None
    share = float(p.value) / (100 if p.unit == "%" or p.value > 1 else 1)
    printed = Interval.around(float(e.value), unit_of_last_digit(e.value))
    fits = [n for n in (k - 1, k, k + 1) if printed.meets(_sum(share, n))]
    return _Row(expected, share, k, fits[0] - k) if len(fits) == 1 else None


def _sum(p: float, most: int) -> float:
    return sum(p**i for i in range(most + 1))
