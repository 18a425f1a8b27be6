"""How far measuring is, on a terminal and in a log."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from benchlint.measuring_progress import DELAY_S, EVERY_S, MeasuringProgress
from benchlint.reproducers.measuring import Progress

START, LATER = Progress(0, 80, None), Progress(40, 80, 300.0)
WAITING = (
    replace(START, starting="k4\x1b[2J"),
    replace(START, warm_ups=0),
    replace(LATER, warm_ups=9),
)


def test_a_terminal_gets_one_line_that_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream = io.StringIO()
    progress = MeasuringProgress(stream, bar=True)
    progress.show(START)
    progress.show(LATER)
    progress.clear()
    progress.clear()
    first, second, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert first == f"[{'·' * 24}] measuring, at most 80 answers"
    assert second == f"[{'█' * 12}{'·' * 12}] 40 of at most 80 answers, about 5 min left"
    assert last == ""


def test_a_narrow_terminal_gets_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    MeasuringProgress(stream, bar=True).show(LATER)
    assert stream.getvalue() == "\r\x1b[K40 of at most 80 answers, about 5 min l"


def test_a_log_gets_a_line_every_half_minute() -> None:
    times = iter((0.0, 0.0, 0.0, EVERY_S - 1, EVERY_S))
    first = Progress(1, 80, None)
    stream = io.StringIO()
    progress = MeasuringProgress(stream, bar=False, clock=lambda: next(times))
    for each in (START, first, LATER, LATER):
        progress.show(each)
    assert stream.getvalue().splitlines() == [
        "benchlint: 1 of at most 80 answers",
        "benchlint: 40 of at most 80 answers, about 5 min left",
    ]


def test_a_terminal_is_told_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stream = io.StringIO()
    progress = MeasuringProgress(stream, bar=True)
    for stage in WAITING:
        progress.show(stage)
    shown = stream.getvalue().split("\r\x1b[K")[1:]
    assert shown == [
        f"[{'·' * 24}] starting the engine for k4\\x1b[2J",
        f"[{'·' * 24}] warming up, speed not steady yet (0 of at most 10)",
        f"[{'█' * 12}{'·' * 12}] warming up, speed not steady yet (9 of at most 10)",
    ]
    assert all(len(words) < 80 for words in shown)


def test_a_log_is_told_of_what_takes_long_before_the_first_answer() -> None:
    times = iter((0.0, 5.0, EVERY_S, 2 * EVERY_S))
    stream = io.StringIO()
    progress = MeasuringProgress(stream, bar=False, clock=lambda: next(times))
    for stage in WAITING:
        progress.show(stage)
    assert stream.getvalue().splitlines() == [
        "benchlint: warming up, speed not steady yet (0 of at most 10)",
        "benchlint: 40 of at most 80 answers, about 5 min left; "
        "warming up, speed not steady yet (9 of at most 10)",
    ]


def test_a_large_file_that_is_read_shows_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    times = iter((0.0, 5.0, 5.0 + DELAY_S / 2, 5.0 + DELAY_S))
    stream = io.StringIO()
    progress = MeasuringProgress(stream, bar=True, clock=lambda: next(times))
    for share in (0.0, 0.2, 0.43, 1.0):
        progress.hash("8b\x1b[2J.gguf", share)
    shown = "\r\x1b[Kreading 8b\\x1b[2J.gguf for its hash, 43 %"
    assert stream.getvalue() == f"{shown}\r\x1b[K"


def test_a_log_is_not_told_of_reading() -> None:
    stream = io.StringIO()
    progress = MeasuringProgress(stream, bar=False)
    for share in (0.0, 0.5, 1.0):
        progress.hash("8b.gguf", share)
    assert stream.getvalue() == ""


def test_a_text_that_is_scored_is_named() -> None:
    stream = io.StringIO()
    MeasuringProgress(stream, bar=False).show(Progress(0, 0, None, "essay\x1b[2J"))
    assert stream.getvalue() == "benchlint: measuring the essay\\x1b[2J\n"


def test_measuring_goes_on_where_nobody_looks() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    progress = MeasuringProgress(stream, bar=True)
    progress.show(LATER)  # no such signs in ASCII
    progress.show(LATER)
    progress.clear()
