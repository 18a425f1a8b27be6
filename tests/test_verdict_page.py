"""verdict.html: what it says, that it is well formed, and that nothing in a report acts in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.finding import Finding, Location, Related
from benchlint.reproducers import plots
from benchlint.reproducers.verdict_json import verdict_bytes, verdict_data
from benchlint.reproducers.verdict_page import verdict_page
from tests import verdict_samples as samples
from tests.html_checks import Element, check_page
from tests.poisons import POISONS


def page(data: dict[str, Any] | None = None, **more: Any) -> str:
    values = {"findings": samples.FINDINGS, "repeat": samples.REPEAT} | more
    return verdict_page(whole() if data is None else data, **values)


@cache
def _whole() -> bytes:
    return verdict_bytes(samples.judgement(8))


def whole() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_whole())
    return samples.with_rooflines(data) | {"perplexities": [samples.PERPLEXITY]}


@cache
def usual() -> Element:
    """The page of `whole`, as a tree."""
    return check_page(page())


def headline(root: Element) -> str:
    return root.all("h1")[0].text.strip() or root.all("h1")[0].words


def section(root: Element, name: str) -> Element:
    (found,) = [each for each in root.all("section") if each.attributes["aria-labelledby"] == name]
    return found


def rows(root: Element, name: str) -> list[list[str]]:
    body = section(root, name).all("tbody")[0]
    return [[cell.words for cell in row.inside] for row in body.inside]


# What it says


def test_the_page_can_be_made_again_from_the_file() -> None:
    assert page(samples.whole(8)) == page(whole())


@pytest.mark.parametrize(
    ("keep", "sentence"),
    [
        (lambda r: bool(r), "Refuted: 1 of 4 claims does not hold when run again."),
        (lambda r: r["pointer"] != "/claims/0", "Refuted: 1 of 5 printed numbers does not hold"),
        (
            lambda r: r["outcome"] != "refuted",
            "Left open: 1 of 3 claims; 1 claim and 3 printed numbers hold, none is refuted.",
        ),
        (
            lambda r: r["outcome"] not in ("refuted", "inconclusive"),
            "Reproduced: the claim that could be tested here holds.",
        ),
        (
            lambda r: r["outcome"] == "not testable here",
            "Not testable here: none of 1 claim could be tested.",
        ),
        (lambda r: not r, "Nothing to test"),
    ],
)
def test_the_headline(keep: Callable[[dict[str, Any]], bool], sentence: str) -> None:
    data = whole()
    for name in ("claims", "numbers"):
        data[name] = [ruling for ruling in data[name] if keep(ruling)]
    found = {ruling["outcome"] for ruling in (*data["claims"], *data["numbers"])}
    order = ("refuted", "inconclusive", "reproduced", "not testable here")
    data["outcome"] = next((each for each in order if each in found), "not testable here")
    data["cells"] = []
    assert headline(check_page(page(data))).startswith(sentence)


def test_what_is_refuted_is_told_above_the_tables_with_its_numbers() -> None:
    told = [item.words for item in usual().all("section")[0].all("li")]
    assert len(told) == 2
    assert "EAGLE-3 decodes code up to 3.4x faster" in told[0]
    assert re.search(r"measured 2\.\d+ \(2\.\d+ to 2\.\d+\)", told[0])
    assert "expected 3.19 to 3.622" in told[0]


@pytest.mark.parametrize(
    ("withheld", "settled", "hints"),
    [
        (["chat template"], True, ["in the report: chat template"]),
        (["chat template"], False, ["--resume"]),
        ([], True, []),
    ],
)
def test_what_could_decide_what_is_open(
    withheld: list[str], settled: bool, hints: list[str]
) -> None:
    data = {**whole(), "outcome": "inconclusive", "cells": [], "numbers": []}
    (still_open,) = [each for each in data["claims"] if each["outcome"] == "inconclusive"]
    data["claims"] = [{**still_open, "withheld": withheld, "settled": settled}]
    section_ = check_page(page(data)).all("section")[0]
    assert "is not wholly within" in section_.all("li")[0].words
    told = [paragraph.words for paragraph in section_.all("p")][1:]
    assert len(told) == len(hints)
    assert all(hint in words for hint, words in zip(hints, told, strict=True))


def test_claims_stand_with_everything_that_decided_them() -> None:
    found = rows(usual(), "claims")
    assert [row[0].split(" ", 1)[0] for row in found] == [
        "refuted",
        "inconclusive",
        "reproduced",
        "not",
    ]
    refuted = found[0]
    assert "/claims/0" in refuted[1]
    assert "99 %" in refuted[2]
    assert refuted[3:6] == ["3.19 to 3.622", "5 %", "4 rounds"]
    assert "lies outside" in refuted[6]


def test_an_outcome_is_never_told_by_colour_alone() -> None:
    for row in rows(usual(), "numbers"):
        assert re.match(r"(refuted ✗|inconclusive \?|reproduced ✓|not testable here –)$", row[0])


def test_differences_of_the_environment_are_marked() -> None:
    found = {row[0]: row[1:] for row in rows(usual(), "environment")}
    assert found["device"] == ["Bench", "Bench", "same"]
    assert found["engine version"] == ["b8123", "b9000", "differs ≠"]
    assert found["power limit"] == ["not stated", "not known", ""]


@pytest.mark.parametrize(
    ("report", "here", "word"),
    [
        (8_000_000_000, 8_030_261_248, "same, rounded"),
        (7.6, 7.62, "same, rounded"),
        (8192, 8193, "differs ≠"),
        (2, 1, "differs ≠"),
        (10, 12, "differs ≠"),
        ("b8123", "b9000", "differs ≠"),
        (True, 1.0, "same"),
    ],
)
def test_a_number_that_the_report_rounds_is_the_same(report: Any, here: Any, word: str) -> None:
    line = {"name": "n", "report": report, "here": here}
    root = check_page(page({**whole(), "cells": [], "environment": [line]}))
    assert rows(root, "environment")[0][3] == word


def test_why_nothing_could_be_tested_is_told_first() -> None:
    data = {**whole(), "outcome": "not testable here", "cells": []}
    for name in ("claims", "numbers"):
        data[name] = [
            {**each, "outcome": "not testable here", "reason": "another device"}
            for each in data[name]
        ]
    told = check_page(page(data)).all("section")[0].all("li")
    assert [item.words for item in told] == ["9 times: another device"]


def test_findings_counts_and_how_to_repeat_it_are_there() -> None:
    root = usual()
    assert len(section(root, "lint").all("article")) == len(samples.FINDINGS)
    assert "most that a step with K = 4 yields" in section(root, "lint").words
    assert [row[0] for row in rows(root, "counts")] == [each["name"] for each in whole()["cells"]]
    assert [code.text for code in section(root, "repeat").all("code")][:2] == [*samples.REPEAT]
    assert "is τ/r" in section(root, "parts").words


def test_answers_that_part_from_plain_decoding_are_told_with_their_margin() -> None:
    root = usual()
    told = rows(root, "output")[1]
    assert told[:2] == ["EAGLE-3 drafter, K = 4, on code", "plain decoding, on code"]
    assert told[2:4] == ["tokens", "10 of 12 prompts ≠"]
    assert told[4] == "1 part at a near-tie, 1 part beyond a near-tie"
    (places,) = section(root, "output").all("details")
    shown = [[cell.words for cell in row.inside] for row in places.all("tbody")[0].inside]
    assert shown[0] == ["p3", "2", "12", "0.125 nats", "yes"]
    assert shown[1][4] == "no"


def test_each_arm_sits_below_the_ceiling_of_its_device() -> None:
    root = usual()
    first, second = rows(root, "ceiling")[:2]
    assert first[1:5] == ["here", "NVIDIA H200", "4800 GB/s", "70 GB"]
    assert re.fullmatch(r"5\d %", first[8])
    assert second[1:3] == ["report, plain-code", "NVIDIA RTX 5090"]
    assert second[8] == "about 70 %"
    titles = [caption.text for caption in section(root, "plots").all("figcaption")]
    assert "Share of what memory allows" in titles


def test_memory_power_and_perplexity_are_told() -> None:
    root = usual()
    assert "79.33 GiB" in rows(root, "counts")[0]
    assert "640 W" in rows(root, "counts")[0]
    assert "6.213 (6.1 to 6.33)" in rows(root, "perplexity")[0]


@pytest.mark.parametrize(
    ("ended", "sentence"),
    [
        (None, "has not ended"),
        ("interrupted", "was interrupted"),
        ("budget", "time budget"),
        ("engine_gone", "went away"),
        ("error", "with an error"),
    ],
)
def test_it_says_when_measuring_ended_early(ended: str | None, sentence: str) -> None:
    assert sentence in page({**whole(), "cells": [], "ended": ended})
    assert 'class="notice"' not in page({**whole(), "cells": [], "ended": "settled"})


def test_warnings_are_told() -> None:
    data = verdict_data(samples.judgement(8, drift=0.9))
    assert data["warnings"]
    assert "speeds drifted" in section(check_page(page({**data, "cells": []})), "warnings").words


@pytest.mark.parametrize("pairs", [0, 1])
def test_hardly_any_measurements(pairs: int) -> None:
    check_page(page(verdict_data(samples.judgement(pairs))))


def test_an_engine_that_counts_nothing() -> None:
    root = check_page(page(verdict_data(samples.judgement(4, counts_drafts=False))))
    assert not [f for f in root.all("figcaption") if "Acceptance" in f.text]


# Plots


def test_every_plot_has_its_numbers_as_a_table() -> None:
    found = section(usual(), "plots").all("figure")
    titles = [figure.all("figcaption")[0].text for figure in found]
    assert len(titles) == len(set(titles)) == 10
    for figure in found:
        assert figure.all("svg")[0].attributes["role"] == "img"
        assert len(figure.all("tbody")[0].inside) > 1
        assert all(len(row.inside) > 2 for row in figure.all("tbody")[0].inside)


def test_plots_take_their_colours_from_the_style_sheet() -> None:
    drawn = "".join(re.findall(r"<svg.*?</svg>", page(), re.DOTALL))
    assert "var(--c1)" in drawn
    assert "#00f0" not in drawn
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawn)) <= {"#000000", "#ffffff"}


def test_numbers_that_no_axis_can_hold_are_left_to_the_tables() -> None:
    data = whole()
    for cell in data["cells"][:3]:
        cell["tok_s"] = {"value": 1e300, "interval": [1e-300, 1.7e308]}
        cell["speeds"] = [{"round": 10**9 * n, "tok_s": 1e300} for n in range(3)]
        cell["per_position"] = [1e308, 0.5]
        cell["draft_length"] = 10**15
    data["claims"][0] |= {"value": 1e308, "interval": [1e-308, 1e308], "expected": [1e-320, None]}
    root = check_page(page(data))
    assert rows(root, "counts")[0][4].startswith("1e+300")


def test_many_arms_and_claims() -> None:
    data = whole()
    data["cells"] = [
        {**cell, "name": f"{cell['name']} {n}", "series": f"{n}", "speeds": cell["speeds"][:1]}
        for n in range(20)
        for cell in data["cells"][:2]
    ]
    data["numbers"] = [dict(data["numbers"][0], pointer=f"/runs/{n}") for n in range(600)]
    root = check_page(page(data))
    assert len(rows(root, "numbers")) == 600
    assert len(section(root, "plots").all("figure")) < 30
    assert "570 more are in the table" in root.words


@pytest.mark.parametrize("ends", [(0.85, 1.26), (0.7, 1.1), (0.0, 4.0), (0.982, 1.002)])
def test_shares_along_a_plot_are_neither_cut_off_nor_run_together(
    ends: tuple[float, float],
) -> None:
    drawn = plots.ranges("k", "t", [plots.Range("a", 1.0, ends, (0.9, 1.1), "w", plots.GOOD)])
    ticks = re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>(\d+ %)</text>', drawn.svg)
    spans = [(float(x) - 3 * len(text), float(x) + 3 * len(text)) for x, text in ticks]
    assert len(spans) >= 3
    assert spans[0][0] >= 0
    assert spans[-1][1] <= plots.WIDTH
    assert all(one[1] < two[0] for one, two in pairwise(spans))


def test_a_settings_file_near_the_report_does_not_reach_the_plots(tmp_path: Path) -> None:
    """matplotlib reads `matplotlibrc` from the current folder; LaTeX would run what it is given."""
    settings = "text.usetex: True\nsvg.fonttype: path\nfont.size: 40\naxes.grid: False\n"
    (tmp_path / "matplotlibrc").write_text(settings)
    (tmp_path / "verdict.json").write_text(json.dumps(whole()))
    program = (
        "import json, sys\n"
        "from benchlint.reproducers.verdict_page import verdict_page\n"
        "data = json.load(open('verdict.json'))\n"
        "sys.stdout.buffer.write(verdict_page(data, (), ()).encode())\n"
    )
    command = [sys.executable, "-c", program]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert made.stderr == b""
    assert made.stdout.decode() == page(findings=(), repeat=())


# Hostile texts

#: Members whose values are this program's own words.
OURS = {"version", "outcome", "ended", "quantity"}


def poisoned(value: Any, poison: str, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: poisoned(each, poison, key) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, poison, name) for each in value]
    if isinstance(value, str) and name not in OURS:
        return value + poison
    return value


def hostile_finding(finding: Finding, poison: str) -> Finding:
    place = Location(1, 4, 9, f"{poison}{poison}", 4)
    related = (Related(f"/a{poison}", f"{poison} a", place), Related("", poison))
    return replace(
        finding,
        message=finding.message + poison,
        pointer=finding.pointer + poison,
        help=poison,
        name=poison,
        code=finding.code + poison,
        related=related,
        location=place,
    )


def hostile_page(poison: str) -> str:
    data = poisoned(small(), poison)
    found = [hostile_finding(finding, poison) for finding in samples.FINDINGS]
    return page(data, findings=found, repeat=[f"echo {poison}"], title=poison)


def small() -> dict[str, Any]:
    """A verdict with some of everything, which takes less time to draw."""
    data = whole()
    return {
        **data,
        "warnings": ["careful: "],
        "numbers": [{**data["numbers"][0], "value": None, "withheld": ["prompts"]}],
        "cells": [{**cell, "speeds": cell["speeds"][:1]} for cell in data["cells"][:2]],
        "series": data["series"][:1],
    }


@pytest.mark.parametrize("poison", POISONS.values(), ids=POISONS)
def test_hostile_texts(poison: str) -> None:
    assert _shape(check_page(hostile_page(poison))) == _harmless_shape()


@cache
def _harmless_shape() -> list[int]:
    return _shape(check_page(hostile_page(" and more")))


def _shape(root: Element) -> list[int]:
    """How much of everything there is: a text that made an element would change it."""
    return [len(root.all(tag)) for tag in ("section", "table", "tr", "svg", "text", "b", "li")]


def test_a_template_in_a_report_is_text() -> None:
    shown = check_page(hostile_page("{{ 7 * 191 }}$x^2$")).words
    assert "{{ 7 * 191 }}$x^2$" in shown
    assert "1337" not in shown


def test_a_megabyte_of_text_is_cut() -> None:
    assert len(hostile_page("x\x1b<&" * 200_000).encode()) < 4_000_000


# Colours


def _luminance(color: str) -> float:
    """WCAG 2.2, relative luminance."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


TONES = ("good", "bad", "open", "none")
READ = [
    *(("ink", ground) for ground in ("ground", "card", *(f"{tone}-ground" for tone in TONES))),
    *((ink, ground) for ink in ("muted", "link") for ground in ("ground", "card")),
    *(("link", f"{tone}-ground") for tone in TONES),
    *((tone, f"{tone}-ground") for tone in TONES),
    ("mark-ink", "mark"),
]
SEEN = [(name, "ground") for name in (*TONES, *(f"c{i}" for i in range(1, 9)), "muted")]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_everything_can_be_told_from_its_ground(scheme: int) -> None:
    """WCAG 2.2 AA: 4.5 for texts, 3 for what is drawn."""
    style = (files("benchlint.templates") / "style.css").read_text("utf-8")
    block = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[scheme]
    colors = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6});", block))
    for ink, ground in READ:
        assert _contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
    for ink, ground in SEEN:
        assert _contrast(colors[ink], colors[ground]) >= 3, (ink, ground)
