"""Ceilings by memory and arithmetic: worked numbers, laws, and honest speeds that must pass."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchlint.checker.roofline import (
    TIMER_SLACK,
    KvLayers,
    MemorySystem,
    Span,
    TargetPass,
    file_read,
    first_token_factor,
    gqa_bytes_per_token,
    kv_bytes,
    least_ceiling,
    mla_bytes_per_token,
    nominal_ceiling,
    optimistic_ceiling,
    parameters_read,
    prefill_ceiling,
    size_in_name,
)
from benchlint.checker.tables import device, quantization


def pass_of(parameters: Span, bits: Span, kv_bytes: float = 0.0) -> TargetPass:
    """From the parameters read per pass and the bits of each."""
    return TargetPass(parameters.times(bits).scaled(1 / 8), kv_bytes)


def exactly(value: float) -> Span:
    return Span(value, value, value)


# --- worked numbers --------------------------------------------------------------------------

LLAMA_8B = 8.03e9
LLAMA_8B_EMBEDDING = 128_256 * 4096


def test_llama_3_1_8b_keeps_131072_bytes_per_token() -> None:
    assert 32 * gqa_bytes_per_token(kv_heads=8, head_dim=128) == 131_072


def test_q4_k_m_8b_on_a_4090_is_219_and_not_205() -> None:
    """The input embedding is looked up and not read, so file size is no bound."""
    read = TargetPass(exactly(4.9e9 - LLAMA_8B_EMBEDDING * 4.5 / 8))
    assert nominal_ceiling(read, MemorySystem(1008)) == pytest.approx(219, abs=0.5)
    assert nominal_ceiling(TargetPass(exactly(4.9e9)), MemorySystem(1008)) == pytest.approx(
        205.7, abs=0.1
    )


def test_muse_glimmer_on_an_rtx_pro_4000_sff() -> None:
    target = pass_of(exactly(26.5e9), Span(5.5, 5.7, 5.95))
    card = device("NVIDIA RTX PRO 4000 Blackwell SFF Edition")
    assert card is not None
    memory = MemorySystem(card.bandwidth_gbs, headroom=card.headroom, cache_mb=card.llc_mb)
    assert nominal_ceiling(target, memory) == pytest.approx(22.9, abs=0.05)
    optimistic = optimistic_ceiling(target, memory)
    assert optimistic == pytest.approx(29.0, abs=0.1)


def test_far_context_costs_a_hybrid_model_little() -> None:
    """52 layers, 13 of them full, 2 KV heads of 128 in q8_0: 7,072 bytes a token."""
    layer = gqa_bytes_per_token(2, 128, 1.0625)
    assert 13 * layer == 7072
    layers = [KvLayers(13, layer), KvLayers(39, layer, window=2048)]
    assert kv_bytes(layers, 262_116) / 2**20 == pytest.approx(1768 + 41, abs=1)


def test_mla_keeps_rank_and_rope_once() -> None:
    assert mla_bytes_per_token(512 + 64) == 1152


def test_prefill_is_flops_over_twice_the_parameters() -> None:
    assert prefill_ceiling(8e9, 160.0) == pytest.approx(10_000)
    assert prefill_ceiling(8e9, 160.0, count=2) == pytest.approx(20_000)


@pytest.mark.parametrize(
    ("tokens", "factor"), [(None, 1), (128, 128 / 127), (10, 10 / 9), (1, math.inf), (0, math.inf)]
)
def test_first_token_factor(tokens: float | None, factor: float) -> None:
    assert first_token_factor(tokens) == factor


def test_small_weights_in_a_large_cache_give_no_ceiling() -> None:
    memory = MemorySystem(1792, cache_mb=96)
    assert optimistic_ceiling(TargetPass(exactly(0.27e9)), memory) is None
    assert optimistic_ceiling(TargetPass(exactly(0.4e9)), memory) is not None
    assert optimistic_ceiling(TargetPass(exactly(0)), memory) is None
    assert nominal_ceiling(TargetPass(exactly(0)), memory) is None
    assert least_ceiling(TargetPass(exactly(0)), memory) is None


def test_an_unknown_cache_is_taken_to_be_large() -> None:
    target = TargetPass(exactly(2e9))
    known = optimistic_ceiling(target, MemorySystem(400, cache_mb=48))
    unknown = optimistic_ceiling(target, MemorySystem(400))
    assert known is not None
    assert unknown is not None
    assert unknown > known


# --- sizes -----------------------------------------------------------------------------------


def test_a_30b_that_reads_26_5_is_within_what_is_allowed() -> None:
    assert parameters_read(30e9).low <= 26.5e9


@pytest.mark.parametrize(
    ("total", "embedding"),
    [
        (8.03e9, 128_256 * 4096),
        (7.62e9, 152_064 * 3584),
        (4.19e9, 256_000 * 3072),
        (1.84e9, 151_936 * 2048),
        (9.4e9, 151_552 * 4096),
    ],
    ids=["Llama-3.1-8B", "Qwen2.5-7B", "Minitron-4B", "Qwen1.5-1.8B", "GLM-4-9B"],
)
def test_an_untied_embedding_is_within_what_is_allowed(total: float, embedding: float) -> None:
    assert parameters_read(total).low <= total - embedding
    assert file_read(total * 0.6).low <= (total - embedding) * 0.6
    assert file_read(total * 0.6, total).low == file_read(total * 0.6).low
    assert file_read(total * 0.6, total).likely <= (total - embedding) * 0.6


@pytest.mark.parametrize(
    ("name", "total", "active", "mixture"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 8e9, None, False),
        ("Qwen3-30B-A3B", 30e9, 3e9, True),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 235e9, 22e9, True),
        ("Mixtral-8x7B-Instruct-v0.1", 56e9, None, True),
        ("Muse Glimmer 30B", 30e9, None, False),
        ("SmolLM2-135M", 135e6, None, False),
        ("Qwen2.5-7B-Instruct-1M", 7e9, None, False),
        ("Qwen3-0.6B", 0.6e9, None, False),
    ],
)
def test_size_in_name(name: str, total: float, active: float | None, mixture: bool) -> None:
    found = size_in_name(name)
    assert found is not None
    assert (found.total, found.active, found.mixture) == (total, active, mixture)


@pytest.mark.parametrize(
    "name", [None, "", "Phi-3.5-mini", "gemma-3n-E4B", "DeepSeek-V3", "R1 70B distilled to 8B"]
)
def test_no_clear_size_in_name(name: str | None) -> None:
    assert size_in_name(name) is None


# --- honest speeds ---------------------------------------------------------------------------

HONEST = [
    # device, parameters stated, recipe, devices read at once, passes per second measured
    ("NVIDIA RTX PRO 4000 Blackwell SFF Edition", 30e9, "UD-Q5_K_M", 1, 17.98),
    ("NVIDIA GeForce RTX 4090", 27e9, "BF16", 4, 29.4),
    ("NVIDIA GeForce RTX 4090", 8.03e9, "Q4_K_M", 1, 150.0),
    ("Apple M1 Ultra", 1.1e9, "F16", 1, 0.20 * 800 / 2.2),
    ("Intel Arc Pro B70", 8e9, "Q4_K_M", 1, 0.62 * 608 / 4.6),
    ("Apple M4", 8e9, "Q4_K_M", 1, 0.80 * 120 / 4.6),
]


@pytest.mark.parametrize("case", HONEST, ids=lambda c: c[0])
def test_no_honest_speed_is_over_the_ceiling(case: tuple[str, float, str, int, float]) -> None:
    name, stated, recipe, count, passes = case
    card, quant = device(name), quantization(recipe)
    assert card is not None
    assert quant is not None
    bits = Span(quant.bits_low, quant.bits_per_weight, quant.bits_high)
    target = pass_of(parameters_read(stated), bits)
    ceiling = optimistic_ceiling(
        target, MemorySystem(card.bandwidth_gbs, count, card.headroom, card.llc_mb)
    )
    assert ceiling is not None
    assert passes <= ceiling


@given(
    share=st.floats(0.05, 0.96),
    bandwidth=st.floats(50, 8000),
    read=st.floats(0.5e9, 400e9),
    bits=st.floats(2, 16),
    embedding=st.floats(0, 0.06),
    rounding=st.floats(0.97, 1.05),
    overclock=st.floats(1, 1.15),
)
def test_a_kernel_that_streams_up_to_96_percent_passes(
    share: float,
    bandwidth: float,
    read: float,
    bits: float,
    embedding: float,
    rounding: float,
    overclock: float,
) -> None:
    """Whatever part of the bandwidth is realised, however the count was rounded."""
    stated = read / (1 - embedding) * rounding
    true_bytes = read * bits / 8
    passes = share * bandwidth * overclock * 1e9 / true_bytes
    quoted = Span(bits * 0.97, bits, bits * 1.03)
    target = pass_of(parameters_read(stated), quoted)
    ceiling = optimistic_ceiling(target, MemorySystem(bandwidth, 1, 1.15, 0))
    assert ceiling is not None
    assert passes <= ceiling * TIMER_SLACK


# --- laws ------------------------------------------------------------------------------------

positive = st.floats(0.1, 1e3)


@given(positive, positive, st.floats(1.01, 10))
def test_more_bandwidth_is_never_slower(size: float, bandwidth: float, more: float) -> None:
    target = TargetPass(exactly(size * 1e9))
    slow, fast = MemorySystem(bandwidth, cache_mb=1), MemorySystem(bandwidth * more, cache_mb=1)
    assert (nominal_ceiling(target, fast) or 0) > (nominal_ceiling(target, slow) or 0)
    assert (optimistic_ceiling(target, fast) or 0) > (optimistic_ceiling(target, slow) or 0)


@given(positive, st.floats(1.01, 10), st.floats(1, 16))
def test_more_parameters_are_never_faster(size: float, more: float, bits: float) -> None:
    memory = MemorySystem(1000, cache_mb=1)
    small = pass_of(exactly(size * 1e9), exactly(bits))
    large = pass_of(exactly(size * 1e9 * more), exactly(bits))
    assert (nominal_ceiling(large, memory) or 0) < (nominal_ceiling(small, memory) or 0)
    assert (optimistic_ceiling(large, memory) or 0) < (optimistic_ceiling(small, memory) or 0)


@given(positive, st.floats(1, 1e11), st.floats(1, 1e11))
def test_more_kv_cache_is_never_faster(size: float, less: float, more: float) -> None:
    assume(less < more)
    memory = MemorySystem(1000)
    near, far = (TargetPass(exactly(size * 1e9), kv) for kv in (less, more))
    assert (nominal_ceiling(far, memory) or 0) <= (nominal_ceiling(near, memory) or 0)
    assert optimistic_ceiling(far, memory) == optimistic_ceiling(near, memory)


@given(
    st.floats(1e9, 1e12),
    st.floats(2, 16),
    st.floats(0, 1e10),
    st.floats(50, 8000),
    st.integers(1, 8),
)
def test_the_optimistic_ceiling_is_the_highest(
    stated: float, bits: float, kv: float, bandwidth: float, count: int
) -> None:
    quoted = Span(bits * 0.97, bits, bits * 1.03)
    target = pass_of(parameters_read(stated), quoted, kv)
    memory = MemorySystem(bandwidth, count, 1.02, 10)
    nominal, least = nominal_ceiling(target, memory), least_ceiling(target, memory)
    optimistic = optimistic_ceiling(target, memory)
    assert nominal is not None
    assert least is not None
    assert least <= nominal
    assert optimistic is None or optimistic > nominal


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_window_never_holds_more_than_full_attention(position: int, window: int) -> None:
    full, sliding = KvLayers(4, 512.0), KvLayers(4, 512.0, window)
    assert kv_bytes([sliding], position) <= kv_bytes([full], position)
    assert kv_bytes([full, sliding], position) == pytest.approx(
        kv_bytes([full], position) + kv_bytes([sliding], position)
    )
