"""What a report says of weights and memory, in favour of the report wherever it is unsure."""

from __future__ import annotations

from typing import Any

import pytest

from benchlint.checker.ceilings import (
    configurations_in_use,
    hardware_of,
    kv_layers,
    offloads,
    output_length,
    splits_layers,
    tokens_per_pass,
    weights_of,
)
from benchlint.checker.facts import ConfigurationFacts, ReportFacts, RunFacts
from benchlint.checker.model import Report
from benchlint.checker.roofline import KvLayers


def facts(**blocks: Any) -> ReportFacts:
    """The resolved report of these blocks, with one run of a configuration "c" unless given."""
    tree = {
        "configurations": {"c": {"drafter": None}},
        "runs": [{"id": "r", "configuration": "c"}],
        **blocks,
    }
    return ReportFacts(Report.model_validate(tree))


def configuration(**blocks: Any) -> ConfigurationFacts:
    return facts(**blocks).configuration("c")


def run(**blocks: Any) -> RunFacts:
    return facts(**blocks).runs[0]


def target(name: str = "own", recipe: str | None = "BF16", **fields: Any) -> dict[str, Any]:
    quantization = {k: fields.pop(k) for k in list(fields) if k in QUANTIZATION}
    if recipe is not None:
        quantization["recipe"] = recipe
    return {"name": name, "quantization": quantization, **fields}


QUANTIZATION = ("bits_per_weight", "file_size_gb", "file_size_gib", "converted_at_load")


# --- weights ---------------------------------------------------------------------------------


def read_gb(**fields: Any) -> tuple[float, bool] | None:
    """The least bytes read per pass in GB, and whether they are certain."""
    found = weights_of(configuration(target=target(**fields)))
    if found is None or found.read is None:
        return None
    return found.read.low / 1e9, found.certain


def test_a_dense_model_is_read_but_for_its_embedding() -> None:
    assert read_gb(parameters_b=70, architecture="dense") == (pytest.approx(70 * 0.88 * 2), True)


def test_a_model_that_may_be_a_mixture_is_not_certain() -> None:
    assert read_gb(name="Qwen3-32B") == (pytest.approx(32 * 0.88 * 2), False)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "gpt-oss-20b"},
        {"name": "Mixtral-8x7B"},
        {"name": "DeepSeek-V3 671B"},
        {"name": "own-30B", "architecture": "moe"},
        {"name": "gemma-3n-E4B", "parameters_b": 8, "architecture": "dense"},
        {"name": "LLaDA-8B", "parameters_b": 8, "architecture": "dense"},
        {"name": "BitNet-2B", "parameters_b": 2.4, "architecture": "dense"},
        {"name": "own", "architecture": "dense"},
        {"name": "own-8B", "recipe": "NVFP4 hybrid"},
        {"name": "own-8B", "parameters_b": -8, "architecture": "moe"},
    ],
    ids=str,
)
def test_no_size_where_the_active_part_is_not_known(fields: dict[str, Any]) -> None:
    assert read_gb(**fields) is None


def test_active_parameters_are_what_a_pass_reads() -> None:
    by_name = read_gb(name="Qwen3-30B-A3B", architecture="moe")
    stated = read_gb(name="own-30B", parameters_active_b=3, architecture="moe")
    assert by_name == stated == (pytest.approx(3 * 0.78 * 2), True)


def test_all_experts_are_resident() -> None:
    found = weights_of(configuration(target=target("own-30B", parameters_active_b=3)))
    assert found is not None
    assert found.resident is not None
    assert found.resident.low == pytest.approx(30e9 * 0.88 * 2)


def test_the_least_of_file_and_parameters_counts() -> None:
    assert read_gb(parameters_b=8, architecture="dense", file_size_gb=12.0) == (
        pytest.approx(12 * 0.88),
        True,
    )


def test_a_file_with_a_wide_embedding_is_read_in_smaller_part() -> None:
    """Llama-3.1-8B in AWQ: 5.73 GB, of which 1.05 GB of embedding are not read."""
    found = read_gb(recipe="AWQ", architecture="dense", file_size_gb=5.73)
    assert found is not None
    assert found[0] < 5.73 - 1.05


def test_a_conversion_at_load_outweighs_the_file() -> None:
    halved = {"parameters_b": 70, "architecture": "dense", "file_size_gb": 141.0}
    assert read_gb(**halved, converted_at_load="FP8") == (pytest.approx(70 * 0.88), True)
    assert read_gb(**halved, converted_at_load="some of it") is None


def test_gpt_oss_keeps_four_bits_under_any_recipe() -> None:
    found = read_gb(name="gpt-oss-20b", recipe="Q8_0", parameters_active_b=3.6)
    assert found is not None
    assert found[0] == pytest.approx(3.6 * 0.78 * 4.25 / 8)


def test_stated_bits_count_to_their_last_digit() -> None:
    found = weights_of(
        configuration(target=target("70B", "Q4_K_M", bits_per_weight=4.8, architecture="dense"))
    )
    assert found is not None
    assert found.bits is not None
    assert (found.bits.low, found.bits.high) == (pytest.approx(4.7), pytest.approx(4.9))


# --- devices ---------------------------------------------------------------------------------


def devices(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"devices": list(entries)}


def test_devices_add_up() -> None:
    found = hardware_of(configuration(machine=devices({"name": "RTX 4090", "count": 4})))
    assert found is not None
    assert found.memory.bandwidth_gbs == 4 * 1008
    assert found.fastest.bandwidth_gbs == 1008
    assert found.memory_bytes == pytest.approx(4 * 24 * 2**30 * 1.02)
    assert (found.devices, found.certain, found.name) == (4, True, "4 × GeForce RTX 4090")


def test_two_kinds_of_device() -> None:
    machine = devices({"name": "RTX 4090", "count": 1}, {"name": "RTX 3090", "count": 1})
    found = hardware_of(configuration(machine=machine))
    assert found is not None
    assert found.memory.bandwidth_gbs == pytest.approx(1008 + 936.2)
    assert found.name == "GeForce RTX 4090 + GeForce RTX 3090"


def test_without_a_count_one_device_is_assumed_and_nothing_is_certain() -> None:
    found = hardware_of(configuration(machine=devices({"name": "RTX 4090"})))
    assert found is not None
    assert (found.devices, found.counted, found.certain) == (1, False, False)


def test_a_bound_of_several_parts_is_certain_and_an_uncertain_row_is_not() -> None:
    for name, certain in (("H100", True), ("EPYC 9654", False)):
        found = hardware_of(configuration(machine=devices({"name": name, "count": 1})))
        assert found is not None
        assert found.certain is certain


@pytest.mark.parametrize(
    "machine",
    [
        {},
        devices(),
        devices({"count": 1}),
        devices({"name": "a card of my own", "count": 1}),
        devices({"name": "RTX 4090", "count": 1}, {"name": "unknown"}),
    ],
)
def test_one_unknown_device_leaves_nothing(machine: dict[str, Any]) -> None:
    assert hardware_of(configuration(machine=machine)) is None


@pytest.mark.parametrize(
    ("parallelism", "split"),
    [
        ({"pipeline": 2}, True),
        ({"pipeline": 2, "tensor": 1}, True),
        ({"pipeline": 2, "tensor": 2}, False),
        ({"tensor": 2}, False),
        ({}, False),
    ],
)
def test_split_layers(parallelism: dict[str, int], split: bool) -> None:
    assert splits_layers(configuration(engine={"parallelism": parallelism})) is split


@pytest.mark.parametrize(
    ("offload", "expected"),
    [
        (None, None),
        ("unknown", None),
        ("none", False),
        ("layers", True),
        ({"kind": "experts"}, True),
    ],
)
def test_offload(offload: Any, expected: bool | None) -> None:
    assert offloads(configuration(engine={"offload": offload})) is expected


# --- the KV cache and tokens -----------------------------------------------------------------

GEOMETRY = {"kv_heads": 8, "head_dim": 128, "full_attention_layers": 32}


def layers(geometry: dict[str, int], kind: str = "f16", name: str = "x") -> tuple[KvLayers, ...]:
    return kv_layers(
        configuration(
            target={"name": name, "kv_geometry": geometry},
            configurations={"c": {"drafter": None, "kv_cache": {"target_type": kind}}},
        )
    )


def test_kv_layers() -> None:
    assert layers(GEOMETRY) == (KvLayers(32, 4096.0),)
    assert layers(GEOMETRY, "q8_0") == (KvLayers(32, 2176.0),)
    sliding = {**GEOMETRY, "sliding_window_layers": 10, "sliding_window_tokens": 1024}
    assert layers(sliding) == (KvLayers(32, 4096.0), KvLayers(10, 4096.0, 1024))
    assert layers({"latent_rank": 576, "full_attention_layers": 61}) == (KvLayers(61, 1152.0),)


@pytest.mark.parametrize(
    ("geometry", "kind", "name"),
    [
        (GEOMETRY, "auto", "x"),
        (GEOMETRY, "f16", "DeepSeek-V3.2"),
        ({"kv_heads": 8, "full_attention_layers": 32}, "f16", "x"),
        ({"kv_heads": 8, "head_dim": 128}, "f16", "x"),
        ({**GEOMETRY, "kv_heads": -8}, "f16", "x"),
    ],
)
def test_no_kv_layers_where_they_cannot_be_known(
    geometry: dict[str, int], kind: str, name: str
) -> None:
    assert layers(geometry, kind, name) == ()


def speculative(**speculation: Any) -> RunFacts:
    return run(
        configurations={"c": {"drafter": {"method": "mtp"}, "draft_length": 4}},
        runs=[{"id": "r", "configuration": "c", "speculation": speculation}],
    )


def most(facts_of_run: RunFacts) -> float | None:
    found = tokens_per_pass(facts_of_run)
    return None if found is None else found.most


def test_tokens_of_a_pass() -> None:
    length = {"value": 3, "counts_bonus_token": True}
    assert most(run()) == 1
    assert most(speculative()) == 5
    assert most(speculative(accepted_length=length)) == 4  # 3, to its last digit
    assert most(run(configurations={"c": {"notes": "unsaid"}})) is None


def test_no_bound_without_draft_length_and_accepted_length() -> None:
    assert most(run(configurations={"c": {"drafter": {"method": "mtp"}}})) is None


def test_output_length_is_the_shortest_that_is_said() -> None:
    assert output_length(run()) is None
    short = run(
        workloads={"w": {"output_tokens": 128, "prompt_count": 4}},
        runs=[{"id": "r", "workload": "w", "decode": {"tokens": 256}}],
    )
    assert output_length(short) == 64


def test_configurations_in_use_come_once() -> None:
    report = facts(
        configurations={"a": {}, "b": {}},
        runs=[
            {"id": "1", "configuration": "b"},
            {"id": "2", "configuration": "a"},
            {"id": "3", "configuration": "b"},
        ],
    )
    assert [c.name for c in configurations_in_use(report)] == ["b", "a"]
