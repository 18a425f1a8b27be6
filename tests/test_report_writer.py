"""Reports written from journals: what they say, what they leave out, and that they hold."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.finding import Finding
from benchlint.checker.one_report import json_with_digits
from benchlint.checker.profiles import under_profile
from benchlint.checker.tree import Digits
from benchlint.reproducers.engine import Arm, Sampling
from benchlint.reproducers.journal import Journal, JournalError, parse
from benchlint.reproducers.plan import Circumstances, Plan, measure_plan
from benchlint.reproducers.report_writer import written_report
from benchlint.reproducers.workloads import Prompt, PromptSet, bundled, first_of
from benchlint.reproducers.workloads.texts import Text, bundled_text
from tests.bench_journal import Bench, Json, Truth, end, lines

GREEDY = Sampling(temperature=0.0)
PLAIN = Arm("plain", sampling=GREEDY, kv_types=("f16", "f16"))
K4 = Arm("k4", "draft_model", 4, sampling=GREEDY, kv_types=("f16", "f16"))
K8 = Arm("k8", "draft_model", 8, sampling=GREEDY, kv_types=("f16", "f16"))
LOOKUP = Arm("lookup", "prompt_lookup", 4, sampling=GREEDY)
CODE, PROSE = (first_of(bundled(name), 4) for name in ("code", "prose"))

TRUTHS = {
    "plain": Truth(pass_ms=25),
    "k4": Truth((0.8, 0.75, 0.7, 0.6), pass_ms=36),
    "k8": Truth((0.8, 0.75, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5), pass_ms=45),
    "lookup": Truth((0.3, 0.9, 0.9, 0.9), pass_ms=28),
}

MACHINE = {
    "device": "NVIDIA H200",
    "device count": 1,
    "device memory_gb": 140.4,
    "device power_limit_w": 700.0,
    "driver": "570.124.06",
    "cuda": "12.8",
    "cpu": "Intel Xeon Platinum 8481C",
    "cpu cores": 16,
    "cpu memory_gb": 128.0,
    "os": "Debian GNU/Linux 12",
    "kernel": "Linux 6.1",
    "target sha256": "a" * 64,
    "target file_bytes": 8_110_000_000,
    "drafter sha256": "b" * 64,
    "drafter file_bytes": 640_000_000,
}

IN_EFFECT = {
    "temperature": 0.0,
    "top_p": 0.95,
    "top_k": 40,
    "min_p": 0.05,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}

SPECULATION = {
    "speculative": "on",
    "draft_length": 4,
    "p_min": 0.0,
    "draft_selection": "gpu",
    "draft_method": "argmax",
    "acceptance_rule": "lossless",
    "drafter_kv_type": "f16",
}


def described(arm: Arm, **more: Any) -> Json:
    """What an engine tells of itself for an arm."""
    by_model = arm.method == "draft_model"
    speculation = {**SPECULATION, "draft_length": arm.draft_length} if by_model else {}
    return {
        "engine": "llama.cpp",
        "version": "b11549",
        "backend": "CUDA",
        "command_line": ["llama-server", "--model", "target.gguf", "--spec-draft-n-max", "4"],
        "sampler": IN_EFFECT,
        "speculation": speculation,
        "target": {"name": "target.gguf", "quantization": "Q8_0", "parameters": 7_615_616_512},
        "drafter": {"name": "drafter.gguf"} if by_model else {},
        "context_tokens": 4096,
        "threads": 8,
        **more,
    }


def started(cell: str, arm: Arm, **more: Any) -> Json:
    return {
        "kind": "engine",
        "cell": cell,
        "arm": arm.name,
        "time": 1e9,
        "description": described(arm, **more),
    }


def records(
    plan: Plan, bench: Bench, pairs: int, told: Json | None = None, warm_ups: int = 3
) -> Iterable[Json]:
    """A journal of all series: engines that were started, and rounds of answers."""
    for cells in plan.series.values():
        for cell in cells:
            yield started(cell.name, cell.arm, **(told or {}))
            yield from (warm_up(cell.name, cell.arm.name) for _ in range(warm_ups))
        arms = {cell.name: cell.arm.name for cell in cells}
        prompts = [prompt.id for prompt in cells[0].prompts.prompts]
        yield from bench.rounds(arms, prompts, range(pairs))


def warm_up(cell: str, arm: str) -> Json:
    sample = {"text": "", "output_tokens": 8}
    names = {"kind": "sample", "cell": cell, "arm": arm, "prompt": "warm-up", "pair": 0}
    return {**names, "position": 0, "time": 1e9, "warm_up": True, "sample": sample}


def journal_of(plan: Plan, found: Iterable[Json], machine: Json | None = None) -> Journal:
    head, *rest = lines(plan.sha256, [*found]).splitlines()
    header = json.loads(head) | {"machine": MACHINE if machine is None else machine}
    return parse(b"\n".join([json.dumps(header).encode(), *rest, b""]), "samples.jsonl")


def plan_of(*arms: Arm, **more: Any) -> Plan:
    sets = more.pop("sets", (CODE, PROSE))
    return measure_plan(arms or (PLAIN, K4, K8), sets, pairs=more.pop("pairs", 8), **more)


def written(plan: Plan | None = None, pairs: int = 8, **more: Any) -> Json:
    """The report of a bench, as a reader of its file gets it."""
    plan = plan or plan_of()
    bench = more.pop("bench", None) or Bench(TRUTHS)
    found = [*records(plan, bench, pairs, **more), end()]
    return read_back(written_report(plan, journal_of(plan, found)))


def read_back(report: Json) -> Json:
    tree = json.loads(json_with_digits(report), parse_float=Digits)
    assert isinstance(tree, dict)
    return tree


def run(report: Json, name: str) -> Json:
    [found] = [each for each in report["runs"] if each["id"] == name]
    assert isinstance(found, dict)
    return found


def findings(report: Json, least: str = "warning") -> list[Finding]:
    ranks = {"note": 0, "warning": 1, "error": 2}
    return [f for f in check_tree(report) if ranks[f.severity] >= ranks[least]]


# What it says


def test_it_says_what_was_set_up() -> None:
    report = written()
    assert report["machine"] == {
        "devices": [
            {"name": "NVIDIA H200", "count": 1, "memory_gb": 140.4, "power_limit_w": 700.0}
        ],
        "driver": "570.124.06, CUDA 12.8",
        "cpu": {"name": "Intel Xeon Platinum 8481C", "cores": 16, "memory_gb": 128.0},
        "os": "Debian GNU/Linux 12, Linux 6.1",
    }
    assert report["engine"]["name"] == "llama.cpp"
    assert report["engine"]["version"] == "b11549"
    assert report["target"] == {
        "name": "target",
        "parameters_b": 7.616,
        "quantization": {"recipe": "Q8_0", "file_size_gb": 8.11, "sha256": "a" * 64},
    }
    assert report["configurations"]["plain"] == {
        "drafter": None,
        "sampler": IN_EFFECT,
        "kv_cache": {"target_type": "f16", "max_context_tokens": 4096},
    }
    fast = report["configurations"]["k8"]
    assert fast["drafter"] == {
        "method": "draft_model",
        "model": "drafter",
        "quantization": {"file_size_gb": 0.64, "sha256": "b" * 64},
    }
    assert fast["draft_length"] == {"max": 8, "policy": "fixed", "p_min": 0.0}
    assert fast["draft_selection"] == {"placement": "gpu", "method": "argmax"}
    assert fast["acceptance_rule"] == "lossless"
    assert fast["kv_cache"]["drafter_type"] == "f16"


def test_it_says_what_was_asked() -> None:
    workload = written()["workloads"]["code"]
    assert workload == {
        "mix": {"code": 1.0},
        "prompt_count": 4,
        "prompts": {"set": "code", "sha256": CODE.sha256},
        "prompt_tokens": 100,
        "output_tokens": workload["output_tokens"],
        "stop_rule": "eos",
        "thinking": "default",
        "chat_template": "model",
    }
    low, high = workload["output_tokens"]["range"]
    assert low >= 256
    assert high <= 256 + 8


def test_numbers_are_sums_over_sums() -> None:
    report = written()
    counts = run(report, "k4 on code")["speculation"]["counts"]
    assert counts["requests"] == 8 * 4
    speculation = run(report, "k4 on code")["speculation"]
    length = 1 + counts["accepted"] / counts["verify_steps"]
    assert speculation["accepted_length"] == {
        "value": pytest.approx(length, abs=5e-5),
        "counts_bonus_token": True,
    }
    rate = counts["accepted"] / counts["drafted"]
    assert speculation["acceptance_rate"] == {
        "value": pytest.approx(rate, abs=5e-5),
        "of": "drafted",
    }
    positions = speculation["per_position"]
    assert positions["kind"] == "cumulative"
    assert 1 + sum(positions["values"]) == pytest.approx(length, abs=4 * 5e-5)
    decode = run(report, "k4 on code")["decode"]
    assert decode["tokens"] == counts["output_tokens"] - counts["requests"]
    assert decode["tok_s"]["value"] == pytest.approx(decode["tokens"] / decode["seconds"], rel=1e-3)
    assert decode["tok_s"]["repeats"] == len(decode["tok_s"]["samples"]) == 8
    assert decode["tok_s"]["estimator"] == "pooled"


def test_a_run_says_under_which_conditions() -> None:
    found = run(written(), "k4 on code")
    assert found["conditions"] == {
        "warm": True,
        "warmup_requests": 3,
        "repeats": 8,
        "restarts": 0,
        "concurrency": 1,
        "arm_order": "interleaved, ABBA BAAB",
    }
    assert found["measurement"] == {
        "by": "engine_counter",
        "counters": "per_run",
        "window": "decode_only",
        "prompt_kind": "natural",
        "tool": "benchlint 0.1.0",
    }
    assert found["losslessness"] == {
        "baseline": "plain on code",
        "compared": "prompt",
        "match_rate": 1.0,
        "n": 4,
        "repeat_identical": True,
    }


def parted(margin: float | None, position: int = 5) -> Json:
    """Losslessness of an arm whose answer to one of four prompts is another one."""
    plan = plan_of(PLAIN, K4, sets=(CODE,))
    found = list(records(plan, Bench(TRUTHS), 4))
    prompt = CODE.prompts[0].id
    for each in found:
        if each["kind"] == "sample" and not each["warm_up"]:
            tokens = [0] * 256
            if (each["cell"], each["prompt"]) == ("k4 on code", prompt):
                tokens[position] = 7
            each["sample"]["token_ids"] = tokens
    divergence = {
        "kind": "divergence",
        "cell": "k4 on code",
        "baseline": "plain on code",
        "prompt": prompt,
        "pair": 0,
        "position": position,
        "first_token": 0,
        "second_token": 7,
        "margin": margin,
        "time": 1e9,
    }
    told = [] if margin is None else [divergence]
    report = written_report(plan, journal_of(plan, [*found, *told, end()]))
    assert findings(read_back(report)) == []
    losslessness = run(report, "k4 on code")["losslessness"]
    assert isinstance(losslessness, dict)
    return losslessness


def test_where_answers_part_is_told_and_explained_by_a_near_tie() -> None:
    found = parted(0.0123)
    assert (found["match_rate"], found["n"], found["first_divergence"]) == (0.75, 4, 5)
    assert found["explanation"] == (
        "near-ties: where answers part, the two tokens' logits are 0.012 apart or less"
    )


@pytest.mark.parametrize("margin", [None, 3.0])
def test_what_is_no_near_tie_is_not_explained(margin: float | None) -> None:
    assert "explanation" not in parted(margin)


def test_a_speed_up_is_claimed_with_its_interval() -> None:
    report = written()
    claims = {claim["of"]: claim for claim in report["claims"]}
    assert set(claims) == {"k4 on code", "k8 on code", "k4 on prose", "k8 on prose"}
    claim, found = claims["k4 on code"], run(report, "k4 on code")["speedup"]
    assert claim["value"] == {name: found[name] for name in ("value", "stdev", "repeats")}
    assert (claim["metric"], claim["relation"]) == ("decode.tok_s", "ratio")
    assert found["over"] == claim["to"] == "plain on code"
    assert "(95 % interval " in claim["text"]
    assert claim["text"].endswith(" over 8 rounds)")
    true = TRUTHS["k4"].tok_s / TRUTHS["plain"].tok_s
    assert found["value"] == pytest.approx(true, rel=0.1)


def test_what_repeats_do_not_bear_out_is_not_claimed() -> None:
    same = {"plain": Truth(pass_ms=25), "k4": Truth((0.5,) * 4, pass_ms=25 * 1.9375)}
    report = written(plan_of(PLAIN, K4), bench=Bench(same, noise=0.1))
    assert "claims" not in report
    assert 0.8 < run(report, "k4 on code")["speedup"]["value"] < 1.25
    once = written(plan_of(PLAIN, K4, pairs=1), pairs=1)
    assert "claims" not in once
    assert run(once, "k4 on code")["speedup"]["repeats"] == 1


def test_on_the_processor_it_is_the_device() -> None:
    report = written(told={"backend": "CPU"})
    assert report["machine"]["devices"] == [{"name": MACHINE["cpu"], "count": 1}]


@pytest.mark.parametrize("backend", [None, "CUDA"])
def test_a_device_is_named_where_the_engine_tells_that_it_uses_one(backend: str | None) -> None:
    told = described(PLAIN, backend=backend)
    told = {name: each for name, each in told.items() if each is not None}
    plan = plan_of(PLAIN)
    found = [{**each} for each in records(plan, Bench(TRUTHS), 2)]
    for each in found:
        if each["kind"] == "engine":
            each["description"] = told
    report = written_report(plan, journal_of(plan, found))
    assert ("devices" in report["machine"]) is (backend is not None)


def test_a_scored_text_is_the_quality_beside_the_speed() -> None:
    own = Text("notes.txt", "words")
    for text, published in ((bundled_text(), "name"), (own, "file")):
        plan = plan_of(PLAIN, K4, sets=(CODE,), text=text)
        [scoring] = plan.scorings
        score = {
            "kind": "perplexity",
            "scoring": scoring.name,
            "arm": "plain",
            "text_sha256": text.sha256,
            "context_tokens": 512,
            "nll": [2.0, 2.5, 2.25, 2.25],
            "time": 1e9,
        }
        other = started(scoring.name, PLAIN, context_tokens=512)
        found = [*records(plan, Bench(TRUTHS), 8), other, score, end()]
        report = written_report(plan, journal_of(plan, found))
        assert report["quality"] == [
            {
                "metric": "perplexity",
                "dataset": text.name,
                "text": {published: text.name, "sha256": text.sha256},
                "context_tokens": 512,
                "sample_size": 4 * 255,
                "value": pytest.approx(math.exp(2.25), abs=5e-5),
                "error": pytest.approx(math.exp(2.25) * 0.102, rel=0.01),
                "configuration": "plain",
                "drafter_on": False,
                "higher_is_better": False,
            }
        ]
        assert report["configurations"]["plain"]["kv_cache"]["max_context_tokens"] == 4096
        published_ = under_profile(check_tree(read_back(report)), "publish")
        assert [f.code for f in published_ if f.severity != "note"] == []


# What it leaves out


def test_what_the_engine_does_not_tell_is_left_out() -> None:
    silent = Bench(TRUTHS, counts_drafts=False)
    plan = plan_of(PLAIN, K4, sets=(CODE,))
    told = {"engine": "lm-studio", "backend": None, "version": None, "context_tokens": None}
    found = [*records(plan, silent, 4), end()]
    for each in found:
        if each["kind"] == "engine":
            kept = {"engine", "target"}
            description = {**each["description"], "engine": told["engine"], "sampler": {}}
            each["description"] = {k: v for k, v in description.items() if k in kept}
        if each["kind"] == "sample":
            each["sample"].pop("prefill_s", None)
    report = written_report(plan, journal_of(plan, found, machine={}))
    assert "machine" not in report
    assert set(report["engine"]) == {"name"}
    fast = report["configurations"]["k4"]
    assert fast["drafter"] == {"method": "draft_model"}
    assert fast["draft_length"] == {"max": 4}
    assert fast["kv_cache"] == {"target_type": "f16"}
    penalties = ["repetition_penalty", "presence_penalty", "frequency_penalty"]
    assert fast["sampler"] == {"left_to_engine": penalties}
    spoken = run(report, "k4 on code")
    assert set(spoken["speculation"]) == {"counts"}
    assert set(spoken["speculation"]["counts"]) == {"output_tokens", "requests"}
    assert "step_time_ms" not in spoken
    assert set(spoken["prefill"]) == {"ttft_ms"}, "by the client's clock"
    assert findings(report, "error") == []


def test_what_differs_between_starts_is_not_known() -> None:
    plan = plan_of(PLAIN, sets=(CODE,))
    found = [*records(plan, Bench(TRUTHS), 4), started("plain on code", PLAIN, version="b11550")]
    report = written_report(plan, journal_of(plan, found))
    assert "version" not in report["engine"]
    assert report["engine"]["name"] == "llama.cpp"


def test_parameters_that_only_the_engine_knows_are_named() -> None:
    drawn = Sampling(temperature=0.7, top_p=0.9)
    plan = plan_of(Arm("plain", sampling=drawn), sets=(CODE,))
    found = records(plan, Bench(TRUTHS, greedy=False), 4, {"sampler": {"temperature": 0.7}})
    report = written_report(plan, journal_of(plan, found))
    assert report["configurations"]["plain"]["sampler"] == {
        "temperature": 0.7,
        "left_to_engine": [
            "top_k",
            "min_p",
            "repetition_penalty",
            "presence_penalty",
            "frequency_penalty",
            "seed",
        ],
    }
    assert "losslessness" not in run(report, "plain on code")


def test_a_list_of_positions_is_complete() -> None:
    truths = {**TRUTHS, "k4": Truth((0.9, 0.0, 0.0, 0.0), pass_ms=30)}
    plan = plan_of(PLAIN, K4, sets=(CODE,))
    found = list(records(plan, Bench(truths), 4))
    for each in found:
        counters = each.get("sample", {}).get("counters", {})
        if "at_least" in counters:
            counters["at_least"] = counters["at_least"][:1]
    report = written_report(plan, journal_of(plan, found))
    values = run(report, "k4 on code")["speculation"]["per_position"]["values"]
    assert len(values) == 4
    assert values[1:] == [0.0, 0.0, 0.0]
    assert findings(read_back(report)) == []


# Prompts, templates, positions


def test_prompts_of_ones_own_lie_beside_the_report() -> None:
    own = PromptSet("mine.jsonl", (Prompt("a", "import os"), Prompt("b", "def f(")))
    report = written(plan_of(PLAIN, K4, sets=(own,)))
    workload = report["workloads"]["mine.jsonl"]
    assert workload["prompts"] == {"file": "mine.jsonl", "sha256": own.sha256}
    assert "mix" not in workload
    assert "prompt_kind" not in run(report, "k4 on mine.jsonl")["measurement"]


def test_a_set_of_another_content_is_not_the_bundled_one() -> None:
    false = PromptSet("code", (Prompt("a", "import os"),))
    report = written(plan_of(PLAIN, sets=(false,)))
    assert "set" not in report["workloads"]["code"]["prompts"]


def test_raw_text_has_no_template_and_no_thinking() -> None:
    where = Circumstances(chat=False, ignore_eos=True)
    workload = written(plan_of(PLAIN, circumstances=where))["workloads"]["code"]
    assert (workload["chat_template"], workload["thinking"]) == ("none", False)
    assert workload["stop_rule"] == "ignore_eos"


def test_a_filled_cache_is_reported_as_it_was_counted() -> None:
    plan = plan_of(PLAIN, K4, sets=(CODE,), positions=(None, 2048))
    report = written(plan)
    alone, filled = run(report, "k4 on code"), run(report, "k4 on code at 2048")
    assert "kv_position" not in alone["conditions"]
    assert filled["conditions"]["kv_position"] == {"filled_tokens": 100, "fill_to_tokens": 2048}
    assert filled["speedup"]["over"] == "plain on code at 2048"
    assert "repeat_identical" not in filled["losslessness"]
    assert "prompt_kind" not in filled["measurement"]
    contexts = {cell.arm.context_tokens for cell in plan.cells}
    assert len(contexts) == 1, "one configuration, one size of the cache"


# What was broken off or withdrawn


def test_measuring_that_was_broken_off_says_so() -> None:
    plan = plan_of(pairs=20)
    found = [*records(plan, Bench(TRUTHS), 3), end("interrupted")]
    report = written_report(plan, journal_of(plan, found))
    assert report["notes"][0] == (
        "Measuring was interrupted before all rounds were done. "
        "3 of 20 rounds on code; 3 of 20 rounds on prose."
    )
    assert run(report, "k4 on code")["conditions"]["repeats"] == 3
    assert findings(read_back(report)) == []


def test_a_killed_run_was_interrupted_too() -> None:
    plan = plan_of(pairs=20)
    report = written_report(plan, journal_of(plan, records(plan, Bench(TRUTHS), 3)))
    assert report["notes"][0].startswith("Measuring was interrupted")


def test_a_report_of_nothing_is_a_report() -> None:
    plan = plan_of()
    report = written_report(plan, journal_of(plan, [end("interrupted")]))
    assert set(report) == {"benchlint", "date", "notes", "machine"}
    assert findings(report, "error") == []


def test_an_arm_that_could_not_be_measured_is_withdrawn() -> None:
    plan = plan_of(PLAIN, K4, LOOKUP, sets=(CODE,))
    void = {"kind": "void", "cell": "lookup on code", "reason": "nothing was drafted", "time": 1e9}
    found = [*records(plan, Bench(TRUTHS), 8), void, end()]
    report = written_report(plan, journal_of(plan, found))
    assert run(report, "lookup on code") == {
        "id": "lookup on code",
        "configuration": "lookup",
        "workload": "code",
        "void": "nothing was drafted",
    }
    assert findings(read_back(report)) == []


def test_a_round_that_failed_is_told() -> None:
    plan = plan_of(PLAIN, K4, sets=(CODE,))
    void = {"kind": "void", "cell": "k4 on code", "reason": "500", "time": 1e9, "pair": 2}
    found = [*records(plan, Bench(TRUTHS), 8), void, end()]
    report = written_report(plan, journal_of(plan, found))
    fast = run(report, "k4 on code")
    assert fast["notes"] == ["round 3 does not count: 500"]
    assert fast["conditions"]["repeats"] == 7
    assert "samples" not in fast["speedup"]
    assert findings(read_back(report)) == []


def test_a_journal_of_another_plan_is_refused() -> None:
    journal = journal_of(plan_of(PLAIN), [])
    with pytest.raises(JournalError, match="another plan"):
        written_report(plan_of(PLAIN, K4), journal)


# That it holds


def test_nothing_is_wrong_with_it() -> None:
    report = written()
    assert findings(report) == []
    published = under_profile(check_tree(report), "publish")
    assert {f.code for f in published if f.severity != "note"} == {"BL111"}


def test_the_same_journal_gives_the_same_report() -> None:
    assert json_with_digits(written()) == json_with_digits(written())


@given(
    chances=st.lists(st.floats(0.05, 0.97), min_size=1, max_size=12),
    cost=st.floats(1.05, 3.5),
    pass_ms=st.floats(0.5, 200),
    noise=st.floats(0.001, 0.05),
    pairs=st.integers(1, 12),
    tokens=st.integers(200, 400),
    greedy=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_an_honest_bench_is_never_accused(
    chances: list[float],
    cost: float,
    pass_ms: float,
    noise: float,
    pairs: int,
    tokens: int,
    greedy: bool,
    seed: int,
) -> None:
    truths = {
        "plain": Truth(pass_ms=pass_ms),
        "k": Truth(tuple(chances), pass_ms=pass_ms * cost),
    }
    sampling = GREEDY if greedy else Sampling(temperature=0.8, seed=1)
    arms = Arm("plain", sampling=sampling), Arm("k", "draft_model", len(chances), sampling=sampling)
    bench = Bench(truths, seed=seed, noise=noise, greedy=greedy, tokens=tokens)
    drawn = {**IN_EFFECT, "temperature": 0.0 if greedy else 0.8}
    plan = plan_of(*arms, sets=(CODE,), pairs=12)
    told = {"sampler": drawn, "command_line": [], "backend": "CPU"}
    found = [*records(plan, bench, pairs, told), end()]
    machine = {"cpu": "a processor of no known bandwidth"}
    report = read_back(written_report(plan, journal_of(plan, found, machine)))
    before = copy.deepcopy(report)
    assert [str(f.message) for f in findings(report)] == []
    assert report == before
