"""The report format, version 1, as pydantic models.

The models give shape and types and nothing else: bounds are rules, which can explain. Units
are in the field names, shares are fractions of 1, unknown is absent. The published JSON Schema
is generated from these classes. Every object may carry `extensions`, which is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

#: Tags of unions start with this, so that they can be told from members in error locations.
TAG = "\0"

_N = TypeVar("_N", int, float)


#: No quantity is larger, or smaller and not 0. Products and quotients of a few such numbers
#: still fit a double, so that no rule has to think of overflow or of a ratio that becomes 0.
_LARGEST = 1e60
_SMALLEST = 1e-60


def _number(value: object) -> object:
    """Keep the number object as it is: it remembers its digits."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if _SMALLEST <= value <= _LARGEST else _of_size(value)
    raise PydanticCustomError("number_type", "should be a number")


def _integer(value: object) -> int:
    """As JSON Schema has it, 4.0 is an integer."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= _LARGEST else _of_size(value)
    if isinstance(value, float) and value.is_integer():
        return int(_of_size(value))
    raise PydanticCustomError("integer_type", "should be a whole number")


def _of_size(value: _N) -> _N:
    if _SMALLEST <= abs(value) <= _LARGEST or value == 0:
        return value
    raise PydanticCustomError("number_size", "should be 0, or of a size from 1e-60 to 1e60")


class _NumberSchema:
    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _number, json_schema_input_schema=core_schema.float_schema()
        )


class _IntegerSchema:
    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _integer, json_schema_input_schema=core_schema.int_schema()
        )


Number = Annotated[float, _NumberSchema()]
Integer = Annotated[int, _IntegerSchema()]


def _kind(value: object) -> str | None:
    """The tag of a JSON value's type, for unions told apart by it."""
    if isinstance(value, bool):
        return TAG + "boolean"
    if isinstance(value, (int, float)):
        return TAG + "number"
    if isinstance(value, str):
        return TAG + "string"
    if isinstance(value, list):
        return TAG + "array"
    return TAG + "object"  # an object, or a model that was validated before


def _kinds(words: str) -> Discriminator:
    return Discriminator(
        _kind, custom_error_type="wrong_kind", custom_error_message=f"should be {words}"
    )


class Block(BaseModel):
    """What all objects of a report share."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    extensions: dict[str, Any] | None = Field(
        None, description="Anything else; benchlint does not look inside."
    )

    def __eq__(self, other: object) -> bool:
        """Blocks are compared with themselves most of the time: what a run inherits is shared."""
        return self is other or super().__eq__(other)


def models_in(annotation: Any) -> Iterator[type[Block]]:
    """The models that an annotation mentions, outermost first."""
    if isinstance(annotation, type) and issubclass(annotation, Block):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


# --- measured values -------------------------------------------------------------------------


class MeasuredObject(Block):
    """A measured number and how sure it is."""

    value: Number | None = Field(None, description="The number as measured.")
    approx: bool | None = Field(None, description="True when the author says 'about'.")
    stdev: Number | None = Field(None, description="Standard deviation over the samples.")
    samples: list[Number] | None = Field(None, description="The single measurements.")
    range: list[Number] | None = Field(None, description="Smallest and largest, in this order.")
    repeats: Integer | None = Field(None, description="How many measurements lie behind it.")
    percentiles: dict[str, Number] | None = Field(
        None, description="Percentiles by name, such as p50 or p99."
    )
    estimator: Literal["pooled", "mean", "median"] | None = Field(
        None, description="pooled: sums divided by sums; mean, median: over single measurements."
    )


class AcceptedLengthObject(MeasuredObject):
    """Accepted length τ with its definition."""

    counts_bonus_token: bool | None = Field(
        None, description="True when the token that the target itself supplies is counted."
    )


class AcceptanceRateObject(MeasuredObject):
    """Acceptance rate with its denominator."""

    of: Literal["drafted", "output", "configured"] | None = Field(
        None,
        description="Accepted draft tokens as a share of: drafted tokens, output tokens, or "
        "configured draft length times verify steps.",
    )


class SpeedupObject(MeasuredObject):
    """A measured ratio of a run to a named baseline."""

    over: str | None = Field(None, description="id of the baseline run.")


_MEASURED = _kinds("a number, or an object with value, approx, stdev, samples, range, …")
_PlainNumber = Annotated[Number, Tag(TAG + "number")]

Measured = Annotated[_PlainNumber | Annotated[MeasuredObject, Tag(TAG + "object")], _MEASURED]
AcceptedLength = Annotated[
    _PlainNumber | Annotated[AcceptedLengthObject, Tag(TAG + "object")], _MEASURED
]
AcceptanceRate = Annotated[
    _PlainNumber | Annotated[AcceptanceRateObject, Tag(TAG + "object")], _MEASURED
]
Speedup = Annotated[_PlainNumber | Annotated[SpeedupObject, Tag(TAG + "object")], _MEASURED]

_String = Annotated[str, Tag(TAG + "string")]
_Strings = Annotated[list[str], Tag(TAG + "array")]
Text = Annotated[_String | _Strings, _kinds("a string or a list of strings")]


# --- what was set up once --------------------------------------------------------------------


class Clocks(Block):
    """Clocks during the run, in MHz."""

    core_mhz: Number | None = Field(None, description="Core clock in MHz.")
    memory_mhz: Number | None = Field(None, description="Memory clock in MHz as the driver says.")


class Device(Block):
    """One kind of accelerator in the machine (or the CPU, when it does the work)."""

    name: str | None = Field(None, description="Full product name, with its variant.")
    count: Integer | None = Field(None, description="How many of them were used.")
    memory_gb: Number | None = Field(None, description="Nominal memory of one device in GB.")
    unified_memory: bool | None = Field(None, description="Memory is shared with the CPU.")
    power_limit_w: Number | None = Field(None, description="Power limit of one device in watts.")
    clocks: Clocks | None = Field(None, description="Clocks during the run.")


class Cpu(Block):
    """The host processor."""

    name: str | None = Field(None, description="Full product name.")
    cores: Integer | None = Field(None, description="Physical cores.")
    memory_gb: Number | None = Field(None, description="System memory in GB.")


class Machine(Block):
    """The hardware and what ran on it."""

    devices: list[Device] | None = Field(None, description="Accelerators, one entry a kind.")
    driver: str | None = Field(None, description="Driver and runtime versions.")
    interconnect: str | None = Field(None, description="How devices are linked: pcie, nvlink, …")
    cpu: Annotated[_String | Annotated[Cpu, Tag(TAG + "object")], _kinds("a name or an object")] | (
        None
    ) = Field(None, description="Host processor; a name is enough.")
    os: str | None = Field(None, description="Operating system and version.")
    other_load: str | None = Field(None, description="What else ran on the machine.")


class Batch(Block):
    """Batch sizes of the engine, in tokens."""

    logical: Integer | None = Field(None, description="Tokens submitted at once.")
    physical: Integer | None = Field(None, description="Tokens computed at once.")


class Threads(Block):
    """CPU threads of the engine."""

    decode: Integer | None = Field(None, description="Threads for decode.")
    batch: Integer | None = Field(None, description="Threads for prefill.")


class Parallelism(Block):
    """How the model is spread over devices: degrees, 1 for none."""

    tensor: Integer | None = Field(None, description="Tensor parallel.")
    pipeline: Integer | None = Field(None, description="Pipeline or layer split.")
    data: Integer | None = Field(None, description="Data parallel: replicas.")
    expert: Integer | None = Field(None, description="Expert parallel.")


class Offload(Block):
    """What part of the target does not sit in device memory."""

    kind: Literal["none", "layers", "experts", "weight_streaming", "unknown"] | None = Field(
        None, description="What is kept outside."
    )
    gpu_layers: Integer | None = Field(None, description="Layers on the device.")
    cpu_gib: Number | None = Field(None, description="Weights outside device memory in GiB.")


class Engine(Block):
    """The inference engine as it was run."""

    name: str | None = Field(None, description="llama.cpp, vllm, sglang, …")
    version: str | None = Field(None, description="Version or build number.")
    commit: str | None = Field(None, description="Commit it was built from.")
    patches: list[str] | None = Field(None, description="Changes on top of the version.")
    backend: str | None = Field(None, description="cuda, rocm, metal, vulkan, cpu, …")
    attention_backend: str | None = Field(None, description="flash_attn, flashinfer, triton, …")
    command_line: Text | None = Field(None, description="The command that started the engine.")
    environment: dict[str, str] | None = Field(None, description="Variables that matter.")
    batch: Batch | None = Field(None, description="Batch sizes in tokens.")
    threads: (
        Annotated[
            Annotated[Integer, Tag(TAG + "number")] | Annotated[Threads, Tag(TAG + "object")],
            _kinds("a whole number or an object"),
        ]
        | None
    ) = Field(None, description="CPU threads; a number is short for those of decode.")
    parallelism: Parallelism | None = Field(
        None, description="How the model is spread over devices."
    )
    offload: (
        Annotated[
            Annotated[
                Literal["none", "layers", "experts", "weight_streaming", "unknown"],
                Tag(TAG + "string"),
            ]
            | Annotated[Offload, Tag(TAG + "object")],
            _kinds("a word or an object"),
        ]
        | None
    ) = Field(None, description="What does not sit in device memory; a word is short for its kind.")


class Quantization(Block):
    """The exact quantization of a set of weights."""

    recipe: str | None = Field(None, description="Exact recipe: Q4_K_M, UD-Q5_K_M, AWQ, BF16, …")
    bits_per_weight: Number | None = Field(None, description="Mean over the whole file.")
    file_size_gb: Number | None = Field(None, description="Size of the weights in GB (10⁹ bytes).")
    file_size_gib: Number | None = Field(None, description="Size of the weights in GiB.")
    converted_at_load: str | None = Field(None, description="Conversion when loaded, as FP8.")
    sha256: str | None = Field(None, description="Hash of the weight file.")


class KvGeometry(Block):
    """What sets the size of one token in the KV cache."""

    kv_heads: Integer | None = Field(None, description="Key/value heads of a layer.")
    head_dim: Integer | None = Field(None, description="Dimension of a head.")
    full_attention_layers: Integer | None = Field(
        None, description="Layers that attend to the whole context."
    )
    sliding_window_layers: Integer | None = Field(
        None, description="Layers that attend to a window only."
    )
    sliding_window_tokens: Integer | None = Field(
        None, description="Length of that window in tokens."
    )
    latent_rank: Integer | None = Field(None, description="MLA: rank plus rope dimensions.")


class Sampler(Block):
    """Sampling parameters in effect."""

    temperature: Number | None = Field(None, description="0 is greedy.")
    top_p: Number | None = Field(None, description="Share of probability kept; 1 keeps all.")
    top_k: Integer | None = Field(None, description="Tokens kept; 0 or -1 keeps all.")
    min_p: Number | None = Field(
        None, description="Least probability kept, as a share of the largest."
    )
    repetition_penalty: Number | None = Field(None, description="1 is none.")
    presence_penalty: Number | None = Field(None, description="0 is none.")
    frequency_penalty: Number | None = Field(None, description="0 is none.")
    seed: Integer | None = Field(None, description="Seed of the random numbers.")
    others: dict[str, Any] | None = Field(None, description="Further parameters by name.")
    left_to_engine: list[str] | None = Field(
        None, description="Parameters that were not set, so that the engine's defaults held."
    )


class Target(Block):
    """The model whose output is wanted."""

    name: str | None = Field(None, description="Name of the model as published.")
    revision: str | None = Field(None, description="Commit, tag or date of the weights.")
    parameters_b: Number | None = Field(None, description="Parameters in billions (10⁹).")
    parameters_active_b: Number | None = Field(
        None, description="Parameters active per token in billions; for mixtures of experts."
    )
    architecture: Literal["dense", "moe"] | None = Field(
        None, description="dense, or moe: a mixture of experts."
    )
    quantization: Quantization | None = Field(None, description="The exact quantization.")
    layers: Integer | None = Field(None, description="Layers of the model.")
    kv_geometry: KvGeometry | None = Field(
        None, description="What sets the size of a token in the KV cache."
    )
    modules: list[str] | None = Field(None, description="Loaded besides: vision projector, …")
    documented_sampler: Sampler | None = Field(None, description="What the model card recommends.")
    documented_context_tokens: Integer | None = Field(None, description="Documented maximum.")


# --- configurations --------------------------------------------------------------------------


class Drafter(Block):
    """Where drafts come from."""

    method: (
        Literal[
            "draft_model",
            "dflash",
            "mtp",
            "eagle",
            "eagle2",
            "eagle3",
            "medusa",
            "dspark",
            "ngram",
            "suffix",
            "prompt_lookup",
            "other",
        ]
        | None
    ) = Field(None, description="How drafts are made.")
    model: str | None = Field(None, description="Name of the draft model or head.")
    revision: str | None = Field(None, description="Commit, tag or date of its weights.")
    quantization: Quantization | None = Field(None, description="Quantization of the draft model.")
    parameters_b: Number | None = Field(None, description="Parameters in billions (10⁹).")
    trained_block_size: Integer | None = Field(
        None, description="Block length a block drafter was trained with; K is one less."
    )


class Tree(Block):
    """Shape of a draft tree."""

    depth: Integer | None = Field(None, description="Longest path in draft tokens.")
    width: Integer | None = Field(None, description="Candidates per position.")
    draft_tokens: Integer | None = Field(None, description="Draft tokens verified in one step.")


class DraftLength(Block):
    """Draft length K: how many tokens are drafted per verify step."""

    max: Integer | None = Field(None, description="Configured maximum K.")
    min: Integer | None = Field(None, description="Smallest K of an adaptive policy.")
    policy: Literal["fixed", "adaptive"] | None = Field(
        None, description="Whether every draft has K tokens."
    )
    p_min: Number | None = Field(None, description="Drafting stops below this probability.")
    tree: Tree | None = Field(None, description="Shape, where drafts are trees.")


class DraftSelection(Block):
    """Where and how draft tokens are chosen (the argmax placement)."""

    placement: Literal["gpu", "cpu", "mixed", "unknown"] | None = Field(
        None, description="Which processor picks the draft tokens."
    )
    method: Literal["argmax", "sampled"] | None = Field(
        None, description="Most probable token, or drawn by its probability."
    )


class AcceptanceRule(Block):
    """How the target accepts drafts."""

    kind: Literal["lossless", "relaxed", "synthetic"] | None = Field(
        None,
        description="lossless: the output keeps the target's distribution. relaxed: it does not. "
        "synthetic: acceptance was set, not measured.",
    )
    settings: dict[str, Any] | None = Field(None, description="Thresholds and the like, by name.")


class KvCache(Block):
    """The KV cache."""

    target_type: str | None = Field(None, description="f16, q8_0, fp8, …")
    drafter_type: str | None = Field(None, description="The same for the drafter's cache.")
    max_context_tokens: Integer | None = Field(None, description="Configured context length.")
    pool_tokens: Integer | None = Field(None, description="Tokens the whole cache holds.")
    budget_gib_per_device: Number | None = Field(
        None, description="Memory set aside for it, in GiB per device."
    )


_Drafter = Annotated[Drafter, Tag(TAG + "object")]
_Drafters = Annotated[list[Drafter], Tag(TAG + "array")]


class Configuration(Block):
    """A named setup. Blocks it gives replace those of the configuration it is based on."""

    based_on: str | None = Field(
        None, description="Name of the configuration whose blocks hold where this one has none."
    )
    drafter: Annotated[_Drafter | _Drafters, _kinds("null, an object or a list")] | None = Field(
        None,
        description="null: there is none (a baseline); TOML has no null, write [] there. "
        "Absent: unknown.",
    )
    draft_length: (
        Annotated[
            Annotated[Integer, Tag(TAG + "number")] | Annotated[DraftLength, Tag(TAG + "object")],
            _kinds("a whole number or an object with max"),
        ]
        | None
    ) = Field(None, description='K; 7 is short for {"max": 7}.')
    draft_selection: DraftSelection | None = Field(
        None, description="Where and how draft tokens are chosen."
    )
    acceptance_rule: (
        Annotated[
            Annotated[Literal["lossless", "relaxed", "synthetic"], Tag(TAG + "string")]
            | Annotated[AcceptanceRule, Tag(TAG + "object")],
            _kinds("a word or an object with kind"),
        ]
        | None
    ) = Field(None, description="How the target accepts drafts; a word is short for its kind.")
    sampler: Sampler | None = Field(None, description="Sampling parameters in effect.")
    kv_cache: KvCache | None = Field(None, description="The KV cache: types and sizes.")
    machine: Machine | None = Field(None, description="Laid over the report's machine.")
    engine: Engine | None = Field(None, description="Laid over the report's engine.")
    target: Target | None = Field(None, description="Laid over the report's target.")
    notes: Text | None = Field(None, description="Anything a reader should know.")


# --- workloads -------------------------------------------------------------------------------


class Prompts(Block):
    """Where the prompts are published."""

    set: str | None = Field(None, description="Name of a known set.")
    sha256: str | None = Field(None, description="Hash of the set or file.")
    file: str | None = Field(None, description="JSON Lines file beside the report.")
    inline: list[str] | None = Field(None, description="The prompts themselves.")


class Workload(Block):
    """What the model was asked to do."""

    mix: (
        Annotated[
            Annotated[dict[str, Number], Tag(TAG + "object")] | _Strings,
            _kinds("shares by name or a list of names"),
        ]
        | None
    ) = Field(None, description="Shares by kind (code, prose, …), or names when unknown.")
    prompt_count: Integer | None = Field(None, description="How many prompts were run.")
    prompts: Prompts | None = Field(None, description="Where they are published.")
    prompt_tokens: Measured | None = Field(None, description="Tokens of one prompt.")
    output_tokens: Measured | None = Field(None, description="Tokens of one output.")
    stop_rule: str | None = Field(None, description="length, eos, ignore_eos, a stop string, …")
    thinking: (
        Annotated[Annotated[bool, Tag(TAG + "boolean")] | _String, _kinds("true, false or a word")]
        | None
    ) = Field(None, description="Thinking mode on or off, or its level.")
    chat_template: str | None = Field(None, description="Name or hash of the template, or none.")


# --- runs ------------------------------------------------------------------------------------


class KvPosition(Block):
    """Where in the KV cache decode started."""

    filled_tokens: Integer | None = Field(None, description="Tokens in the cache before decode.")
    fill_to_tokens: Integer | None = Field(
        None, description="Up to where a text in front of the prompts was to fill it."
    )


class Conditions(Block):
    """Under which conditions a run was measured."""

    warm: bool | None = Field(None, description="Whether the engine had served requests before.")
    warmup_requests: Integer | None = Field(None, description="Requests before the measured ones.")
    repeats: Integer | None = Field(None, description="How often each request was measured.")
    restarts: Integer | None = Field(None, description="Restarts of the engine among repeats.")
    concurrency: Integer | None = Field(None, description="Requests in flight at once.")
    prompt_cache: bool | None = Field(None, description="Prompt cache (prefix cache) on.")
    kv_position: KvPosition | None = Field(
        None, description="Where in the KV cache decode started."
    )
    arm_order: str | None = Field(None, description="Order of arms: interleaved, blocks, …")


class Prefill(Block):
    """Prompt processing, apart from decode."""

    tokens: Measured | None = Field(None, description="Tokens processed (not from a cache).")
    tok_s: Measured | None = Field(None, description="Prompt tokens per second.")
    seconds: Measured | None = Field(None, description="Time for the prompt in seconds.")
    ttft_ms: Measured | None = Field(None, description="Time to first token in ms.")


class Decode(Block):
    """Token generation per stream, apart from prefill."""

    tokens: Measured | None = Field(None, description="Output tokens.")
    tok_s: Measured | None = Field(None, description="Output tokens per second of one stream.")
    seconds: Measured | None = Field(None, description="Decode time in seconds, without prefill.")
    time_per_output_token_ms: Measured | None = Field(
        None, description="TPOT: (latency - TTFT) / (tokens - 1), in ms."
    )
    inter_token_latency_ms: Measured | None = Field(
        None, description="Gap between tokens in ms. Under speculation, see the next field."
    )
    inter_chunk_latency_ms: Measured | None = Field(
        None, description="Gap between streamed chunks in ms; a chunk is not a token."
    )


class Throughput(Block):
    """Aggregate figures at the stated concurrency."""

    tok_s: Measured | None = Field(None, description="Output tokens per second, all streams.")
    peak_tok_s: Measured | None = Field(
        None, description="Highest output rate of all streams, per second."
    )
    peak_counts: Literal["tokens", "chunks"] | None = Field(
        None, description="What the peak counts: a chunk is not a token."
    )
    tokens: Measured | None = Field(None, description="Output tokens of the whole run.")
    seconds: Measured | None = Field(None, description="Wall time of the whole run.")
    completed_requests: Integer | None = Field(None, description="Requests answered in full.")
    failed_requests: Integer | None = Field(None, description="Requests that failed.")
    requests_per_s: Measured | None = Field(None, description="Completed requests per second.")
    goodput_requests_per_s: Measured | None = Field(
        None, description="Requests per second that met the latency goal."
    )
    end_to_end_tok_s: Measured | None = Field(
        None, description="Output tokens over latency including prefill, per stream."
    )


class PerPosition(Block):
    """Acceptance by draft position."""

    values: list[Number] | None = Field(None, description="Shares of 1 from position 1 on.")
    kind: Literal["cumulative", "conditional"] | None = Field(
        None,
        description="cumulative: all positions up to this one accepted. "
        "conditional: this one, given those before.",
    )


class Counts(Block):
    """Counters of the engine over the run; all are exact."""

    drafted: Integer | None = Field(None, description="Draft tokens sent to verification.")
    accepted: Integer | None = Field(None, description="Draft tokens accepted.")
    verify_steps: Integer | None = Field(None, description="Target passes that carried a draft.")
    plain_steps: Integer | None = Field(None, description="Target passes without a draft.")
    output_tokens: Integer | None = Field(None, description="Tokens given out.")
    requests: Integer | None = Field(None, description="Requests served.")


class Speculation(Block):
    """How drafting went."""

    acceptance_rate: AcceptanceRate | None = Field(
        None, description="Share of draft tokens accepted, from 0 to 1."
    )
    accepted_length: AcceptedLength | None = Field(None, description="τ: tokens per verify step.")
    per_position: PerPosition | None = Field(None, description="Acceptance by draft position.")
    counts: Counts | None = Field(None, description="The engine's counters.")
    histogram: list[Integer] | None = Field(
        None, description="Verify steps by number of accepted draft tokens, from 0 to K."
    )


class Memory(Block):
    """Device memory in use, all devices together."""

    device_used_mib: Measured | None = Field(None, description="In use, in MiB.")
    device_total_mib: Measured | None = Field(None, description="Present, in MiB.")
    device_used_gib: Measured | None = Field(None, description="In use, in GiB.")
    device_total_gib: Measured | None = Field(None, description="Present, in GiB.")
    measured: Literal["at_start", "after_fill"] | None = Field(
        None, description="Before the KV cache was filled, or after."
    )


class Power(Block):
    """Power during decode, all devices together."""

    watts: Measured | None = Field(None, description="Mean power in watts.")
    tokens_per_joule: Measured | None = Field(None, description="Output tokens per joule.")


class Losslessness(Block):
    """Comparison of the output with another run's, and with itself."""

    baseline: str | None = Field(None, description="id of the run compared with.")
    compared: Literal["token", "prompt"] | None = Field(None, description="Unit of the rate.")
    match_rate: Measured | None = Field(None, description="Share that matched.")
    n: Integer | None = Field(None, description="How many units were compared.")
    first_divergence: Measured | None = Field(None, description="Token index, from 0.")
    repeat_identical: bool | None = Field(None, description="Repeats gave the same output.")
    repeat_sha256: list[str] | None = Field(None, description="Hash of each repeat's output.")
    repeat_tokens: list[Integer] | None = Field(None, description="Output tokens of each repeat.")
    repeat_texts: list[str] | None = Field(None, description="Output of each repeat.")
    explanation: str | None = Field(None, description="Why outputs differ, where they do.")


class Measurement(Block):
    """How the numbers of a run were taken."""

    by: Literal["client", "engine_counter", "micro_benchmark"] | None = Field(
        None,
        description="What took the numbers: a client with a clock, the engine's counters, or a "
        "tool that times the engine alone.",
    )
    counters: Literal["per_run", "server_cumulative"] | None = Field(
        None, description="Whether the engine's counters cover this run alone."
    )
    window: Literal["decode_only", "with_prefill"] | None = Field(
        None, description="Whether decode speeds include prefill."
    )
    prompt_kind: Literal["natural", "synthetic", "repeated"] | None = Field(
        None, description="Real prompts, made-up tokens, or one text again and again."
    )
    tool: str | None = Field(None, description="Benchmark tool and version.")


class Run(Block):
    """One configuration on one workload under one set of conditions."""

    id: str = Field(description="Name of the run, used once.")
    configuration: str | None = Field(None, description="Name of its configuration.")
    workload: str | None = Field(None, description="Name of its workload.")
    conditions: Conditions | None = Field(
        None, description="Warm or cold, repeats, concurrency, KV position."
    )
    prefill: Prefill | None = Field(None, description="Prompt processing.")
    decode: Decode | None = Field(None, description="Token generation of one stream.")
    throughput: Throughput | None = Field(None, description="All streams together.")
    speculation: Speculation | None = Field(None, description="How drafting went.")
    step_time_ms: Measured | None = Field(None, description="Wall time of one verify step in ms.")
    memory: Memory | None = Field(None, description="Device memory in use.")
    power: Power | None = Field(None, description="Power during decode.")
    losslessness: Losslessness | None = Field(
        None, description="Comparison of the output with another run's."
    )
    measurement: Measurement | None = Field(None, description="How the numbers were taken.")
    finish_reasons: dict[str, Integer] | None = Field(None, description="Requests by reason.")
    speedup: Speedup | None = Field(None, description="Measured ratio to a named baseline.")
    parts: list[str] | None = Field(None, description="ids of the runs that this one pools.")
    void: str | None = Field(None, description="Why the run was withdrawn; it is then ignored.")
    notes: Text | None = Field(None, description="Anything a reader should know.")


# --- quality and claims ----------------------------------------------------------------------


class ScoredText(Block):
    """Where the text of a perplexity is published."""

    name: str | None = Field(None, description="Name of a known text.")
    sha256: str | None = Field(None, description="Hash of the file.")
    file: str | None = Field(None, description="UTF-8 text file beside the report.")


class Quality(Block):
    """A quality figure beside the speed."""

    id: str | None = Field(None, description="Name of the row, for claims.")
    metric: str | None = Field(None, description="perplexity, accuracy, pass@1, …")
    dataset: str | None = Field(None, description="What it was measured on.")
    split: str | None = Field(None, description="Part of the dataset: test, validation, …")
    text: ScoredText | None = Field(None, description="The text itself, for perplexity.")
    context_tokens: Integer | None = Field(
        None, description="Context length of the evaluation in tokens."
    )
    sample_size: Integer | None = Field(None, description="Tokens for perplexity, else items.")
    value: Measured | None = Field(None, description="The figure; accuracies are fractions of 1.")
    error: Number | None = Field(None, description="Standard error.")
    configuration: str | None = Field(
        None, description="Name of the configuration it was measured for."
    )
    drafter_on: bool | None = Field(None, description="Whether speculation ran meanwhile.")
    higher_is_better: bool | None = Field(
        None, description="Whether a larger value is a better one."
    )


class ClaimScope(Block):
    """What a claim is said to hold for."""

    serving: Literal["single_stream", "server"] | None = Field(
        None, description="One stream at a time, or a server with several."
    )
    workloads: list[str] | None = Field(None, description="Workloads, or kinds of a mix.")


#: How a claim relates two numbers, or a number and a value; see `checker/claims.py`.
Relation = Literal[
    "ratio",
    "percent_more",
    "percent_less",
    "difference",
    "equal",
    "greater",
    "less",
    "at_least",
    "at_most",
    "up_to",
    "best",
]


class Claim(Block):
    """A sentence of the report in a form that can be tested."""

    id: str | None = Field(None, description="Name of the claim.")
    text: str | None = Field(None, description="The sentence as published.")
    metric: str | None = Field(None, description="Path of the number in a run: decode.tok_s")
    of: str | None = Field(None, description="id of the run or quality row claimed about.")
    relation: Relation | None = Field(
        None, description="How the two numbers are compared; best: with those of `among`."
    )
    to: str | None = Field(None, description="id of the run or quality row compared with.")
    among: list[str] | None = Field(None, description="ids of the runs it is best among.")
    value: Measured | None = Field(None, description="The claimed ratio, percentage or value.")
    scope: ClaimScope | None = Field(None, description="What the claim is said to hold for.")


class Report(Block):
    """A benchmark report of speculative decoding."""

    benchlint: str = Field("1", description="Version of the format.")
    title: str | None = Field(None, description="What was measured, in one line.")
    date: str | None = Field(None, description="ISO 8601 date of the measurement.")
    source: Text | None = Field(None, description="Where it was published.")
    authors: list[str] | None = Field(None, description="Who measured.")
    notes: Text | None = Field(None, description="Anything a reader should know.")
    machine: Machine | None = Field(
        None, description="The hardware, unless a configuration says otherwise."
    )
    engine: Engine | None = Field(
        None, description="The engine, unless a configuration says otherwise."
    )
    target: Target | None = Field(
        None, description="The target model, unless a configuration says otherwise."
    )
    configurations: dict[str, Configuration] | None = Field(
        None, description="What was set up, by name."
    )
    workloads: dict[str, Workload] | None = Field(
        None, description="What was asked of the model, by name."
    )
    runs: list[Run] | None = Field(
        None, description="What was measured: one configuration on one workload."
    )
    quality: list[Quality] | None = Field(
        None, description="How good the output is, beside how fast."
    )
    claims: list[Claim] | None = Field(
        None,
        description='Sentences that can be tested: {"metric": "decode.tok_s", "of": "fast", '
        '"relation": "ratio", "to": "plain", "value": 2.1}',
    )
