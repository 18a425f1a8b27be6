"""An engine behind an OpenAI-compatible endpoint, whoever serves it.

What it counts comes from the telemetry of the server behind it; without one, tokens come from
`usage` and times from this side's clock. A chunk is not a token: a verify step that accepts
four draft tokens may stream five tokens at once, or one after another without a gap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from benchlint.reproducers.engine import (
    Arm,
    Description,
    Divergence,
    EngineError,
    EngineGoneError,
    Request,
    Sample,
    Sampling,
    UnsupportedError,
)
from benchlint.reproducers.http_client import Event, HttpClient, Json, Limits, StatusError
from benchlint.reproducers.telemetry import Answer, Measured, Telemetry, identify
from benchlint.reproducers.telemetry.base import as_list, as_object, as_text, asked
from benchlint.reproducers.telemetry.prometheus import Metrics, was_reset

_EXTRAS = frozenset({"timings", "metrics", "meta_info", "stats", "sglext"})
_MOST_NAMED = 5


class EndpointEngine:
    """One server, asked over HTTP. Its settings are its own: an arm can only be held to them.

    url: with or without `/v1`. model: needed where several are served. key_variable: names the
    environment variable with the API key. Implements Engine.
    """

    scores_texts = False

    def __init__(
        self,
        url: str,
        model: str | None = None,
        key_variable: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._client = HttpClient(url, key_variable, limits)
        self._wanted = model
        self._model = model or ""
        self._telemetry: Telemetry | None = None
        self._arm = Arm("unset")
        self._seen: Metrics | None = None  # the last snapshot

    @property
    def url(self) -> str:
        """The address, without `/v1`."""
        return self._client.base_url

    def start(self, arm: Arm) -> Description:
        """Find out who answers and what is in effect, by one short request.

        Raises UnsupportedError where the server tells that it is set up otherwise, and
        EngineError where it does not answer as an endpoint does.
        """
        self._model = self._wanted or self._only_model(self._listed_models())
        telemetry = identify(self._client, self._model)
        _hold_to(arm, telemetry)
        self._telemetry, self._arm, self._seen = telemetry, arm, None
        self._try_out()
        return telemetry.describe(asked(arm.sampling))

    def generate(self, request: Request) -> Sample:
        """Stream one answer. Raises EngineError, also where tokens cannot be counted."""
        telemetry = self._telemetry
        if telemetry is None:
            raise EngineError("the engine is not started")
        before = self._snapshot(telemetry)
        path = "/v1/chat/completions" if request.chat else "/v1/completions"
        body = self._body(request, telemetry)
        events = self._client.stream(path, body, most_events=4 * request.max_tokens + 256)
        answer = _Reader(self._client).read(events)
        return _sample(answer, telemetry.measure(answer, before))

    def _snapshot(self, telemetry: Telemetry) -> Metrics | None:
        """The counters before a request. EngineError where the server is not the one it was."""
        seen, self._seen = self._seen, telemetry.snapshot()
        if was_reset(seen, self._seen, telemetry.generated):
            raise EngineError("the server was restarted while it was measured, and is cold again")
        return self._seen

    def perplexity(self, text: str, context_tokens: int) -> tuple[float, ...]:
        """Raises UnsupportedError: the interface does not give a text's likelihood."""
        del text, context_tokens
        raise UnsupportedError("an endpoint does not tell the likelihood of a given text")

    def divergence(self, request: Request, first: Sample, second: Sample) -> Divergence | None:
        """Raises UnsupportedError: the interface does not give the likelihood of given tokens."""
        del request, first, second
        raise UnsupportedError("an endpoint does not tell the likelihood of given tokens")

    def close(self) -> None:
        """Close the connection; the server is not ours to stop."""
        self._client.close()

    def _try_out(self) -> None:
        """One short answer; some servers only chat."""
        try:
            self.generate(Request("Hello", max_tokens=2))
        except StatusError as error:
            if error.status not in (404, 405, 501):
                raise
            self.generate(Request("Hello", max_tokens=2, chat=True))

    def _body(self, request: Request, telemetry: Telemetry) -> dict[str, object]:
        said: dict[str, object] = (
            {"messages": [{"role": "user", "content": request.prompt}]}
            if request.chat
            else {"prompt": request.prompt}
        )
        return {
            "model": self._model,
            **said,
            "max_tokens": request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **_sampler_fields(self._arm.sampling, telemetry),
            **telemetry.fields(request),
        }

    def _only_model(self, names: list[str]) -> str:
        if len(names) == 1:
            return names[0]
        if not names:
            raise EngineError("the endpoint lists no model: name the one that is served")
        shown = ", ".join(self._client.quote(name)[:60] for name in names[:_MOST_NAMED])
        more = "" if len(names) <= _MOST_NAMED else f" and {len(names) - _MOST_NAMED} more"
        raise EngineError(f"the endpoint serves {len(names)} models ({shown}{more}): name one")

    def _listed_models(self) -> list[str]:
        try:
            models = as_object(self._client.get_json("/v1/models"))
        except StatusError as error:
            if error.status == 404:
                raise EngineError(f"{error}: name the model that is served") from None
            raise
        listed = (as_text(as_object(entry).get("id")) for entry in as_list(models.get("data")))
        return [name for name in listed if name]


class _Reader:
    """Puts the chunks of a streamed answer together."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._text: list[str] = []
        self._ids: list[int] = []
        self._chunk_s: list[float] = []
        self._finish: str | None = None
        self._usage: Mapping[str, Json] | None = None
        self._extras: dict[str, Mapping[str, Json]] = {}
        self._thought = False

    def read(self, events: tuple[Event, ...]) -> Answer:
        """The whole answer. Raises EngineGoneError where the stream ended before it did."""
        done = bool(events) and events[-1].data == "[DONE]"
        for event in events[:-1] if done else events:
            self._chunk(event)
        if self._finish in ("abort", "error"):
            raise EngineError(f"the server broke off: its finish reason is {self._finish}")
        if not done and self._finish is None:
            raise EngineGoneError("the server ended the stream before the answer was finished")
        return Answer(
            text="".join(self._text),
            finish_reason=self._finish,
            usage=self._usage,
            extras=self._extras,
            token_ids=tuple(self._ids) or None,
            chunk_s=tuple(self._chunk_s),
            total_s=events[-1].at_s,
            thought=self._thought,
        )

    def _chunk(self, event: Event) -> None:
        chunk = as_object(self._client.parse(event.data, "a streamed chunk"))
        if chunk.get("error") or chunk.get("object") == "error":
            error = chunk.get("error")
            message = as_text((as_object(error) or chunk).get("message")) or str(error)
            raise EngineError(f"the server broke off: {self._client.quote(message)}")
        if usage := as_object(chunk.get("usage")):
            self._usage = usage
        self._keep_extras(chunk)
        for choice in as_list(chunk.get("choices")):
            self._choice(as_object(choice), event.at_s)

    def _choice(self, choice: Mapping[str, Json], at_s: float) -> None:
        self._keep_extras(choice)
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        ids = [i for i in as_list(choice.get("token_ids")) if type(i) is int]
        self._ids += ids
        text = as_text(choice.get("text")) or self._said(as_object(choice.get("delta")))
        if "text" in choice:
            self._thought = True  # a completion's text is whole
        if text or ids:
            self._text.append(text)
            self._chunk_s.append(at_s)

    def _said(self, delta: Mapping[str, Json]) -> str:
        """What a chat's chunk adds: thoughts, words, and calls of tools; all of it is output.

        `reasoning_content` is llama-server's, SGLang's and LM Studio's, `reasoning` vLLM's and,
        for some models, LM Studio's.
        """
        words = as_text(delta.get("content")) or ""
        if len(delta) == 1 and words:
            return words
        thought = as_text(delta.get("reasoning_content")) or as_text(delta.get("reasoning")) or ""
        self._thought = self._thought or bool(thought)
        return thought + words + "".join(map(_call_text, as_list(delta.get("tool_calls"))))

    def _keep_extras(self, source: Mapping[str, Json]) -> None:
        if _EXTRAS.isdisjoint(source):
            return
        for name in _EXTRAS:
            if found := as_object(source.get(name)):
                self._extras[name] = found


def _call_text(call: Json) -> str:
    function = as_object(as_object(call).get("function"))
    return "".join(as_text(function.get(name)) or "" for name in ("name", "arguments"))


def _sample(answer: Answer, measured: Measured) -> Sample:
    if measured.output_tokens is None:
        raise EngineError("the server sent no usage: its tokens cannot be counted")
    if not measured.output_tokens and answer.text:
        raise EngineError("the server says that no token made its text: they cannot be counted")
    ttft_s, decode_s = _client_times(answer)
    ids = answer.token_ids
    return Sample(
        text=answer.text,
        output_tokens=measured.output_tokens,
        prompt_tokens=measured.prompt_tokens,
        cached_tokens=measured.cached_tokens,
        prefill_s=measured.prefill_s,
        decode_s=decode_s if measured.decode_s is None else measured.decode_s,
        ttft_s=ttft_s,
        total_s=answer.total_s,
        chunk_s=answer.chunk_s,
        token_ids=ids if ids and len(ids) == measured.output_tokens else None,
        finish_reason=answer.finish_reason,
        counters=measured.counters,
        timed_by="client" if measured.decode_s is None else "engine",
    )


def _client_times(answer: Answer) -> tuple[float | None, float | None]:
    """Time to the first token, and from it to the last, in seconds, by this side's clock."""
    chunks = answer.chunk_s
    if not chunks or answer.hides_tokens():
        return None, None
    return chunks[0], chunks[-1] - chunks[0] if len(chunks) > 1 else None


def _hold_to(arm: Arm, telemetry: Telemetry) -> None:
    """Raises UnsupportedError where the server tells that it is not set up for the arm."""
    told = telemetry.speculation()
    if told.on and arm.method is None:
        raise UnsupportedError("this endpoint speculates: give another one for plain decoding")
    if told.on is False and arm.method is not None:
        raise UnsupportedError(f"this endpoint does not speculate, and {arm.method} is asked for")
    length = told.draft_length
    if arm.method and arm.draft_length and length and length != arm.draft_length:
        raise UnsupportedError(f"this endpoint drafts {length} tokens, not {arm.draft_length}")
    _sampler_fields(arm.sampling, telemetry)


def _sampler_fields(sampling: Sampling, telemetry: Telemetry) -> dict[str, object]:
    """The sampler parameters by the server's names.

    Greedy decoding needs none but the temperature. A parameter that the server does not know
    it would ignore in silence: UnsupportedError, unless it asks for nothing.
    """
    if sampling.temperature == 0:
        sampling = replace(sampling, top_p=None, top_k=None, min_p=None)
    fields: dict[str, object] = {}
    for name, value in asked(sampling).items():
        if name in telemetry.sampler_names:
            fields[telemetry.sampler_names[name]] = value
        elif not _neutral(name, value):
            raise UnsupportedError(f"this endpoint is not known to heed {name}")
    return fields


def _neutral(name: str, value: object) -> bool:
    """Whether a parameter has no effect at this value."""
    neutral = {"top_k": (0, -1), "min_p": (0,), "repetition_penalty": (1,), "top_p": (1,)}
    return isinstance(value, int | float) and value in neutral.get(name, (math.nan,))
