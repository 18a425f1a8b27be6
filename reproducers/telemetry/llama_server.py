"""llama.cpp's llama-server: `timings` in each answer, `/metrics`, `/props` and `/slots`.

Source: tools/server/server-context.cpp and server-task.cpp of llama.cpp 0c1e57098.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from benchlint.reproducers.engine import Counters, Description, Request
from benchlint.reproducers.http_client import HttpClient, Json, StatusError
from benchlint.reproducers.telemetry.base import (
    PROBE_S,
    SAMPLER_NAMES,
    Answer,
    Measured,
    Parameter,
    Setting,
    SharedServerError,
    Speculation,
    as_list,
    as_object,
    as_text,
    check_counters,
    count,
    only_ours,
    probe,
    prompt_counts,
    seconds,
    shown_metrics,
)
from benchlint.reproducers.telemetry.prometheus import Metrics, delta, position_deltas

_SAMPLER_NAMES = {**SAMPLER_NAMES, "repetition_penalty": "repeat_penalty"}
_RANDOM_SEED = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED
_DRAFTED = "llamacpp:spec_decode_num_draft_tokens_total"
_ACCEPTED = "llamacpp:spec_decode_num_accepted_tokens_total"
_DRAFTS = "llamacpp:spec_decode_num_drafts_total"
_POSITIONS = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
_PREDICTED = "llamacpp:tokens_predicted_total"
_BUSY = ("llamacpp:requests_processing", "llamacpp:requests_deferred")


def identify(client: HttpClient, model: str) -> LlamaServer | None:
    """llama-server, if `/props` answers as only it does."""
    props = probe(client, "/props")
    return LlamaServer(client, model, props) if "default_generation_settings" in props else None


class LlamaServer:
    """The counters of one llama-server."""

    name = "llama-server"
    sampler_names: Mapping[str, str] = _SAMPLER_NAMES
    generated = _PREDICTED

    def __init__(self, client: HttpClient, model: str, props: Mapping[str, Json]) -> None:
        self._client = client
        self._model = model
        self._props = props

    def describe(self, sent: Mapping[str, Parameter]) -> Description:
        """What `/props` says, and `/slots` of the request that was answered last.

        `/props` says speculation is off even when it is on, and knows no request's parameters.
        """
        settings = as_object(self._props.get("default_generation_settings"))
        slot = self._slot()
        used = as_object(slot.get("params"))
        sampler = _sampler(as_object(settings.get("params")) or settings)
        sampler.update(_sampler(used) if used else sent)
        version, commit = _build(as_text(self._props.get("build_info")))
        context = count(settings, "n_ctx")
        return Description(
            engine="llama.cpp",
            version=version,
            commit=commit,
            sampler=sampler,
            speculation=_speculation(slot),
            target=self._target(),
            context_tokens=context if context is not None else count(slot, "n_ctx"),
            telemetry=self.name,
        )

    def speculation(self) -> Speculation:
        """On or off, as `/slots` says; K is nowhere shown."""
        on = self._slot().get("speculative")
        return Speculation(on if isinstance(on, bool) else None)

    def fields(self, request: Request) -> Mapping[str, object]:
        """No prompt cache: a cached prompt would leave nothing to prefill."""
        return {"cache_prompt": False, "ignore_eos": request.ignore_eos}

    def snapshot(self) -> Metrics | None:
        """`/metrics`, None where the server was started without it (501)."""
        return shown_metrics(self._client)

    def measure(self, answer: Answer, before: Metrics | None) -> Measured:
        """Counts and times of `timings`; steps and positions of `/metrics`.

        `draft_n` is left out when nothing was drafted. `draft_n_accepted` excludes the target's own
        token, for which an accepted end token stands unless it is its draft's last
        (common_sampler_sample_and_accept_n), and is counted before a full context cuts the answer.
        """
        timings = answer.extras.get("timings")
        if timings is None:
            return Measured(None, *prompt_counts(answer.usage))
        output = count(timings, "predicted_n")
        drafted = count(timings, "draft_n") or 0
        accepted = count(timings, "draft_n_accepted") or 0
        counters = self._steps(answer, before, output, (drafted, accepted))
        return Measured(
            output_tokens=output,
            prompt_tokens=count(timings, "prompt_n"),
            cached_tokens=count(timings, "cache_n"),
            prefill_s=seconds(timings, "prompt_ms", 1000),
            decode_s=seconds(timings, "predicted_ms", 1000),
            counters=check_counters(counters, output),
        )

    def _steps(
        self, answer: Answer, before: Metrics | None, output: int | None, own: tuple[int, int]
    ) -> Counters:
        drafted, accepted = own
        after = self.snapshot() if before is not None else None
        _nobody_else(before, after)
        only_ours(before, after, {_PREDICTED: output, _DRAFTED: drafted, _ACCEPTED: accepted})
        if not drafted:
            plain = max(output - 1, 0) if output is not None else None
            return Counters(0, 0, 0, plain, ())
        steps = delta(before, after, _DRAFTS)
        positions = before and after and position_deltas(before, after, _POSITIONS)
        plain = None
        if steps is not None and output is not None and answer.finish_reason == "length":
            # Each target pass gives one token besides the accepted ones; a stop would cut some.
            plain = max(output - 1 - accepted - steps, 0)
        return Counters(drafted, accepted, steps, plain, positions or None)

    def _slot(self) -> Mapping[str, Json]:
        """The slot that worked last, empty where slots are not shown."""
        with suppress(StatusError):
            slots = [as_object(slot) for slot in as_list(self._client.get_json("/slots", PROBE_S))]
            return max(slots, key=lambda slot: count(slot, "id_task") or 0, default={})
        return {}

    def _target(self) -> Mapping[str, Setting]:
        models = probe(self._client, "/v1/models")
        listed = [as_object(model) for model in as_list(models.get("data"))]
        meta = next((as_object(m.get("meta")) for m in listed if m.get("id") == self._model), {})
        path = as_text(self._props.get("model_path")) or self._model
        target: dict[str, Setting] = {"name": path.replace("\\", "/").rsplit("/", 1)[-1]}
        if quantization := as_text(self._props.get("model_ftype")) or as_text(meta.get("ftype")):
            target["quantization"] = quantization
        target["size_bytes"] = count(meta, "size")
        target["parameters"] = count(meta, "n_params")
        return target


def _sampler(params: Mapping[str, Json]) -> dict[str, Parameter]:
    """Sampler parameters by the report format's names, out of llama-server's single floats."""
    found: dict[str, Parameter] = {}
    for ours, theirs in _SAMPLER_NAMES.items():
        value = params.get(theirs)
        if isinstance(value, float):
            found[ours] = float(f"{value:.7g}")
        elif isinstance(value, int) and not isinstance(value, bool):
            found[ours] = None if ours == "seed" and value == _RANDOM_SEED else value
    return found


def _speculation(slot: Mapping[str, Json]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    on = slot.get("speculative")
    if isinstance(on, bool):
        found["speculative"] = "on" if on else "off"
    for name, value in as_object(slot.get("params")).items():
        if name.startswith("speculative.") and isinstance(value, str | int | float):
            found[name] = value
    return found


def _build(info: str | None) -> tuple[str | None, str | None]:
    """Version and commit of "b1234-0c1e570"; "b0-unknown" is neither.

    The number is that of commits before it: sources that came without them count themselves 1.
    """
    build, _, commit = (info or "").partition("-")
    return (build if build not in ("", "b0", "b1") else None), (
        commit if commit not in ("", "unknown") else None
    )


def _nobody_else(before: Metrics | None, after: Metrics | None) -> None:
    """Raises SharedServerError if a request of another's still runs; it counts at its end."""
    for metrics in filter(None, (before, after)):
        if waiting := sum(metrics.total(name) or 0.0 for name in _BUSY):
            raise SharedServerError(f"others use this server: it has {waiting:g} more at work")
