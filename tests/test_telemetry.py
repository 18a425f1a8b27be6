"""Who answers, and what its counters say of one request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlint.reproducers.engine import Counters, EngineError, EngineGoneError, Request, Sampling
from benchlint.reproducers.http_client import HttpClient, Json
from benchlint.reproducers.telemetry import Answer, SharedServerError, identify
from benchlint.reproducers.telemetry.base import (
    asked,
    check_counters,
    count,
    histogram_at_least,
    prompt_counts,
    seconds,
)
from benchlint.reproducers.telemetry.prometheus import (
    Metrics,
    delta,
    position_deltas,
    read_metrics,
    was_reset,
)
from benchlint.reproducers.telemetry.sglang import Sglang
from benchlint.reproducers.telemetry.vllm import Vllm
from tests.loopback import Loopback, Reply, body, recorded, serving

SGLANG_INFO = {
    "version": "0.5.23",
    "model_path": "org/target",
    "context_length": 8192,
    "mem_fraction_static": 0.8,
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "speculative_draft_model_path": "org/drafter",
}
LM_STUDIO_MODELS = {
    "data": [
        {
            "id": "m",
            "state": "loaded",
            "compatibility_type": "gguf",
            "quantization": "Q4_K_M",
            "loaded_context_length": 4096,
        },
        {"id": "other", "state": "not-loaded"},
    ]
}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving({}) as loopback:
        yield loopback


@pytest.fixture
def client(server: Loopback) -> Iterator[HttpClient]:
    with HttpClient(server.url) as opened:
        yield opened


def answer(usage: Mapping[str, Json] | None = None, **extras: Mapping[str, Json]) -> Answer:
    return Answer("text", "length", usage, extras, None, (0.1, 0.2), 0.2)


def test_nobody_is_known(client: HttpClient) -> None:
    telemetry = identify(client, "m")
    assert telemetry.name == "none"
    assert telemetry.snapshot() is None
    assert telemetry.measure(answer(), None).output_tokens is None


@pytest.mark.parametrize("text", ["", "[]", "null", '"hello"', "<html>", '{"version": 3}', "{}"])
def test_a_page_for_every_path_is_nobody_known(
    text: str, server: Loopback, client: HttpClient
) -> None:
    paths = ("/props", "/version", "/server_info", "/get_server_info", "/api/v0/models")
    server.routes.update({path: body(text) for path in paths})
    assert identify(client, "m").name == "none"


@pytest.mark.parametrize(
    "reply",
    [
        Reply([b"x" * (1 << 20)] * 17),
        Reply([b"\x1f\x8b"], headers={"content-encoding": "gzip"}),
        Reply(status=302, headers={"location": "/login"}),
        Reply([b"x"], kind="text/event-stream"),
        body({"error": "Unexpected endpoint or method."}),
        body("", 500),
    ],
)
def test_any_answer_at_a_path_that_a_server_lacks_is_nobody_known(
    reply: Reply, server: Loopback, client: HttpClient
) -> None:
    paths = ("/props", "/version", "/server_info", "/get_server_info", "/api/v0/models")
    server.routes.update(dict.fromkeys(paths, reply))
    assert identify(client, "m").name == "none"


def test_a_version_alone_is_not_vllm(server: Loopback, client: HttpClient) -> None:
    server.routes["/version"] = body({"version": "1.0"})
    assert identify(client, "m").name == "none"
    server.routes["/metrics"] = body(recorded("vllm-nospec-metrics-before.txt"))
    assert identify(client, "m").name == "vllm"


def test_who_does_not_answer_is_gone() -> None:
    with serving({}) as server:
        client = HttpClient(server.url)
    with client, pytest.raises(EngineGoneError):
        identify(client, "m")


def test_sglang_by_its_arguments(server: Loopback, client: HttpClient) -> None:
    server.routes["/get_server_info"] = body(SGLANG_INFO)
    telemetry = identify(client, "m")
    description = telemetry.describe({"temperature": 0.0})
    assert (description.engine, description.version) == ("sglang", "0.5.23")
    assert description.drafter == {"name": "org/drafter"}
    assert description.speculation["speculative_num_draft_tokens"] == 4
    assert telemetry.speculation().on is True
    assert telemetry.speculation().draft_length == 3, "its draft tokens hold the root"
    assert telemetry.fields(Request("p", 4))["return_spec_tokens_details"] is True


def test_sglang_without_speculation(client: HttpClient) -> None:
    telemetry = Sglang(client, "m", {"speculative_algorithm": None, "mem_fraction_static": 0.8})
    assert telemetry.speculation().on is False
    measured = telemetry.measure(answer({"completion_tokens": 5, "prompt_tokens": 3}), None)
    assert measured.counters == Counters(0, 0, 0)


@pytest.mark.parametrize(
    "meta",
    [
        {"spec_num_correct_drafts": 28, "spec_num_proposed_drafts": 60},
        {"spec_accepted_drafts": 28, "spec_proposed_drafts": 60},
    ],
)
def test_sglangs_counts_by_either_name(meta: dict[str, Json], client: HttpClient) -> None:
    meta |= {
        "spec_verify_ct": 20,
        "spec_correct_drafts_histogram": [5, 6, 5, 4],
        "cached_tokens": 2,
    }
    usage: dict[str, Json] = {"completion_tokens": 49, "prompt_tokens": 10}
    extension: dict[str, Json] = {
        "spec_tokens_details": meta,
        "cached_tokens_details": {"device": 2, "host": 0},
    }
    for told in (answer(usage, meta_info=meta), answer(usage, sglext=extension)):
        measured = Sglang(client, "m", dict(SGLANG_INFO)).measure(told, None)
        assert measured.counters == Counters(60, 28, 20, None, (15, 9, 4))
        assert measured.output_tokens == 49
        assert (measured.prompt_tokens, measured.cached_tokens) == (8, 2)


def test_sglang_that_tells_nothing_of_a_request(server: Loopback, client: HttpClient) -> None:
    sglang = Sglang(client, "m", dict(SGLANG_INFO))
    told = answer({"completion_tokens": 49})
    assert sglang.measure(told, None).counters == Counters()
    generated = 'sglang:generation_tokens_total{model_name="m"} '
    before = read_metrics(f"{generated}100\nsglang:spec_verify_calls_total 7\n")
    server.routes["/metrics"] = body(f"{generated}149\nsglang:spec_verify_calls_total 27\n")
    assert sglang.measure(told, before).counters == Counters(verify_steps=20)
    server.routes["/metrics"] = body(f"{generated}150\n")
    with pytest.raises(SharedServerError, match="rose by 50 where this request took 49"):
        sglang.measure(told, before)


def test_sglang_tells_of_its_cache_in_metrics(server: Loopback, client: HttpClient) -> None:
    sglang = Sglang(client, "m", dict(SGLANG_INFO))
    told = answer({"completion_tokens": 49, "prompt_tokens": 30})
    generated = 'sglang:generation_tokens_total{model_name="m"} '
    hits = 'sglang:cached_tokens_total{model_name="m",cache_source='
    before = read_metrics(f"{generated}100\n")
    server.routes["/metrics"] = body(f"{generated}149\n")
    measured = sglang.measure(told, before)
    assert (measured.prompt_tokens, measured.cached_tokens) == (30, 0), "not shown before a hit"
    server.routes["/metrics"] = body(f'{generated}149\n{hits}"device"}} 5\n{hits}"host"}} 2\n')
    measured = sglang.measure(told, before)
    assert (measured.prompt_tokens, measured.cached_tokens) == (23, 7)


def test_sglangs_drafts_by_openais_names(client: HttpClient) -> None:
    details: dict[str, Json] = {"accepted_prediction_tokens": 28, "rejected_prediction_tokens": 32}
    told = answer({"completion_tokens": 49, "completion_tokens_details": details})
    measured = Sglang(client, "m", dict(SGLANG_INFO)).measure(told, None)
    assert measured.counters == Counters(60, 28)


def test_lm_studio(server: Loopback, client: HttpClient) -> None:
    server.routes["/api/v0/models"] = body(LM_STUDIO_MODELS)
    telemetry = identify(client, "m")
    description = telemetry.describe({})
    assert description.engine == "lm-studio"
    assert description.backend == "gguf"
    assert description.target == {"name": "m", "quantization": "Q4_K_M"}
    assert description.context_tokens == 4096
    counts: dict[str, Json] = {"total_draft_tokens_count": 492, "accepted_draft_tokens_count": 176}
    usage: dict[str, Json] = {"prompt_tokens": 66, "completion_tokens": 300}
    for told in (answer(usage, stats=counts), answer(usage | counts)):
        assert telemetry.measure(told, None).counters == Counters(492, 176)
    assert telemetry.measure(answer(usage), None).counters == Counters()


def vllm_between(name: str, server: Loopback, client: HttpClient) -> tuple[Vllm, Metrics]:
    """vLLM after the ten requests of a recorded run, and its metrics from before them."""
    server.routes["/metrics"] = body(recorded(f"{name}-metrics-after.txt"))
    return Vllm(client, "tiny", "0.32.0"), read_metrics(recorded(f"{name}-metrics-before.txt"))


TEN: Mapping[str, Json] = {"completion_tokens": 800, "prompt_tokens": 515}


def test_vllms_rise_with_a_draft_model(server: Loopback, client: HttpClient) -> None:
    vllm, before = vllm_between("vllm-draft", server, client)
    assert (vllm.speculation().on, vllm.speculation().draft_length) == (True, 4)
    measured = vllm.measure(answer(TEN), before)
    assert measured.counters == Counters(1348, 457, 337, 0, (213, 136, 65, 43))
    assert measured.decode_s is None, "ten requests' sum is no one's time"


def test_vllms_steps_without_a_draft_are_found(server: Loopback, client: HttpClient) -> None:
    vllm, before = vllm_between("vllm-ngram", server, client)
    counters = vllm.measure(answer(TEN), before).counters
    assert (counters.verify_steps, counters.plain_steps) == (148, 615 - 148)
    # Its own mean, 1 + 179/148 = 2.21, leaves those steps out; 790 tokens in 615 is 1.28.
    assert counters.accepted == 179


def test_vllm_without_speculation_drafts_nothing(server: Loopback, client: HttpClient) -> None:
    vllm, before = vllm_between("vllm-nospec", server, client)
    assert vllm.speculation().on is False
    assert vllm.measure(answer(TEN), before).counters == Counters(0, 0, 0, 790, None)


def test_vllm_used_by_others(server: Loopback, client: HttpClient) -> None:
    vllm, before = vllm_between("vllm-draft", server, client)
    with pytest.raises(SharedServerError, match="rose by 800 where this request took 799"):
        vllm.measure(answer({**TEN, "completion_tokens": 799}), before)


def test_vllms_metrics_may_come_a_moment_late(server: Loopback, client: HttpClient) -> None:
    early = recorded("vllm-draft-metrics-before.txt")
    texts = iter([early, early])
    late = recorded("vllm-draft-metrics-after.txt")
    server.routes["/metrics"] = lambda _: body(next(texts, late))
    measured = Vllm(client, "tiny", "0.32.0").measure(answer(TEN), read_metrics(early))
    assert measured.counters.drafted == 1348
    assert len(server.requests) == 3


def test_vllm_that_tells_nothing() -> None:
    with serving({}) as server, HttpClient(server.url) as client:
        vllm = Vllm(client, "m", "0.8.0")
        assert vllm.speculation().on is None
        assert vllm.measure(answer({"completion_tokens": 5}), None).counters == Counters()


def test_metrics_are_read() -> None:
    text = (
        "# HELP a:b Something\n# TYPE a:b counter\n"
        'a:b{engine="0",model="x \\"y\\" {z}"} 1.5\na:b{engine="1"} 2\n'
        "plain 3 1700000000\nnan NaN\nbroken{ 4\n\nno_value\n 7\n"
        'pos{position="1"} 4\npos{position="0"} 5\npos{position="x"} 9\n'
    )
    metrics = read_metrics(text)
    assert metrics.total("a:b") == 3.5
    assert metrics.total("plain") == 3
    assert metrics.total("nan") is None
    assert metrics.by_position("pos") == (5, 4)
    assert metrics.by_position("plain") == ()
    assert metrics.series["a:b"][0].labels == {"engine": "0", "model": 'x \\"y\\" {z}'}


@given(st.text())
def test_no_text_breaks_the_reading_of_metrics(text: str) -> None:
    for name, series in read_metrics(text).series.items():
        assert name
        assert all(isinstance(entry.value, float) for entry in series)


def test_a_counter_that_fell_tells_nothing() -> None:
    low, high = read_metrics("a 3\n"), read_metrics("a 5\nb 2\n")
    assert delta(low, high, "a") == 2
    assert delta(high, low, "a") is None
    assert delta(low, high, "b") == 2, "it was not there before anything was counted"
    assert delta(low, high, "c") is None
    assert delta(None, high, "a") is None
    first = read_metrics('p{position="0"} 5\n')
    assert position_deltas(first, read_metrics('p{position="0"} 4\n'), "p") is None
    assert was_reset(high, low, "a")
    assert was_reset(high, low, "b"), "it is shown no more"
    assert not was_reset(low, high, "a")
    assert not was_reset(None, high, "a")
    assert not was_reset(low, high, "")
    both = read_metrics('p{position="0"} 7\np{position="1"} 1\n')
    assert position_deltas(first, both, "p") == (2, 1)


@pytest.mark.parametrize("value", [-1, 1.5, True, "3", [], float("nan"), float("inf")])
def test_what_is_no_count_is_refused(value: Json) -> None:
    with pytest.raises(EngineError, match=r"the server says n is .*, which is no count"):
        count({"n": value}, "n")


def test_counts_and_times() -> None:
    assert count({"n": 3.0}, "n") == 3
    assert count({"n": None}, "n") is None
    assert seconds({"ms": 1500}, "ms", 1000) == 1.5
    assert seconds({}, "ms") is None
    with pytest.raises(EngineError, match="no time"):
        seconds({"ms": float("inf")}, "ms")
    assert prompt_counts({"prompt_tokens": 9}) == (9, None)
    assert prompt_counts({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}) == (
        5,
        4,
    )
    with pytest.raises(EngineError, match="9 of 4 prompt tokens were cached"):
        prompt_counts({"prompt_tokens": 4, "prompt_tokens_details": {"cached_tokens": 9}})


@given(st.lists(st.integers(0, 50), min_size=1, max_size=17))
def test_a_histogram_adds_up_to_what_was_accepted(histogram: list[int]) -> None:
    at_least = histogram_at_least([*histogram])
    assert at_least is not None
    assert sum(at_least) == sum(i * n for i, n in enumerate(histogram))
    assert list(at_least) == sorted(at_least, reverse=True)


@pytest.mark.parametrize(
    ("counters", "says"),
    [
        (Counters(drafted=3, accepted=4), "4 of 3 draft tokens"),
        (Counters(drafted=3, accepted=1, verify_steps=4), "4 steps verified 3 draft tokens"),
        (Counters(drafted=90, accepted=1, verify_steps=11), "11 verify steps made 10 tokens"),
    ],
)
def test_counters_that_cannot_be_are_refused(counters: Counters, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        check_counters(counters, 10)


def test_only_what_is_asked_for_is_asked() -> None:
    assert asked(Sampling()) == {}
    assert asked(Sampling(temperature=0.0, seed=7)) == {"temperature": 0.0, "seed": 7}
