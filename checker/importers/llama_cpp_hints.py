"""How llama.cpp's server can be made to say what its output leaves out."""

from __future__ import annotations

_LOG = "give the server's log to `benchlint convert` too"
_LOG4 = "`llama-server -lv 4` logs it; give its log to `benchlint convert` too"

#: What is missing → the flag, command or request that shows it.
SERVER_HINTS = {
    "target": f"`curl http://HOST:PORT/props` names the model file and its type, or {_LOG}",
    "target.parameters_b": _LOG4,
    "machine": "`llama-server -lv 4` logs the devices; give its log to `benchlint convert` too",
    "machine.devices[].power_limit_w": "`nvidia-smi -q -d POWER` shows the limit",
    "engine.version": "`build_info` in `curl http://HOST:PORT/props`, `system_fingerprint` in "
    "replies, `llama-server --version`",
    "engine.command_line": "llama-server does not print the command it was started with: write "
    "it down",
    "configurations.*.drafter": "`speculative` in `curl http://HOST:PORT/slots` says whether one "
    f"runs (/props does not), or {_LOG} (`-lv 4` names the type); a plain run is one of "
    "a server without `--spec-type` and `-md`",
    "configurations.*.draft_length": "`llama-server -lv 4` logs n_max (`--spec-draft-n-max N`), "
    "size_m (`--spec-ngram-*-size-m N`)",
    "configurations.*.draft_selection": "`--spec-draft-backend-sampling` (the default of newer "
    "builds) selects draft tokens on the device, `--no-spec-draft-backend-sampling` on the CPU",
    "configurations.*.sampler": "`curl http://HOST:PORT/props` has the defaults, `/slots` what "
    "the last request had; native replies of /completion have generation_settings",
    "configurations.*.kv_cache": "`llama-server -lv 4` logs the types (`-ctk`, `-ctv`, `-ctkd`, "
    "`-ctvd`)",
    "workloads.*.thinking": "`--reasoning-budget N` and the request's chat_template_kwargs set it",
    "runs[].workload": "llama-server does not know what the prompts were for",
    "runs[].decode": "`timings` in each reply; in streams the last event has them",
    "runs[].prefill": "`timings` in each reply; in streams the last event has them",
    "runs[].speculation.accepted_length": "builds since June 2026 log `mean len` (before: `mean "
    f"acceptance length`) beside `draft acceptance`; {_LOG}",
    "runs[].speculation.per_position": "`llama-server -lv 4` logs `acc per pos`",
    "runs[].speculation": "`draft_n` and `draft_n_accepted` in each reply's `timings`, "
    "spec_decode_* in `/metrics` (`--metrics`); both are left out where nothing was drafted",
    "runs[].conditions.kv_position": "`cache_n` + `prompt_n` in `timings`; `llama-server -lv 4` "
    "logs task.n_tokens",
    "runs[].conditions.concurrency": f"how many requests the client had in flight, or {_LOG}",
    "runs[].conditions.warm": f"{_LOG}: it has the requests before",
    "runs[].conditions.repeats": "how often the client sent each prompt; send "
    '`"cache_prompt": false`, or the second time nothing is prefilled',
    "runs[].memory": "`nvidia-smi` after the cache was filled; llama-server does not count it",
    "runs[].losslessness": "the same prompts with the drafter off and `temperature` 0, compared",
    "quality": "`llama-perplexity -m MODEL -f TEXT`; give its log to `benchlint convert` too",
}

#: The same for who has the log already.
LOG_HINTS = {
    **SERVER_HINTS,
    "target": "`llama-server -lv 4` logs file, type and size; `curl http://HOST:PORT/props` names "
    "the file and its type",
    "target.parameters_b": "`llama-server -lv 4` logs them",
    "machine": "`llama-server -lv 4` logs the devices",
    "engine.version": "`llama-server -lv 4` logs the build; `llama-server --version`",
    "configurations.*.drafter": "`llama-server -lv 4` names the type; a plain run is one of a "
    "server without `--spec-type` and `-md`",
    "configurations.*.sampler": "`llama-server -lv 4` logs what each request had; "
    "`curl http://HOST:PORT/props` has the defaults",
    "runs[].speculation.accepted_length": "builds since June 2026 log it beside `draft acceptance`",
    "runs[].conditions.concurrency": "the lines `processing task` and `stop processing` of a whole "
    "log tell",
    "runs[].conditions.warm": "a log from the start of the server on tells",
}

SERVER_NEVER = (
    "What kind of text the prompts were, and whether the model was thinking.",
    "Power, clocks and memory of the device.",
    "How many passes of a request carried no draft.",
)
