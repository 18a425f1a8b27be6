"""What a claim's relation means, and that no rounding makes a true claim false."""

from __future__ import annotations

import json
import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchlint.checker.claims import (
    ALONE,
    DIFFERENCE,
    PERCENT_LESS,
    PERCENT_MORE,
    RATIO,
    Gap,
    Statement,
    allowed_values,
    likely_slip,
    quantity_of,
    statement_of,
)
from benchlint.checker.document import Digits
from benchlint.checker.facts import ReportFacts
from benchlint.checker.model import Report
from benchlint.checker.numbers import Interval


def facts(tree: dict[str, Any]) -> ReportFacts:
    """The report with every float as it is printed in `tree` (strings of digits)."""
    text = json.dumps({"benchlint": "1", **tree})
    return ReportFacts(Report.model_validate(json.loads(text, parse_float=Digits)))


def speeds(claim: dict[str, Any], **runs: Any) -> ReportFacts:
    """A report of runs with these decode speeds and one claim about them."""
    rows = [{"id": name, "decode": {"tok_s": speed}} for name, speed in runs.items()]
    return facts({"runs": rows, "claims": [{"metric": "decode.tok_s", **claim}]})


def only(report: ReportFacts) -> Statement:
    found = statement_of(report.claims[0])
    assert isinstance(found, Statement), found
    return found


def gap(report: ReportFacts) -> Gap:
    found = statement_of(report.claims[0])
    assert isinstance(found, Gap), found
    return found


def claim(relation: str, value: Any = None, **more: Any) -> dict[str, Any]:
    out = {"of": "a", "to": "b", "relation": relation, **more}
    return out if value is None else {**out, "value": value}


# --- the meaning of each relation ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "value", "a", "b"),
    [
        ("ratio", {"value": 4.5, "approx": True}, 80.87, 17.98),
        ("ratio", 2.0, 58.5, 29.4),
        ("percent_more", 8.1, 84.64, 78.29),
        ("percent_more", 5.6, 38.34, 36.3),
        ("percent_more", -23.0, 52.13, 67.73),
        ("percent_less", 11.2, 19.67, 22.16),
        ("percent_less", -11.2, 19.67, 22.16),
        ("difference", 2.04, 38.34, 36.3),
        ("difference", 15.6, 52.13, 67.73),
        ("equal", None, 58.5, 59.2),
        ("equal", 1, 58.5, 59.2),
        ("equal", 1.0, 58.5, 59.2),
        ("equal", 2.0, 58.5, 59.2),
        ("equal", 0.02, 58.5, 59.2),
        ("greater", None, 80.87, 17.98),
        ("less", None, 52.13, 67.73),
        ("at_least", 2.0, 59.2, 29.4),
        ("at_least", 2.0, 58.5, 29.4),
        ("at_most", 2.1, 59.2, 29.4),
        ("up_to", 4.5, 80.87, 17.98),
    ],
)
def test_true_claims_hold(relation: str, value: Any, a: float, b: float) -> None:
    assert not only(speeds(claim(relation, value), a=a, b=b)).contradicted


@pytest.mark.parametrize(
    ("relation", "value", "a", "b"),
    [
        ("ratio", 5.5, 80.87, 17.98),
        ("ratio", 3.5, 80.87, 17.98),
        ("ratio", 0.22, 80.87, 17.98),
        ("percent_more", 17.0, 50.0, 58.5),
        ("percent_more", 12.0, 84.64, 78.29),
        ("percent_less", 17.0, 50.0, 58.5),
        ("difference", 3.04, 38.34, 36.3),
        ("equal", None, 58.5, 52.8),
        ("equal", 5.0, 58.5, 52.8),
        ("greater", None, 3.92, 4.82),
        ("less", None, 80.87, 17.98),
        ("at_least", 4.7, 80.87, 17.98),
        ("at_most", 4.3, 80.87, 17.98),
        ("up_to", 5.1, 80.87, 17.98),
    ],
)
def test_false_claims_are_contradicted(relation: str, value: Any, a: float, b: float) -> None:
    assert only(speeds(claim(relation, value), a=a, b=b)).contradicted


@pytest.mark.parametrize(
    ("relation", "value", "contradicted"),
    [
        ("equal", 80.9, False),
        ("equal", 82.5, False),
        ("equal", 94.36, True),
        ("greater", 80.0, False),
        ("greater", 81.5, True),
        ("less", 81.5, False),
        ("less", 80.0, True),
        ("at_least", 80.0, False),
        ("at_least", 81.5, True),
        ("at_most", 80.87, False),
        ("at_most", 80.0, True),
        ("up_to", 80.87, False),
        ("up_to", 94.36, True),
    ],
)
def test_without_a_second_run_values_are_absolute(
    relation: str, value: float, contradicted: bool
) -> None:
    report = speeds({"of": "a", "relation": relation, "value": value}, a=80.87)
    assert only(report).contradicted is contradicted


def test_order_needs_more_than_what_rounding_and_ranges_leave_open() -> None:
    about = {"value": 58.5, "approx": True}
    ranged = {"value": 59.2, "range": [58.5, 60.3]}
    for relation in ("greater", "less"):
        assert not only(speeds(claim(relation), a=about, b=ranged)).contradicted
        assert not only(speeds(claim(relation), a=58.5, b=ranged)).contradicted
    assert only(speeds(claim("greater"), a=58.3, b=ranged)).contradicted


def test_a_gain_of_a_time_may_be_meant_of_the_speed() -> None:
    runs = [
        {"id": "a", "decode": {"time_per_output_token_ms": 33.99}},
        {"id": "b", "decode": {"time_per_output_token_ms": 55.47}},
    ]
    path = "decode.time_per_output_token_ms"
    for relation, value in (("ratio", 1.63), ("percent_more", 63.2), ("at_least", 1.6)):
        report = facts({"runs": runs, "claims": [claim(relation, value, metric=path)]})
        assert only(report).holds_as == "inverted"
    report = facts({"runs": runs, "claims": [claim("percent_more", 80.0, metric=path)]})
    assert only(report).contradicted


def test_a_percentage_as_a_share_is_told_from_a_wrong_one() -> None:
    assert only(speeds(claim("percent_more", 0.081), a=84.64, b=78.29)).holds_as == "scaled"
    assert only(speeds(claim("percent_more", 0.05), a=84.64, b=78.29)).contradicted


def test_points_of_a_share() -> None:
    runs = [
        {"id": "a", "speculation": {"acceptance_rate": 0.3867}},
        {"id": "b", "speculation": {"acceptance_rate": 0.3618}},
    ]
    path = "speculation.acceptance_rate"
    for value in (0.0249, 2.49):
        report = facts({"runs": runs, "claims": [claim("difference", value, metric=path)]})
        assert not only(report).contradicted
    report = facts({"runs": runs, "claims": [claim("difference", 5.0, metric=path)]})
    assert only(report).contradicted


def test_samples_leave_room_for_a_mean_of_ratios() -> None:
    spread = {"value": 70.5, "samples": [60.1, 70.5, 80.9]}
    assert only(speeds(claim("ratio", 2.5), a=spread, b=31.0)).holds_as == "spread"
    assert only(speeds(claim("ratio", 2.9), a=spread, b=31.0)).contradicted


def test_a_median_of_ratios_need_not_be_the_ratio_of_medians() -> None:
    value = {"value": 2.22, "estimator": "median"}
    assert only(speeds(claim("ratio", value), a=70.5, b=31.0)).holds_as == "per_run"
    repeated = {"value": 70.5, "repeats": 5}
    assert only(speeds(claim("ratio", 2.22), a=repeated, b=31.0)).holds_as == "per_run"
    assert only(speeds(claim("ratio", 2.22), a=70.5, b=31.0)).contradicted
    assert only(speeds(claim("ratio", 1.5), a=repeated, b=31.0)).contradicted
    pooled = {"value": 70.5, "repeats": 5, "range": [60.5, 80.5], "estimator": "pooled"}
    pooled_base = {"value": 31.0, "estimator": "pooled"}
    assert only(speeds(claim("ratio", 2.5), a=pooled, b=pooled_base)).contradicted


@pytest.mark.parametrize(("tokens", "contradicted"), [(None, True), (128, False), (4096, True)])
def test_a_first_token_counted_in_one_arm_only(tokens: int | None, contradicted: bool) -> None:
    decode = {"tok_s": 100.8, **({} if tokens is None else {"tokens": tokens})}
    runs = [{"id": "a", "decode": decode}, {"id": "b", "decode": {"tok_s": 50.0}}]
    more = claim("percent_more", 100.0, metric="decode.tok_s")
    assert only(facts({"runs": runs, "claims": [more]})).contradicted is contradicted


# --- up_to and best -----------------------------------------------------------------------------


def test_up_to_is_reached_by_any_run_over_the_baseline() -> None:
    reached = speeds(claim("up_to", 4.5), a=60.0, b=17.98, c=80.87)
    assert only(reached).holds_as == "other_run"
    assert only(speeds(claim("up_to", 4.5), a=60.0, b=17.98, c=70.87)).contradicted


def test_up_to_is_not_contradicted_by_more() -> None:
    assert not only(speeds(claim("up_to", 2.0), a=80.87, b=17.98)).contradicted


def test_up_to_needs_no_run() -> None:
    report = speeds({"relation": "up_to", "to": "b", "value": 4.5}, b=17.98, c=80.87)
    assert only(report).subject is report.run("c")
    assert not only(report).contradicted


def test_best_among_those_named() -> None:
    among = {"of": "a", "relation": "best", "among": ["a", "b"]}
    assert not only(speeds(among, a=59.2, b=58.5, c=94.36)).contradicted
    beaten = only(speeds(among, a=58.5, b=59.2))
    assert beaten.contradicted
    assert beaten.rival is not None
    assert beaten.rival.subject.id == "b"
    assert beaten.arithmetic == "58.5 < 59.2"


def test_best_of_a_time_is_the_lowest() -> None:
    runs = [{"id": i, "prefill": {"ttft_ms": t}} for i, t in (("a", 115.42), ("b", 135.34))]
    for of, contradicted in (("a", False), ("b", True)):
        best = {"of": of, "relation": "best", "among": ["a", "b"], "metric": "prefill.ttft_ms"}
        assert only(facts({"runs": runs, "claims": [best]})).contradicted is contradicted


def test_best_of_a_number_without_a_better_direction_is_either_end() -> None:
    path = "decode.inter_token_latency_ms"
    runs = [
        {"id": i, "decode": {"inter_token_latency_ms": t}}
        for i, t in (("a", 8.2), ("b", 22.4), ("c", 159.6))
    ]
    for of, contradicted in (("a", False), ("b", True), ("c", False)):
        best = {"of": of, "relation": "best", "metric": path, "among": ["a", "b", "c"]}
        assert only(facts({"runs": runs, "claims": [best]})).contradicted is contradicted


def test_best_without_among_leaves_out_runs_on_other_workloads() -> None:
    def report(workload: str) -> ReportFacts:
        runs = [
            {"id": "a", "workload": "code", "decode": {"tok_s": 80.87}},
            {"id": "b", "workload": workload, "decode": {"tok_s": 94.36}},
        ]
        best = {"of": "a", "relation": "best", "metric": "decode.tok_s"}
        return facts({"workloads": {"code": {}, "prose": {}}, "runs": runs, "claims": [best]})

    assert only(report("code")).contradicted
    assert not only(report("prose")).contradicted


def test_best_quality_follows_higher_is_better() -> None:
    def report(metric: str, higher: bool | None) -> ReportFacts:
        row = (
            {"metric": metric} if higher is None else {"metric": metric, "higher_is_better": higher}
        )
        quality = [{"id": "a", "value": 5.542, **row}, {"id": "b", "value": 5.6493, **row}]
        return facts(
            {"quality": quality, "claims": [{"of": "a", "relation": "best", "among": ["a", "b"]}]}
        )

    assert not only(report("perplexity", None)).contradicted
    assert only(report("accuracy", None)).contradicted
    assert only(report("perplexity", True)).contradicted
    assert not only(report("some figure", None)).contradicted


# --- claims without data ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_claim", "reason"),
    [
        ({"text": "much faster"}, "has no relation"),
        ({"relation": "ratio", "value": 2, "to": "b"}, "does not name the run"),
        ({"of": "a", "relation": "ratio", "value": 2}, "does not name to what"),
        ({"of": "a", "to": "b", "relation": "ratio"}, "gives no value"),
        ({"of": "a", "relation": "greater"}, "neither a run (to) nor a value"),
        ({"of": "a", "to": "b", "relation": "greater", "metric": None}, "names no metric"),
        ({"of": "a", "to": "b", "relation": "greater", "metric": "decode"}, "no run can have"),
        ({"of": "a", "to": "b", "relation": "greater", "metric": "tok_s"}, "no run can have"),
        ({"of": "a", "to": "b", "relation": "greater", "metric": "step_time_ms"}, "not given"),
        ({"of": "a", "to": "gone", "relation": "greater"}, "withdrawn"),
        ({"of": "gone", "to": "a", "relation": "greater"}, "withdrawn"),
        ({"of": "a", "to": "q", "relation": "greater"}, "a run with a quality row"),
        ({"of": "q", "to": "r", "relation": "greater"}, "'perplexity' with 'accuracy'"),
        ({"of": "q", "to": "empty", "relation": "greater"}, "has no value"),
        ({"relation": "up_to", "value": 3, "metric": "step_time_ms"}, "which no run has"),
    ],
)
def test_what_a_claim_lacks(given_claim: dict[str, Any], reason: str) -> None:
    full = {"metric": "decode.tok_s", **given_claim}
    report = facts(
        {
            "runs": [
                {"id": "a", "decode": {"tok_s": 80.87}},
                {"id": "b", "decode": {"tok_s": 17.98}},
                {"id": "gone", "decode": {"tok_s": 1.0}, "void": "throttled"},
            ],
            "quality": [
                {"id": "q", "metric": "perplexity", "value": 5.5},
                {"id": "r", "metric": "accuracy", "value": 0.7},
                {"id": "empty", "metric": "perplexity"},
            ],
            "claims": [{k: v for k, v in full.items() if v is not None}],
        }
    )
    found = gap(report)
    assert reason in found.reason
    assert not found.said
    assert found.help


@pytest.mark.parametrize(
    ("given_claim", "hint"),
    [
        ({"text": "faster"}, "add 'relation', 'of', 'metric', 'to' or 'value'; relation is one of"),
        ({"of": "a", "metric": "decode.tok_s", "value": 1}, "add 'relation'; relation is one of"),
        ({"of": "q", "to": "q"}, "add 'relation'; relation is one of ratio, percent_more, "),
        ({"of": "a", "relation": "ratio"}, "add 'to', the id of the run"),
        ({"of": "a", "to": "b", "relation": "ratio"}, "add 'value', which is of / to"),
        (
            {"of": "a", "to": "b", "relation": "percent_more"},
            "add 'value', which is (of / to - 1) · 100 %",
        ),
        ({"of": "a", "relation": "at_most"}, "add 'value' in the unit of the metric"),
        (
            {"of": "a", "to": "b", "relation": "less", "metric": "step_time_ms"},
            "give step_time_ms in run 'a', or name a metric that it gives",
        ),
    ],
)
def test_what_to_write_where_a_claim_lacks_something(
    given_claim: dict[str, Any], hint: str
) -> None:
    runs = [{"id": "a", "decode": {"tok_s": 80.87}}, {"id": "b", "decode": {"tok_s": 17.98}}]
    quality = [{"id": "q", "metric": "perplexity", "value": 5.5}]
    assert gap(facts({"runs": runs, "quality": quality, "claims": [given_claim]})).help.startswith(
        hint
    )


def test_names_that_refer_to_nothing_are_said_elsewhere() -> None:
    assert gap(speeds(claim("greater"), a=1.5)).said
    assert gap(speeds({"of": "a", "relation": "best", "among": ["a", "x"]}, a=1.5)).said


def test_a_stated_speedup_needs_no_second_run() -> None:
    runs = [{"id": "a", "speedup": 2.01}]
    for value, contradicted in ((2.0, False), (2.5, True)):
        ratio = {"of": "a", "relation": "ratio", "metric": "speedup", "value": value}
        assert only(facts({"runs": runs, "claims": [ratio]})).contradicted is contradicted


# --- in words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "value", "a", "b", "words"),
    [
        ("percent_more", 14.5, 58.5, 50.0, "taken from the wrong end"),
        ("percent_less", 17.0, 50.0, 58.5, "taken from the wrong end"),
        ("percent_more", 14.5, 50.0, 58.5, "less, not more"),
        ("percent_more", 449.8, 80.87, 17.98, "100 % is the whole"),
        ("percent_less", 85.5, 50.0, 58.5, "what is left"),
        ("ratio", 0.2223, 80.87, 17.98, "wrong way round"),
        ("ratio", 3.498, 80.87, 17.98, "n + 1"),
        ("ratio", 36.8, 47.2, 34.5, "looks like the percentage more; the factor is 1.368"),
        ("ratio", 153, 45.9, 30.0, "looks like a percentage; the factor is 1.53"),
        ("ratio", 7.77, 80.87, 17.98, ""),
    ],
)
def test_likely_slips(relation: str, value: float, a: float, b: float, words: str) -> None:
    found = only(speeds(claim(relation, value), a=a, b=b))
    assert found.contradicted
    assert words in likely_slip(found)
    assert bool(words) == bool(likely_slip(found))


def test_arithmetic_shows_the_digits_as_printed() -> None:
    found = only(speeds(claim("percent_more", 8.1), a=84.64, b=78.29))
    assert found.arithmetic.startswith("(84.64 / 78.29 - 1) · 100 = 8.111 %")


def test_division_by_zero_contradicts_nothing() -> None:
    found = only(speeds(claim("ratio", 4.5), a=80.87, b=0))
    assert not found.contradicted
    assert "division by zero" in found.arithmetic


# --- laws ---------------------------------------------------------------------------------------

sizes = st.floats(0.05, 5000)
digits = st.integers(-2, 6)
roundings = st.sampled_from([ROUND_DOWN, ROUND_HALF_EVEN])


@st.composite
def prints(draw: st.DrawFn) -> Any:
    """A way to print a number: rounded or truncated, to some digits."""
    places, rounding = draw(digits), draw(roundings)

    def printed(value: float) -> int | Digits:
        coarse = 10.0**-places > abs(value)  # nobody prints 20 to the hundred
        kept = max(places, 0) if coarse else places
        cut = Decimal(repr(value)).quantize(Decimal(1).scaleb(-kept), rounding=rounding)
        return int(cut) if kept <= 0 else Digits(f"{cut:f}")

    return printed


TRUTHS = {
    "ratio": lambda x, y: x / y,
    "percent_more": lambda x, y: (x / y - 1) * 100,
    "percent_less": lambda x, y: (1 - x / y) * 100,
    "difference": lambda x, y: x - y,
    "at_least": lambda x, y: x / y,
    "at_most": lambda x, y: x / y,
    "up_to": lambda x, y: x / y,
}


def printed_report(claimed: dict[str, Any], **runs: Any) -> ReportFacts:
    rows = [{"id": name, "decode": {"tok_s": speed}} for name, speed in runs.items()]
    tree = {"benchlint": "1", "runs": rows, "claims": [{"metric": "decode.tok_s", **claimed}]}
    return ReportFacts(Report.model_validate(tree))


@given(st.sampled_from(sorted(TRUTHS)), sizes, sizes, prints(), prints(), prints())
def test_a_true_claim_is_never_contradicted(
    relation: str, x: float, y: float, print_x: Any, print_y: Any, print_value: Any
) -> None:
    value = print_value(TRUTHS[relation](x, y))
    report = printed_report(claim(relation, value), a=print_x(x), b=print_y(y))
    assert not only(report).contradicted


@given(sizes, sizes, prints(), prints())
def test_a_true_order_is_never_contradicted(x: float, y: float, print_x: Any, print_y: Any) -> None:
    assume(x != y)
    relation = "greater" if x > y else "less"
    assert not only(printed_report(claim(relation), a=print_x(x), b=print_y(y))).contradicted


@given(st.lists(sizes, min_size=2, max_size=6), st.data())
def test_the_true_best_is_never_contradicted(values: list[float], data: st.DataObject) -> None:
    best = max(range(len(values)), key=values.__getitem__)
    runs = {f"r{i}": data.draw(prints())(v) for i, v in enumerate(values)}
    claimed = {"of": f"r{best}", "relation": "best", "among": list(runs)}
    assert not only(printed_report(claimed, **runs)).contradicted


@given(sizes, st.floats(1 / 1.05, 1.05), prints(), prints())
def test_equal_is_never_contradicted_within_five_percent(
    x: float, factor: float, print_x: Any, print_y: Any
) -> None:
    report = printed_report(claim("equal"), a=print_x(x), b=print_y(x * factor))
    assert not only(report).contradicted


@given(sizes, sizes)
def test_an_order_is_contradicted_when_turned_round(x: float, y: float) -> None:
    assume(not math.isclose(x, y, rel_tol=1e-3))
    relation = "less" if x > y else "greater"
    a, b = Digits(f"{x:.6f}"), Digits(f"{y:.6f}")
    assert only(printed_report(claim(relation), a=a, b=b)).contradicted


@given(sizes, sizes, st.floats(1.1, 10))
def test_a_ratio_off_by_a_tenth_is_contradicted(x: float, y: float, off: float) -> None:
    assume(x / y > 0.01)
    value = Digits(f"{x / y * off:.6f}")
    a, b = Digits(f"{x:.6f}"), Digits(f"{y:.6f}")
    assert only(printed_report(claim("ratio", value), a=a, b=b)).contradicted


@given(sizes, sizes)
def test_percentages_agree_with_the_ratio(x: float, y: float) -> None:
    ratio = RATIO(x, y).middle
    assert PERCENT_MORE(x, y).middle == pytest.approx((ratio - 1) * 100)
    assert PERCENT_LESS(x, y).middle == pytest.approx(-PERCENT_MORE(x, y).middle)


def test_bounds_are_open_on_one_side() -> None:
    value = Interval(1.9, 2.1)
    assert allowed_values("at_least", value, with_to=True) == Interval(1.9, math.inf)
    assert allowed_values("at_most", value, with_to=True) == Interval(-math.inf, 2.1)
    assert allowed_values("greater", None, with_to=True) == Interval(0.0, math.inf)
    assert quantity_of("at_least", with_to=False) is ALONE
    assert quantity_of("greater", with_to=True) is DIFFERENCE
