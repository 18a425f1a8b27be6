"""Lengths of time, read and written."""

from __future__ import annotations

import pytest

from benchlint.checker.errors import CannotRunError
from benchlint.durations import in_words, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (" 2M ", 120),
        ("1h 1m 1s", 3661),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-5", "m", "5d", "1m1h", "inf", "nan", "1e3", "٣"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(CannotRunError, match="--budget is a time such as"):
        seconds_of(text, "--budget")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3570, "1 h"), (7500, "2 h 5 min")],
)
def test_times_are_told_roughly(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
