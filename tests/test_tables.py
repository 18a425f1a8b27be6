"""Names of devices and quantizations find their rows, and never a slower part than is meant."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.checker import tables
from benchlint.checker.tables import device, kv_type, quantization, rows_of

SCHEMAS = Path(__file__).parent.parent / "schemas"

#: Words that tell parts of one name apart. Without them a name must not find a slower part.
QUALIFIERS = (
    "Laptop",
    "SFF",
    "SXM",
    "PCIe",
    "NVL",
    "Max-Q",
    "Server",
    "Workstation",
    "-core",
    "GB",
)


@pytest.mark.parametrize("table", ["devices", "quants", "sampler_defaults"])
def test_every_row_has_every_column(table: str) -> None:
    text = (SCHEMAS / f"{table}.csv").read_text("utf-8")
    rows = list(csv.reader(text.splitlines()))
    assert {len(r) for r in rows} == {len(rows[0])}
    assert all(r["source"] for r in rows_of(table))
    assert "\r" not in text


def test_devices_have_sane_figures() -> None:
    for row in rows_of("devices"):
        assert 20 <= float(row["bandwidth_gbs"]) <= 25_000, row["name"]
        assert 1.0 < float(row["headroom"]) <= 1.22, row["name"]
        assert row["confidence"] in ("checked", "vendor", "secondary", "uncertain"), row["name"]
        assert row["mem_kind"].startswith(("gddr", "hbm", "lpddr", "ddr")), row["name"]


def test_no_name_finds_a_slower_part_than_it_names() -> None:
    for row in rows_of("devices"):
        for name in (row["name"], *filter(None, row["aliases"].split(";"))):
            found = device(name)
            assert found is not None, name
            assert found.bandwidth_gbs >= float(row["bandwidth_gbs"]), name


def _is_qualifier(word: str) -> bool:
    return any(q.lower() in word.lower() for q in (*QUALIFIERS, "GPU", "Edition", "Generation"))


def test_a_name_cut_short_finds_no_slower_part() -> None:
    """ "RTX 5050" may be a laptop's, "RTX PRO 4000 Blackwell" the SFF card, and so on."""
    for row in rows_of("devices"):
        words = row["name"].split()
        while len(words) > 1 and _is_qualifier(words[-1]):
            words.pop()
            found = device(" ".join(words))
            assert found is None or found.bandwidth_gbs >= float(row["bandwidth_gbs"]), words


@pytest.mark.parametrize(
    ("written", "name", "bandwidth"),
    [
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090", 1008),
        ("RTX4090", "GeForce RTX 4090", 1008),
        ("rtx 4090", "GeForce RTX 4090", 1008),
        ("4090", "GeForce RTX 4090", 1008),
        ("RTX 4090 24GB", "GeForce RTX 4090", 1008),
        ("GeForce RTX 4090 (24 GB GDDR6X)", "GeForce RTX 4090", 1008),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "GeForce RTX 4090 Laptop GPU", 576),
        ("RTX 4090 Mobile", "GeForce RTX 4090 Laptop GPU", 576),
        (
            "NVIDIA RTX PRO 4000 Blackwell SFF Edition",
            "RTX PRO 4000 Blackwell SFF Edition",
            432,
        ),
        ("NVIDIA H100 80GB HBM3", "H100 SXM", 3350),
        ("H100 PCIe", "H100 PCIe", 2039),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM", 2039),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe", 1935),
        ("A100-PCIE-40GB", "A100 40GB", 1555),
        ("RTX 3080 12GB", "GeForce RTX 3080 12GB", 912.4),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX", 960),
        ("7900 XTX", "Radeon RX 7900 XTX", 960),
        ("AMD Instinct MI300X", "Instinct MI300X", 5300),
        ("Intel(R) Arc(TM) B580 Graphics", "Arc B580", 456),
        ("Intel Arc B580", "Arc B580", 456),
        ("Apple M2 Ultra", "Apple M2 Ultra", 800),
        ("Mac Studio M2 Ultra 192GB", "Apple M2 Ultra", 800),
        ("M3 Max (30-core GPU)", "Apple M3 Max (30-core GPU)", 300),
        ("NVIDIA DGX Spark", "DGX Spark GB10", 273),
        ("AMD Ryzen AI Max+ 395", "Ryzen AI Max+ 395 (Strix Halo)", 256),
    ],
)
def test_a_name_as_people_write_it(written: str, name: str, bandwidth: float) -> None:
    found = device(written)
    assert found is not None
    assert (found.name, found.bandwidth_gbs) == (name, bandwidth)
    assert found.confidence != "uncertain"
    assert found.is_bound


@pytest.mark.parametrize(
    ("written", "bandwidth"),
    [
        ("H100", 3938),
        ("NVIDIA H100 80GB", 3350),
        ("A100", 2039),
        ("A100 80GB", 2039),
        ("A100 PCIe", 1935),
        ("RTX 3080", 912.4),
        ("RTX 3060 Ti", 608.3),
        ("RTX 5050", 384),
        ("RTX PRO 4000 Blackwell", 896),
        ("M3 Max", 400),
        ("Apple M4 Max", 546),
        ("Arc A770", 560),
        ("H20", 4800),
        ("Tesla V100-SXM2-16GB", 1134),
    ],
)
def test_one_name_for_several_parts_gives_the_fastest(written: str, bandwidth: float) -> None:
    found = device(written)
    assert found is not None
    assert found.bandwidth_gbs == bandwidth
    assert found.confidence == "uncertain"
    assert found.is_bound, "no part of the name is faster, so it is still a bound"
    assert len(found.variants) > 1


def test_memory_tells_parts_apart() -> None:
    for memory, name in ((40, "A100 40GB"), (80, "A100 80GB SXM"), (85.9, "A100 80GB SXM")):
        found = device("A100", memory)
        assert found is not None
        assert found.name == name
    narrow = device("RTX 3080", 10)
    assert narrow is not None
    assert (narrow.bandwidth_gbs, narrow.confidence) == (760.3, "checked")


def test_unified_memory_tells_no_parts_apart() -> None:
    """An M3 Max of 128 GB lets its GPU use 96 GB, and a slower M3 Max is sold with 96 GB."""
    found = device("M3 Max", 96)
    assert found is not None
    assert found.bandwidth_gbs == 400


def test_two_parts_of_one_bandwidth_are_certain() -> None:
    found = device("RTX 4060 Ti")
    assert found is not None
    assert (found.confidence, found.memory_gb, found.bandwidth_gbs) == ("checked", 16, 288)


def test_memory_that_no_part_has_is_uncertain() -> None:
    found = device("RTX 4090 48GB")
    assert found is not None
    assert (found.memory_gb, found.confidence) == (48, "uncertain")


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "GPU",
        "NVIDIA",
        "2x RTX 4090",
        "RTX 4090 + RTX 3090",
        "RTX 9990",
        "RTX 4050",
        "Ryzen 9 7950X",
        "x" * 1000,
        "Mac Studio",
    ],
)
def test_an_unknown_name_is_none(written: str | None) -> None:
    assert device(written) is None


def test_a_cpu_does_not_say_which_memory_is_fitted() -> None:
    found = device("EPYC 9654")
    assert found is not None
    assert (found.confidence, found.is_bound) == ("uncertain", False)


@given(st.text(max_size=60))
def test_any_text_is_looked_up_without_trouble(text: str) -> None:
    assert device(text) is None or isinstance(device(text), tables.Device)
    assert quantization(text) is None or isinstance(quantization(text), tables.Quantization)
    assert kv_type(text) is None or kv_type(text) in {4, 2, 1, 1.0625, 0.75, 0.6875, 0.625, 0.5625}


@given(st.sampled_from(rows_of("devices")), st.floats(min_value=0.1, max_value=2000))
def test_memory_never_raises_the_bandwidth(row: dict[str, str], memory: float) -> None:
    alone, narrowed = device(row["name"]), device(row["name"], memory)
    assert alone is not None
    assert narrowed is not None
    assert narrowed.bandwidth_gbs <= alone.bandwidth_gbs
    assert narrowed.headroom >= 1


# --- quantizations ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Q4_K_M", "Q4_K_M"),
        ("q4_k_m", "Q4_K_M"),
        ("Q4_K - Medium", "Q4_K_M"),
        ("GGUF Q4_K_M", "Q4_K_M"),
        ("i1-Q4_K_M", "Q4_K_M"),
        ("Q4_K_M (imatrix)", "Q4_K_M"),
        ("UD-Q5_K_M", "UD-Q5_K_M"),
        ("UD-Q4_K_XL", "UD-Q4_K_XL"),
        ("Q8_0", "Q8_0"),
        ("q4_0", "Q4_0"),
        ("BF16", "BF16"),
        ("bfloat16", "BF16"),
        ("FP16", "F16"),
        ("f16", "F16"),
        ("FP8", "FP8"),
        ("fp8_e4m3", "FP8"),
        ("FP8-dynamic", "FP8"),
        ("AWQ", "AWQ int4 g128"),
        ("awq_marlin", "AWQ int4 g128"),
        ("GPTQ-Int4", "GPTQ int4 g128"),
        ("NVFP4", "NVFP4"),
        ("MXFP4", "MXFP4"),
        ("4bit", "4-bit"),
        ("4bit MLX", "MLX 4-bit g64"),
        ("MLX 8-bit", "MLX 8-bit g64"),
        ("bitsandbytes NF4", "bnb NF4"),
        ("W4A16", "4-bit"),
    ],
)
def test_a_recipe_as_people_write_it(written: str, name: str) -> None:
    found = quantization(written)
    assert found is not None
    assert found.name == name
    assert found.bits_low <= found.bits_per_weight + 1e-3
    assert found.bits_per_weight <= found.bits_high + 1e-3


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "NVFP4 hybrid",
        "Q4_K_M with Q8_0 attention",
        "mixed 4/6 bit",
        "FP8 + INT4",
        "gguf",
        "custom",
        "y" * 500,
    ],
)
def test_qualified_text_is_no_recipe(written: str | None) -> None:
    assert quantization(written) is None


@pytest.mark.parametrize("row", rows_of("quants"), ids=lambda r: r["name"])
def test_ranges_hold_the_typical_value(row: dict[str, str]) -> None:
    low, typical, high = (float(row[c]) for c in ("bits_low", "bits_per_weight", "bits_high"))
    assert low <= typical + 1e-3
    assert typical <= high + 1e-3
    if row["family"] in ("ggml tensor type", "KV-cache type"):
        assert low == typical == high


def test_named_mixes_allow_three_percent_and_dynamic_ones_seven() -> None:
    mix, dynamic = quantization("Q4_K_M"), quantization("UD-Q5_K_M")
    assert mix is not None
    assert dynamic is not None
    assert mix.bits_low <= 0.97 * mix.bits_per_weight + 1e-4
    assert mix.bits_high >= 5.0, "files of up to 5.0 bits have been published"
    assert dynamic.bits_low <= 0.93 * dynamic.bits_per_weight + 1e-4
    assert dynamic.bits_high >= 1.07 * dynamic.bits_per_weight - 1e-4


def test_weight_only_methods_leave_room_for_layers_of_16_bits() -> None:
    for recipe in ("AWQ", "GPTQ-Int4", "4bit"):
        found = quantization(recipe)
        assert found is not None
        assert found.bits_high >= 5.7, "Llama-3-8B AWQ has 5.7 bits over the whole file"


def test_bits_in_the_name() -> None:
    found = quantization("EXL3 4.0bpw")
    assert found is not None
    assert found.bits_per_weight == 4.0
    assert quantization("99bpw") is None


@pytest.mark.parametrize(
    ("name", "bytes_per_element"),
    [
        ("f16", 2),
        ("BF16", 2),
        ("q8_0", 1.0625),
        ("Q4_0", 0.5625),
        ("fp8", 1),
        ("fp8_e4m3", 1),
        ("auto", None),
        ("turbo3", None),
        (None, None),
        ("Q4_K_M", None),
    ],
)
def test_kv_types(name: str | None, bytes_per_element: float | None) -> None:
    assert kv_type(name) == bytes_per_element
