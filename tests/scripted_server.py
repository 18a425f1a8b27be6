"""A llama-server that answers at speeds that are known, or badly where a script says so.

It shows what a real one shows (`/props`, `/slots`, `/metrics`, `timings`), and its counters move
by what it answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Loopback, Reply, Route, body, serving, streamed

#: Draft tokens of a verify step, and those of them that are accepted.
DRAFTED, ACCEPTED = 4, 2

_COUNTERS = {
    "tokens_predicted_total": "output",
    "spec_decode_num_draft_tokens_total": "drafted",
    "spec_decode_num_accepted_tokens_total": "accepted",
    "spec_decode_num_drafts_total": "steps",
}


@dataclass
class Scripted:
    """What a server does.

    speculates: whether it drafts. says: what `/slots` says of that; None for the truth.
    tok_s: decode speed. script: what the nth completion (from 0; the first one is the engine's
    own, to see who answers) gets instead of its answer. before: called with that number as each
    completion begins. cached_from, others_from: the completion from which on tokens of prompts
    come from a cache, and somebody else's tokens are counted. counters_lost_at: the completion
    before which the server was started again.
    """

    speculates: bool = False
    says: bool | None = None
    tok_s: float = 50.0
    script: Mapping[int, Reply] = field(default_factory=dict)
    before: Callable[[int], None] = lambda _: None
    cached_from: int | None = None
    others_from: int | None = None
    counters_lost_at: int | None = None
    prompts: list[str] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)

    def routes(self) -> dict[str, Route]:
        """All that it answers."""
        return {
            "/props": body(_props()),
            "/slots": lambda _: body([self._slot()]),
            "/metrics": lambda _: body(self._metrics()),
            "/v1/models": body({"data": [{"id": "m", "meta": {"n_params": 7_000_000_000}}]}),
            "/v1/completions": self._complete,
            "/v1/chat/completions": self._complete,
        }

    def _slot(self) -> dict[str, Any]:
        says = self.speculates if self.says is None else self.says
        return {"id_task": 1, "speculative": says, "n_ctx": 4096}

    def _metrics(self) -> str:
        lines = (f"llamacpp:{n} {self.totals.get(k, 0)}" for n, k in _COUNTERS.items())
        return "".join(f"{line}\n" for line in lines)

    def _complete(self, sent: Any) -> Reply:
        number = len(self.prompts)
        self.prompts.append(sent["prompt"] if "prompt" in sent else sent["messages"][0]["content"])
        self.before(number)
        if number in self.script:
            return self.script[number]
        if number == self.counters_lost_at:
            self.totals.clear()
        return self._answer(sent["max_tokens"], number, chat="messages" in sent)

    def _answer(self, tokens: int, number: int, *, chat: bool) -> Reply:
        made = {"output": tokens, "steps": 0, "drafted": 0, "accepted": 0}
        if self.speculates:
            steps = -(-(tokens - 1) // (1 + ACCEPTED))
            accepted = tokens - 1 - steps
            made |= {"steps": steps, "drafted": DRAFTED * steps, "accepted": accepted}
        for name, count in made.items():
            self.totals[name] = self.totals.get(name, 0) + count
        if self.others_from is not None and number >= self.others_from:
            self.totals["output"] += 5
        cached = 3 if self.cached_from is not None and number >= self.cached_from else 0
        return streamed(stream(tokens, self.tok_s, made, cached, chat=chat))


def stream(tokens: int, tok_s: float, made: Mapping[str, int], cached: int, *, chat: bool) -> str:
    """The events of one answer."""
    timings = {
        "cache_n": cached,
        "prompt_n": 8,
        "prompt_ms": 20.0,
        "predicted_n": tokens,
        "predicted_ms": 1000 * (tokens - 1) / tok_s,
    }
    if made["drafted"]:
        timings |= {"draft_n": made["drafted"], "draft_n_accepted": made["accepted"]}
    usage = {"prompt_tokens": 8, "completion_tokens": tokens}
    events: list[object] = [
        {"choices": [{**_said("word ", chat=chat), "finish_reason": None}]},
        {"choices": [{**_said("end", chat=chat), "finish_reason": "length"}]},
        {"choices": [], "usage": usage, "timings": timings},
    ]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"


def _said(text: str, *, chat: bool) -> dict[str, Any]:
    return {"delta": {"content": text}} if chat else {"text": text}


def _props() -> dict[str, Any]:
    return {
        "default_generation_settings": {"params": {"temperature": 0.8}, "n_ctx": 4096},
        "model_path": "/srv/models/target.gguf",
        "model_ftype": "Q8_0",
        "build_info": "b1234-0c1e570",
    }


@contextmanager
def running(scripted: Scripted, **routes: Route) -> Iterator[Loopback]:
    """The server at work. routes: paths that answer otherwise, `v1_models` for /v1/models."""
    others = {f"/{name.replace('_', '/')}": route for name, route in routes.items()}
    with serving({**scripted.routes(), **others}) as server:
        yield server


#: Every condition that a user can vouch for, so that a lie can be refuted.
SAME = (
    *("weights", "quantization", "drafter", "draft length", "p_min", "sampler"),
    *("chat template", "thinking mode", "prompts", "KV cache types", "device", "engine"),
)


def report(**numbers: str) -> str:
    """A report of such servers: a plain and a fast run, and a claim that compares them.

    numbers: what is printed otherwise than it is.
    """
    printed = {"plain": "50.0", "fast": "100", "length": "3.0", "times": "2.0"} | numbers
    return _REPORT % printed


_REPORT = """\
{
  "benchlint": "1",
  "title": "A scripted pair",
  "engine": {"name": "llama.cpp", "version": "b1234"},
  "target": {"name": "target", "quantization": {"recipe": "Q8_0"}},
  "configurations": {
    "plain": {"drafter": null, "sampler": {"temperature": 0}},
    "fast": {
      "based_on": "plain",
      "drafter": {"method": "draft_model", "model": "draft"},
      "draft_length": {"max": 4, "p_min": 0}
    }
  },
  "workloads": {
    "two": {
      "prompts": {"inline": ["Say one thing.", "Say another thing."]},
      "chat_template": "none",
      "output_tokens": 31
    }
  },
  "runs": [
    {
      "id": "p", "configuration": "plain", "workload": "two",
      "conditions": {"concurrency": 1}, "decode": {"tok_s": %(plain)s}
    },
    {
      "id": "f", "configuration": "fast", "workload": "two",
      "conditions": {"concurrency": 1}, "decode": {"tok_s": %(fast)s},
      "speculation": {"accepted_length": {"value": %(length)s, "counts_bonus_token": true}}
    }
  ],
  "claims": [
    {"metric": "decode.tok_s", "of": "f", "relation": "ratio", "to": "p", "value": %(times)s}
  ]
}
"""
