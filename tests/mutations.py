"""Honest, complete reports of a simulated bench, and ways to break one thing in them.

A mutator takes a complete report apart in exactly one place, by a random amount that no
rounding explains, and is filed under the rule that must notice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.simulator import (
    Bench,
    Clock,
    Counters,
    Drafting,
    Printed,
    dumps,
    pooled,
    printed,
    share,
)

Tree = dict[str, Any]
Mutator = Callable[[Random, Tree], None]


def complete_report(seed: int) -> Tree:
    """An honest report that states nearly everything, with three to four digits a number.

    Run "all" pools "w1" and "w2", the parts; "plain" is the baseline of "all".
    """
    rng = Random(seed)
    bench = Bench(rng, "fixed")
    bench.eases = [rng.uniform(0.8, 1.0) for _ in range(4)]
    bench.tokens = rng.choice([384, 512, 700])
    prefill = printed(rng, rng.uniform(800, 1500), 4, 4)
    k = rng.choice([3, 4, 5, 7, 8])
    start = rng.uniform(0.55, 0.85)
    drafting = Drafting("fixed", k, [start - 0.02 * i for i in range(k)])
    clock = bench.clock()
    plain = pooled(bench.run(Drafting("ngram", 1, [0.0], hit=0.0), Clock(bench.plain_s, 0, 0)))
    requests = bench.run(drafting, clock)
    halves = {"w1": pooled(requests[:2]), "w2": pooled(requests[2:]), "all": pooled(requests)}
    tree = _setup(rng, bench, k)
    tree["runs"] = [_run(rng, "plain", plain, plain, bench)]
    tree["runs"] += [_run(rng, name, total, plain, bench) for name, total in halves.items()]
    for run in tree["runs"]:
        run["prefill"] = {"tok_s": prefill}
    tree["runs"][3]["parts"] = ["w1", "w2"]
    tree["claims"] = _claims(rng, halves["all"], plain)
    return dict(json.loads(dumps(tree), parse_float=Printed))


def _setup(rng: Random, bench: Bench, k: int) -> Tree:
    engine, version = rng.choice([("llama.cpp", "b11549"), ("vllm", "0.32.0")])
    sampler = {"temperature": 0}
    cache = {"target_type": "f16", "max_context_tokens": 8192}
    return {
        "benchlint": "1",
        "title": "A simulated bench",
        "machine": {"devices": [{"name": bench.card, "count": 1, "memory_gb": bench.memory_gb}]},
        "engine": {"name": engine, "version": version, "offload": "none", "environment": {}},
        "target": {
            "name": "simulated",
            "parameters_b": bench.parameters_b,
            "architecture": "dense",
            "quantization": {"recipe": "Q4_K_M"},
            "layers": 32,
        },
        "configurations": {
            "plain": {"drafter": None, "sampler": sampler, "kv_cache": cache},
            "spec": {
                "based_on": "plain",
                "drafter": {"method": "draft_model", "model": "small"},
                "draft_length": {"max": k, "policy": "fixed"},
                "draft_selection": {"placement": "gpu", "method": "argmax"},
                "acceptance_rule": "lossless",
            },
        },
        "workloads": {
            "w": {
                "mix": {"code": Printed("0.50"), "prose": Printed("0.30"), "chat": Printed("0.20")}
            },
            "w1": {"mix": {"code": Printed("1.0")}},
            "w2": {"mix": {"prose": Printed("1.0")}},
        },
    }


def _speed(total: Counters) -> float:
    return (total.output - total.requests) / total.decode_s


def _run(rng: Random, name: str, total: Counters, plain: Counters, bench: Bench) -> Tree:
    speed = _speed(total)
    around = [speed * rng.uniform(0.985, 1.015) for _ in range(3)]
    used = int(bench.memory_gb * 1024 * rng.uniform(0.6, 0.9))
    run: Tree = {
        "id": name,
        "configuration": "plain" if name == "plain" else "spec",
        "workload": name if name in ("w1", "w2") else "w",
        "conditions": {
            "warm": True,
            "warmup_requests": 2,
            "repeats": 3,
            "concurrency": 1,
            "kv_position": {"filled_tokens": rng.randint(200, 3000)},
        },
        "decode": {
            "tokens": total.output,
            "seconds": printed(rng, total.decode_s, 3, 4),
            "tok_s": {
                "value": printed(rng, speed, 3, 4),
                "estimator": "pooled",
                "range": [
                    printed(rng, min(*around, speed), 4, 4),
                    printed(rng, max(*around, speed), 4, 4),
                ],
            },
        },
        "throughput": {
            "tok_s": printed(rng, speed * 0.9, 3, 4),
            "peak_tok_s": printed(rng, speed * 1.1, 3, 4),
            "peak_counts": "tokens",
            "end_to_end_tok_s": printed(rng, speed * 0.92, 3, 4),
        },
        "memory": {
            "device_used_mib": used,
            "device_total_mib": bench.memory_gb * 1024,
            "measured": "after_fill",
        },
    }
    if name != "plain":
        run |= _drafting(rng, total)
    if name == "all":
        run["speedup"] = {
            "value": printed(rng, speed / _speed(plain), 2, 3),
            "over": "plain",
            "estimator": "pooled",
        }
    return run


def _drafting(rng: Random, total: Counters) -> Tree:
    steps = total.verify_steps
    passes = steps + total.plain_steps
    return {
        "speculation": {
            "acceptance_rate": {
                "value": share(rng, total.accepted / total.drafted),
                "of": "drafted",
                "estimator": "pooled",
            },
            "accepted_length": {
                "value": printed(rng, (steps + total.accepted) / steps, 2, 3),
                "counts_bonus_token": True,
                "estimator": "pooled",
            },
            "per_position": {
                "values": [Printed(f"{n / steps:.3f}") for n in total.at_least],
                "kind": "cumulative",
            },
            "counts": {
                "drafted": total.drafted,
                "accepted": total.accepted,
                "verify_steps": steps,
                "plain_steps": total.plain_steps,
                "output_tokens": total.output,
                "requests": total.requests,
            },
        },
        "step_time_ms": printed(rng, total.decode_s / passes * 1000, 3, 4),
        "losslessness": {
            "baseline": "plain",
            "compared": "prompt",
            "match_rate": Printed("1.0"),
            "n": total.requests,
            "repeat_identical": True,
            "repeat_sha256": ["ab" * 32, "ab" * 32],
        },
    }


def _claims(rng: Random, total: Counters, plain: Counters) -> list[Tree]:
    ratio = _speed(total) / _speed(plain)
    base = {"metric": "decode.tok_s", "of": "all", "to": "plain"}
    return [
        {**base, "id": "ratio", "relation": "ratio", "value": printed(rng, ratio, 2, 2)},
        {
            **base,
            "id": "percent",
            "relation": "percent_more",
            "value": printed(rng, (ratio - 1) * 100, 2, 3),
        },
        {**base, "id": "order", "relation": "greater" if ratio > 1 else "less"},
    ]


# --- helpers for mutators --------------------------------------------------------------------


def spec_run(rng: Random, tree: Tree) -> Tree:
    """One of the speculative runs."""
    run: Tree = tree["runs"][rng.choice([1, 2, 3])]
    return run


def scaled(number: str | int, factor: float) -> Printed:
    """The number times the factor, with as many decimals as it had."""
    text = str(number)
    places = len(text.partition(".")[2])
    return Printed(f"{float(text) * factor:.{max(places, 2)}f}")


def only(run: Tree, *kept: str) -> None:
    """Keep only these fields of a run's speculation block."""
    run["speculation"] = {k: v for k, v in run["speculation"].items() if k in kept}


def k_of(tree: Tree) -> int:
    """The configured draft length."""
    return int(tree["configurations"]["spec"]["draft_length"]["max"])


def apart(rng: Random, low: float = 1.08, high: float = 2.5) -> float:
    """A factor clearly over or clearly under one."""
    factor = rng.uniform(low, high)
    return factor if rng.random() < 0.5 else 1 / factor


MUTATORS: dict[str, list[Mutator]] = {}


def breaks(code: str) -> Callable[[Mutator], Mutator]:
    """File a mutator under the rule that must notice."""

    def file(mutator: Mutator) -> Mutator:
        MUTATORS.setdefault(code, []).append(mutator)
        return mutator

    return file


# --- BL0 -------------------------------------------------------------------------------------


@breaks("BL004")
def misspell(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    block = rng.choice([run, run["decode"], run["speculation"], tree["machine"], tree["target"]])
    name = rng.choice(list(block))
    at = rng.randrange(len(name))
    block[name[:at] + rng.choice("qxz") + name[at:]] = block.pop(name)


@breaks("BL005")
def wrong_type(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    block = rng.choice([run["speculation"], tree["machine"], run["conditions"]])
    block[rng.choice(list(block))] = rng.choice(["80 tok/s", True, {"a": 1}, [[]]])


@breaks("BL006")
def dangle(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    places: list[tuple[Tree, str]] = [
        (run, "configuration"),
        (run, "workload"),
        (rng.choice(tree["claims"]), "of"),
        (rng.choice(tree["claims"]), "to"),
        (run["losslessness"], "baseline"),
        (tree["configurations"]["spec"], "based_on"),
    ]
    block, name = rng.choice(places)
    block[name] = f"{block[name]}-{rng.randint(1, 99)}"


# --- BL2 -------------------------------------------------------------------------------------


@breaks("BL201")
def too_long(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    value = k_of(tree) + 1 + rng.uniform(0.02, 6)
    run["speculation"]["accepted_length"]["value"] = Printed(f"{value:.3f}")


@breaks("BL201")
def too_short(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    run["speculation"]["accepted_length"]["value"] = Printed(f"{rng.uniform(0.1, 0.98):.3f}")


@breaks("BL202")
def sum_of_positions(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "accepted_length", "per_position")
    total = 1 + sum(map(float, run["speculation"]["per_position"]["values"]))
    room = k_of(tree) + 1
    wrong = rng.choice([rng.uniform(1.01, total - 0.1), rng.uniform(total + 0.1, room - 0.01)])
    run["speculation"]["accepted_length"]["value"] = Printed(f"{wrong:.3f}")


@breaks("BL203")
def out_of_order(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    values = run["speculation"]["per_position"]["values"]
    at = rng.randrange(len(values) - 1)
    values[at + 1] = Printed(f"{float(values[at]) + rng.uniform(0.01, 0.14):.3f}")


@breaks("BL204")
def rate_too_low(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "accepted_length", "acceptance_rate")
    rate = run["speculation"]["acceptance_rate"]
    rate["value"] = Printed(f"{float(rate['value']) * rng.uniform(0.2, 0.93):.4f}")


@breaks("BL206")
def more_accepted_than_drafted(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "counts")
    counts = run["speculation"]["counts"]
    counts["accepted"] = counts["drafted"] + rng.randint(1, 500)


@breaks("BL206")
def more_drafted_than_configured(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "counts")
    counts = run["speculation"]["counts"]
    counts["drafted"] = k_of(tree) * counts["verify_steps"] + rng.randint(1, 500)


@breaks("BL206")
def rate_beside_counts(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "counts", "acceptance_rate")
    rate = run["speculation"]["acceptance_rate"]
    rate["value"] = Printed(f"{min(float(rate['value']) * apart(rng, 1.1, 1.6), 0.99):.3f}")


@breaks("BL206")
def length_beside_counts(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "counts", "accepted_length")
    counts = run["speculation"]["counts"]
    counts["verify_steps"] = round(counts["verify_steps"] * rng.uniform(1.08, 1.6))
    counts["plain_steps"] = 0


@breaks("BL208")
def percent(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    rate = run["speculation"]["acceptance_rate"]
    rate["value"] = Printed(f"{float(rate['value']) * 100:.2f}")


@breaks("BL209")
def wrong_speedup(rng: Random, tree: Tree) -> None:
    speedup = tree["runs"][3]["speedup"]
    speedup["value"] = scaled(speedup["value"], apart(rng))


@breaks("BL210")
def wrong_time(rng: Random, tree: Tree) -> None:
    decode = spec_run(rng, tree)["decode"]
    decode["seconds"] = scaled(decode["seconds"], apart(rng))


@breaks("BL211")
def shares(rng: Random, tree: Tree) -> None:
    mix = tree["workloads"]["w"]["mix"]
    name = rng.choice(list(mix))
    mix[name] = Printed(f"{float(mix[name]) + rng.choice([-1, 1]) * rng.uniform(0.05, 0.2):.2f}")


@breaks("BL212")
def outside_parts(rng: Random, tree: Tree) -> None:
    runs = tree["runs"]
    for each in runs:
        speed = each["decode"]["tok_s"]["value"]
        each["decode"] = {"tok_s": {"value": speed, "estimator": "pooled"}}
        each.pop("step_time_ms", None)
        each.pop("speedup", None)
    parts = [float(runs[i]["decode"]["tok_s"]["value"]) for i in (1, 2)]
    factor = rng.uniform(1.03, 1.2)
    wrong = max(parts) * factor if rng.random() < 0.5 else min(parts) / factor
    runs[3]["decode"]["tok_s"]["value"] = Printed(f"{wrong:.2f}")
    tree["claims"] = []


@breaks("BL213")
def outside_range(rng: Random, tree: Tree) -> None:
    speed = spec_run(rng, tree)["decode"]["tok_s"]
    factor = rng.uniform(1.02, 1.5)
    ends = speed["range"]
    wrong = float(ends[1]) * factor if rng.random() < 0.5 else float(ends[0]) / factor
    speed["range"] = sorted(
        [Printed(f"{wrong:.2f}"), scaled(Printed(f"{wrong:.2f}"), 1.004)], key=float
    )


@breaks("BL215")
def too_many_positions(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    values = run["speculation"]["per_position"]["values"]
    values += [scaled(values[-1], 0.9) for _ in range(rng.randint(1, 4))]


@breaks("BL217")
def end_to_end_too_fast(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    fast = scaled(run["decode"]["tok_s"]["value"], rng.uniform(1.05, 2))
    run["throughput"] = {"end_to_end_tok_s": fast}


@breaks("BL223")
def no_sense(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    wrong = Printed(f"{-rng.uniform(1, 100):.2f}")
    block, name = rng.choice(
        [
            (run["prefill"], "tok_s"),
            (run["throughput"], "tok_s"),
            (run["memory"], "device_used_mib"),
            (run, "step_time_ms"),
            (tree["target"], "parameters_b"),
        ]
    )
    block[name] = wrong


# --- BL3 -------------------------------------------------------------------------------------


@breaks("BL301")
def too_fast(rng: Random, tree: Tree) -> None:
    plain = tree["runs"][0]
    plain["decode"] = {"tok_s": scaled(plain["decode"]["tok_s"]["value"], rng.uniform(4, 30))}
    tree["claims"] = []
    tree["runs"][3].pop("speedup")


@breaks("BL304")
def too_much_memory(rng: Random, tree: Tree) -> None:
    memory = spec_run(rng, tree)["memory"]
    memory["device_used_mib"] = memory["device_total_mib"] + rng.randint(50, 5000)


@breaks("BL305")
def too_big(rng: Random, tree: Tree) -> None:
    tree["target"]["parameters_b"] = Printed(
        f"{rng.uniform(3, 10) * tree['machine']['devices'][0]['memory_gb']:.1f}"
    )
    tree["runs"] = tree["runs"][:1]
    tree["runs"][0].pop("memory")
    tree["claims"] = []


@breaks("BL306")
def overfull(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    run["conditions"]["kv_position"]["filled_tokens"] = 8192 + rng.randint(1, 90000)


# --- BL4 to BL7 ------------------------------------------------------------------------------


@breaks("BL412")
def nothing_drafted(rng: Random, tree: Tree) -> None:
    run = spec_run(rng, tree)
    only(run, "accepted_length", "counts")
    run["speculation"]["counts"] = {"drafted": 0, "accepted": 0}


@breaks("BL413")
def synthetic(rng: Random, tree: Tree) -> None:
    engine = tree["engine"]
    if engine["name"] == "vllm":
        engine["command_line"] = (
            'vllm serve m --speculative-config \'{"rejection_sample_method":"synthetic",'
            f'"num_speculative_tokens":{rng.randint(1, 9)}}}\''
        )
    else:
        engine["command_line"] = [
            "llama-server",
            rng.choice(["--spec-synth-len", "--spec-synth-rates"]),
            f"{rng.uniform(0.1, 0.9):.2f}",
        ]


@breaks("BL506")
def not_identical(rng: Random, tree: Tree) -> None:
    losslessness = spec_run(rng, tree)["losslessness"]
    losslessness["repeat_sha256"] = ["ab" * 32, f"{rng.getrandbits(256):064x}"]


@breaks("BL601")
def wrong_ratio(rng: Random, tree: Tree) -> None:
    claim = tree["claims"][0]
    claim["value"] = scaled(claim["value"], apart(rng))


@breaks("BL601")
def wrong_percentage(rng: Random, tree: Tree) -> None:
    claim = tree["claims"][1]
    claim["value"] = Printed(
        f"{float(claim['value']) + rng.choice([-1, 1]) * rng.uniform(8, 60):.1f}"
    )


@breaks("BL601")
def wrong_way_round(_: Random, tree: Tree) -> None:
    claim = tree["claims"][2]
    claim["relation"] = {"greater": "less", "less": "greater"}[claim["relation"]]


@breaks("BL701")
def leak(rng: Random, tree: Tree) -> None:
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"

    def secret(length: int) -> str:
        return "".join(rng.choice(letters) for _ in range(length))

    token = rng.choice([f"hf_{secret(34)}", f"ghp_{secret(36)}", f"sk-{secret(48)}"])
    place = rng.choice(["environment", "command_line"])
    if place == "environment":
        tree["engine"]["environment"] = {"TOKEN": token}
    else:
        tree["engine"]["command_line"] = f"vllm serve m --api-key {token}"


# --- mutations of the text -------------------------------------------------------------------

TEXT_MUTATORS: dict[str, Callable[[Random, str], str]] = {
    "BL001": lambda rng, text: text[: rng.randint(1, len(text) - 1)],
    "BL002": lambda rng, text: text.replace('"title":', f'"title": "{rng.random()}", "title":', 1),
    "BL003": lambda rng, text: text.replace(
        '"layers": 32',
        '"layers": ' + rng.choice(["NaN", "Infinity", "-Infinity", "1e999", "9" * 400]),
    ),
    "BL007": lambda rng, text: text.replace(
        '"benchlint": "1"', f'"benchlint": "{rng.choice(["2", "0.9", "1.1", "one", "v1"])}"', 1
    ),
    "BL008": lambda rng, _: (
        '{"extensions": {"x": ' + "[" * (n := rng.randint(200, 9999)) + "]" * n + "}}"
    ),
}
