"""Verdicts with everything in them, of benches whose truth is known, for tests of pages.

Two workloads, a plain arm and a sweep of draft lengths, claims and numbers with all outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchlint.checker.finding import Finding, Location, Related, Severity
from benchlint.checker.numbers import reported
from benchlint.checker.tree import Digits
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.journal import parse
from benchlint.reproducers.judgement import Judgement, judge
from benchlint.reproducers.plan import Cell, Check, Circumstances, Plan, Untestable, check_of
from benchlint.reproducers.verdict_json import verdict_data
from benchlint.reproducers.verdicts import Quantity
from benchlint.reproducers.workloads import Prompt, PromptSet
from tests.bench_journal import Bench, Json, Truth, end, lines, started

WORKLOADS = ("code", "prose")
LENGTHS = (2, 4, 8)
PROMPTS = tuple(f"p{i}" for i in range(12))

#: Chance of acceptance at each position by workload; a step costs more the longer the draft.
_CHANCE = {"code": 0.82, "prose": 0.6}


def _truth(workload: str, length: int) -> Truth:
    chances = tuple(_CHANCE[workload] * 0.98**i for i in range(length))
    return Truth(chances, 25.0 + 2.2 * length if length else 25.0)


TRUTHS = {f"{w} k{k}": _truth(w, k) for w in WORKLOADS for k in (0, *LENGTHS)}


def _cells() -> Iterator[Cell]:
    for workload in WORKLOADS:
        prompts = PromptSet(workload, tuple(Prompt(n, f"text of {n}") for n in PROMPTS))
        for k in (0, *LENGTHS):
            method, length = ("draft_model", k) if k else (None, None)
            name = f"{workload} k{k}"
            arm = Arm(name, method, length, sampling=Sampling(temperature=0.0))
            yield Cell(_name(workload, k), workload, arm, prompts, Circumstances(), 20, True)


def _name(workload: str, k: int) -> str:
    return f"{f'EAGLE-3 drafter, K = {k}' if k else 'plain decoding'}, on {workload}"


def _check(
    pointer: str, says: str, kind: Quantity, metric: str, printed: str, cell: str, **more: Any
) -> Check:
    claimed, tested = reported(Digits(printed), pointer), more.pop("tested", "")
    made = check_of(pointer, says, kind, metric, (cell,), claimed=claimed, **more)
    assert isinstance(made, Check)
    return replace(made, tested=tested)


def _checks() -> Iterator[Check]:
    code, prose = _name("code", 4), _name("prose", 4)
    speedup, plain = Quantity.SPEEDUP, {w: (_name(w, 0),) for w in WORKLOADS}
    yield _check(
        "/claims/0",
        "claim 'headline': “EAGLE-3 decodes code up to 3.4x faster”",
        *(speedup, "speedup", "3.4", code),
        tested="decode.tok_s of fast-code is up to 3.4 × that of plain-code",
        relation="ratio",
        to=plain["code"],
    )
    yield _check(
        "/claims/1",
        "claim 'prose': decode.tok_s of fast-prose is at least 1.5 × that of plain-prose",
        *(speedup, "speedup", "1.5", prose),
        relation="at_least",
        to=plain["prose"],
    )
    yield _check(
        "/claims/2",
        "claim 'code': decode.tok_s of fast-code is 2.8 × that of plain-code",
        *(speedup, "speedup", "2.8", code),
        relation="ratio",
        to=plain["code"],
        withheld=("chat template",),
    )
    tau, speed = TRUTHS["code k4"].tau, TRUTHS["code k4"].tok_s
    yield _check(
        "/runs/1/speculation/accepted_length",
        f"speculation.accepted_length {tau:.2f} of run 'fast-code'",
        *(Quantity.ACCEPTANCE, "speculation.accepted_length", f"{tau:.2f}", code),
        definition="with bonus token",
    )
    for pointer, run, value, cell in (
        ("/runs/1/decode/tok_s", "fast-code", speed, code),
        ("/runs/3/decode/tok_s", "fast-prose", 1.6 * TRUTHS["prose k4"].tok_s, prose),
        ("/runs/2/decode/tok_s", "plain-prose", 40.0, _name("prose", 0)),
    ):
        says = f"decode.tok_s {value:.1f} of run '{run}'"
        yield _check(pointer, says, Quantity.SPEED, "decode.tok_s", f"{value:.1f}", cell)


_UNTESTABLE = (
    Untestable("/claims/3", "claim 4: ppl of Q4_K_M is best", "its text is not here"),
    Untestable("/runs/4", "run 'rtx-5090'", "another device: NVIDIA RTX 5090, here an H200"),
)

STATED = {
    "device": "Bench",
    "device_count": 2,
    "driver": "580.65.06",
    "engine": "llama.cpp",
    "engine version": "b8123",
    "sampler temperature": 0.0,
    "power limit": None,
}


def plan(checks: Sequence[Check] | None = None) -> Plan:
    found = tuple(_checks() if checks is None else checks)
    return Plan(tuple(_cells()), found, _UNTESTABLE if checks is None else ())


def judgement(
    pairs: int = 20, checks: Sequence[Check] | None = None, ended: str = "budget", **more: Any
) -> Judgement:
    made, bench = plan(checks), Bench(TRUTHS, noise=0.015, **more)
    records: list[Json] = []
    for cell in made.cells:
        records += [started(cell.name, cell.arm.name), _reading()]
    for cells in made.series.values():
        records += bench.rounds({c.name: c.arm.name for c in cells}, PROMPTS, range(pairs))
    records += [*_parted(records)]
    records += [end(ended)] if ended else []
    return judge(made, parse(lines(made.sha256, records), "samples.jsonl"), STATED)


def _parted(records: Sequence[Json]) -> Iterator[Json]:
    """Makes two answers of an arm differ from plain decoding, one of them beyond a near-tie."""
    cell, plain = _name("code", 4), _name("code", 0)
    margins = {"p3": 0.125, "p7": 2.5}
    for each in records:
        if each["kind"] == "sample" and each["cell"] in (cell, plain):
            other = each["cell"] == cell and each["prompt"] in margins
            each["sample"]["token_ids"] = [7, 8, 99 if other else 9]
            each["sample"]["text"] += "!" if other else ""
    for prompt, margin in margins.items():
        place = {"cell": cell, "baseline": plain, "prompt": prompt, "pair": 0, "position": 2}
        told = {"first_token": 9, "second_token": 99, "margin": margin, "time": 1e9}
        yield {"kind": "divergence", **place, **told}


def _reading() -> Json:
    values = {"memory_used_mib": 81234.0, "power_w": 640.0, "temperature_c": 61.0}
    return {"kind": "machine", "device": "Bench", "time": 1e9, "values": values}


def whole(pairs: int = 20, **more: Any) -> dict[str, Any]:
    """verdict.json of a report some of which is refuted, reproduced, left open, untestable."""
    return with_rooflines(verdict_data(judgement(pairs, **more))) | {"perplexities": [PERPLEXITY]}


def with_rooflines(data: dict[str, Any]) -> dict[str, Any]:
    """The verdict with each cell below a ceiling, and the first as the report has it too."""
    for cell in data["cells"]:
        tau = cell["accepted_length_all"] or 1.0
        cell["roofline"] = _roofline("NVIDIA H200", 4800.0, cell["tok_s"], tau)
        cell["stated"] = []
    if data["cells"]:
        stated = _roofline("NVIDIA RTX 5090", 1792.0, {"value": 18.0}, 1.0)
        data["cells"][0]["stated"] = [{"run": "plain-code", "roofline": stated}]
    return data


def _roofline(device: str, bandwidth: float, tok_s: Json | None, tau: float) -> Json | None:
    if tok_s is None:
        return None
    ceiling, passes = bandwidth / 70, tok_s["value"] / tau
    return {
        "device": device,
        "bandwidth_gbs": bandwidth,
        "pass_bytes": 70e9,
        "ceiling_passes_s": ceiling,
        "certain": device == "NVIDIA H200",
        "tok_s": tok_s["value"],
        "passes_s": passes,
        "share": passes / ceiling,
    }


PERPLEXITY = {
    "name": "perplexity of wiki.txt",
    "arm": "plain",
    "text": "wiki.txt",
    "text_sha256": "a" * 64,
    "context_tokens": 512,
    "windows": 40,
    "perplexity": {"value": 6.2134, "interval": [6.1, 6.33]},
    "void": None,
}


def good() -> dict[str, Any]:
    """verdict.json of a report all of which holds."""
    kept = ("/claims/1", "/runs/1/speculation/accepted_length", "/runs/1/decode/tok_s")
    return verdict_data(judgement(checks=[c for c in _checks() if c.pointer in kept]))


FINDINGS = (
    Finding(
        "BL201",
        "accepted-length-out-of-bounds",
        Severity.ERROR,
        "run 'fast-code': accepted length 5.3 > K + 1 = 5, the most that a step with K = 4 yields",
        "/runs/1/speculation/accepted_length",
        (Related("/configurations/fast/draft_length", "K = 4", Location(12, 21, 22, "", 1)),),
        "report the mean over verify steps, the bonus token included",
        location=Location(41, 26, 29, '      "accepted_length": 5.3', 26),
    ),
    Finding(
        "BL401",
        "cold-run",
        Severity.WARNING,
        "run 'plain-code' was not warm, run 'fast-code' was",
        "/runs/0/conditions/warm",
        location=Location(30, 15, 20, '      "warm": false,', 15),
    ),
    Finding("BL112", "device", Severity.NOTE, "no device is named", "/machine", help="name it"),
)

REPEAT = (
    "pip install '.[reproduce]'",
    "benchlint reproduce report.json --endpoint http://127.0.0.1:8000/v1 --resume samples.jsonl",
)
