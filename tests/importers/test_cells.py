"""What a cell and the head of a column say."""

from __future__ import annotations

import pytest

from benchlint.checker.importers.cells import change, is_nothing, plain, quantities, quantity
from benchlint.checker.importers.columns import column, is_plain, method_of


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("53.80 tok/s", "53.80", "tok/s"),
        ("**1,037.7 ms**", "1037.7", "ms"),
        ("3.40x", "3.40", "x"),
        ("×2.1", "2.1", "x"),
        ("1.7倍", "1.7", "x"),
        ("86.43%", "86.43", "%"),
        ("58 %", "58", "%"),
        ("-41.06 pts", "-41.06", "points"),
        ("+28.2% (worse)", "+28.2", "%"),
        ("246,348", "246348", ""),
        ("12.4k", "12400", ""),
        ("118.52 ± 5.98", "118.52", ""),
        ("🥇 2.85x", "2.85", "x"),
        ("４２．５ tok/s", "42.5", "tok/s"),
        ("80.87トークン/秒", "80.87", "tok/s"),
        ("4 tokens", "4", "tokens"),
        ("92.10 MiB", "92.10", "MiB"),
        ("0.589", "0.589", ""),
    ],
)
def test_a_number_keeps_its_digits(text: str, value: str, unit: str) -> None:
    found = quantity(text)
    assert found is not None
    assert (found.value.text.lstrip("+"), found.unit) == (value.lstrip("+"), unit)


@pytest.mark.parametrize(
    "text", ["", "—", "n/a", "fast", "< 50ms", "> 50%", "80 / 90 / 70", "1.2.3", "v2 of 3", "inf"]
)
def test_what_is_no_single_number(text: str) -> None:
    assert quantity(text) is None


def test_about_and_ranges() -> None:
    about, span = quantity("約80 tok/s"), quantity("1.2x - 1.5x")
    assert about is not None
    assert about.approx
    assert span is not None
    assert (span.value, span.high, span.unit) == (1.2, 1.5, "x")


def test_fractions_lists_and_changes() -> None:
    part = quantity("538/660")
    assert part is not None
    assert (part.value, part.whole) == (538, 660)
    assert [q.value for q in quantities("90.5% 80.5% 73.6%")] == [90.5, 80.5, 73.6]
    both = change("`22.7` → **40.6** (+79%)")
    assert both is not None
    assert (both.old, both.new) == (22.7, 40.6)
    assert both.by is not None
    assert (both.by.value, both.by.unit) == (79, "%")


@pytest.mark.parametrize("text", ["", "-", "—", "N/A", "`none`", "TBD"])
def test_nothing(text: str) -> None:
    assert is_nothing(text)


def test_markup_is_taken_off() -> None:
    assert plain("[**SAMD[EAGLE2]**](https://x.org/a)<br>`1`") == "SAMD[EAGLE2] 1"


@pytest.mark.parametrize(
    ("head", "meaning"),
    [
        ("tok/s", "speed"),
        ("avg_tok_s", "speed"),
        ("Decode", "decode_speed"),
        ("tg tok/s", "decode_speed"),
        ("pp tok/s", "prefill_speed"),
        ("生成速度 (tok/s)", "decode_speed"),
        ("Output token throughput (tok/s)", "throughput"),
        ("Request throughput (req/s)", "request_rate"),
        ("スループット", "throughput"),
        ("吞吐量", "throughput"),
        ("Speedup", "speedup"),
        ("加速比", "speedup"),
        ("高速化率", "speedup"),
        ("Acceptance rate (%)", "rate"),
        ("Accept %", "rate"),
        ("draft acceptance", "rate"),
        ("接受率 α", "rate"),
        ("受理率", "rate"),
        ("#Mean Accepted Tokens", "length"),
        ("acceptance_length", "length"),
        ("a.len", "length"),
        ("AL", "length"),
        ("平均接受长度", "length"),
        ("emitted per verify", "length"),
        ("pos_3", "position"),
        ("Per-position acceptance (%) — Pos 2", "position"),
        ("pos accept", "positions"),
        ("n_max", "draft_length"),
        ("γ", "draft_length"),
        ("最大ドラフト長", "draft_length"),
        ("num_speculative_tokens", "draft_length"),
        ("num_draft_tokens", "drafted"),
        ("num_accepted_tokens", "accepted"),
        ("num_drafts", "steps"),
        ("rounds", "steps"),
        ("TPOT (ms)", "tpot"),
        ("Median ITL (ms)", "itl"),
        ("P99 TTFT (ms)", "ignored"),
        ("Expected tokens/step", "ignored"),
        ("TPS Gain", "gain"),
        ("Notes", "ignored"),
        ("Dataset", "workload"),
        ("モデル", "model"),
        ("colour", None),
    ],
)
def test_heads(head: str, meaning: str | None) -> None:
    assert column(head).meaning == meaning


def test_what_is_left_of_a_head_names_the_arm() -> None:
    assert column("Base TPOT(ms)").rest == "Base"
    assert column("Base TPOT(ms)").unit == "ms"
    assert column("tpu_dflash_tps").rest == "tpu dflash"
    assert column("Mean tok/s").rest == ""
    assert column("Mean tok/s").estimator == "mean"


@pytest.mark.parametrize(
    "words", ["baseline", "w/o MTP", "no speculation", "通常デコード", "基线", "AR"]
)
def test_plain_arms(words: str) -> None:
    assert is_plain(words)


@pytest.mark.parametrize("words", ["MTP", "DFlash (k=15)", "target", "baseline DFlash", "fast"])
def test_arms_that_are_not_said_to_be_plain(words: str) -> None:
    assert not is_plain(words)


def test_methods() -> None:
    assert method_of("EAGLE-3") == "eagle3"
    assert method_of("SAMD[EAGLE2]") == "eagle2"
    assert method_of("embedded head") == "mtp"
    assert method_of("fast") is None
