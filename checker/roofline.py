"""How fast memory and arithmetic allow a target to decode: ceilings in passes per second.

Every decode pass reads the weights once, and the KV cache of each sequence. So passes per
second are at most bandwidth over bytes, and tokens per second at most τ times that. (Williams,
Waterman and Patterson 2009, "Roofline"; applied to speculative decoding a verify step reads
the weights once for all K + 1 tokens, Leviathan et al. 2211.17192.)

Two ceilings are drawn. The optimistic one takes every uncertainty in favour of the report and
is fit to prove a speed impossible. The nominal one takes specified figures. Nothing here knows
of reports: plain numbers in, plain numbers out, sizes in bytes and bandwidths in GB/s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

#: A speed over the optimistic ceiling by no more than this is let pass: timers and rounding.
TIMER_SLACK: Final = 1.02

#: Streaming kernels reach 85 to 96 % of the specified bandwidth.
NEAR_CEILING: Final = 0.95

#: Plain decoding below this share of the nominal ceiling is not bound by device memory.
FAR_BELOW_CEILING: Final = 0.20

#: Last-level cache of a device whose cache is not known (MB): more than any such device has.
UNKNOWN_CACHE_MB: Final = 256.0

#: Share of the stated parameters that a pass reads at least: "30B" was 27.9 B of text, 26.5 B
#: of them read, since an untied input embedding is looked up and not read.
READ_SHARE: Final = 0.88
#: The same for models below a size, whose embedding weighs more: untied, it is 37 % of
#: Pythia-70m, 24 % of Pythia-160m, 22 % of the active parameters of Ling-mini (16B-A1.4B), 19 %
#: of Minitron-4B.
SMALL_READ_SHARES: Final = ((0.15e9, 0.55), (2e9, 0.70), (6e9, 0.78))

#: A stated count may be rounded down by this much.
COUNT_ROUNDED_DOWN: Final = 1.03


class Span(NamedTuple):
    """A quantity with its uncertainty: low ≤ likely ≤ high."""

    low: float
    likely: float
    high: float

    def times(self, other: Span) -> Span:
        """Product of two positive quantities, end by end."""
        return Span(self.low * other.low, self.likely * other.likely, self.high * other.high)

    def scaled(self, factor: float) -> Span:
        """Every value times a positive `factor`."""
        return Span(self.low * factor, self.likely * factor, self.high * factor)


class TargetPass(NamedTuple):
    """What one pass of the target reads from memory.

    weight_bytes: weights read per pass; for a mixture of experts those of the active experts.
    kv_bytes: KV cache of all sequences in the batch at their position, likely and not less.
    """

    weight_bytes: Span
    kv_bytes: float = 0.0

    @property
    def likely_bytes(self) -> float:
        """Weights and KV cache under the likely reading."""
        return self.weight_bytes.likely + self.kv_bytes


class MemorySystem(NamedTuple):
    """The memory that a pass streams through.

    bandwidth_gbs: of one device, in 10⁹ bytes per second. devices: those that can be read at
    the same time; 1 where layers are split, since one stream then uses one device at a time.
    headroom: how far overclocked memory may exceed the specification. cache_mb: last-level
    cache of one device, None when unknown.
    """

    bandwidth_gbs: float
    devices: int = 1
    headroom: float = 1.0
    cache_mb: float | None = None

    @property
    def cache_bytes(self) -> float:
        """Bytes that may stay in the caches between two passes."""
        each = UNKNOWN_CACHE_MB if self.cache_mb is None else self.cache_mb
        return each * 2**20 * self.devices

    @property
    def bytes_per_second(self) -> float:
        """Specified bandwidth of all devices together."""
        return self.bandwidth_gbs * 1e9 * self.devices


def optimistic_ceiling(target: TargetPass, memory: MemorySystem) -> float | None:
    """Target passes per second that no honest setup exceeds, or None where none can be given.

    Fewest weights and bits, no KV cache, overclocked memory, and the whole last-level cache
    kept from pass to pass. Weights of less than three caches give no ceiling.
    """
    weights = target.weight_bytes.low
    if weights <= 0 or weights < 3 * memory.cache_bytes:
        return None
    return memory.bytes_per_second * memory.headroom / (weights - memory.cache_bytes)


def nominal_ceiling(target: TargetPass, memory: MemorySystem) -> float | None:
    """Target passes per second at the specified bandwidth and the likely size, or None."""
    read = target.likely_bytes
    return memory.bytes_per_second / read if read > 0 else None


def least_ceiling(target: TargetPass, memory: MemorySystem) -> float | None:
    """Passes per second under the heaviest reading; what falls far below it is slow for sure."""
    read = target.weight_bytes.high + target.kv_bytes
    return memory.bytes_per_second / read if read > 0 else None


def first_token_factor(output_tokens: float | None) -> float:
    """n/(n - 1): how much counting the first token without its time overstates a speed.

    1 without a length: `TIMER_SLACK` covers outputs of 50 tokens and more.
    """
    if output_tokens is None:
        return 1.0
    return output_tokens / (output_tokens - 1) if output_tokens > 1 else float("inf")


# --- sizes -----------------------------------------------------------------------------------


def parameters_read(stated: float) -> Span:
    """Parameters that a pass reads, from a stated count of a dense model (or of the active ones).

    stated: parameters, not billions. Low and likely leave out an untied input embedding, vision
    towers and the rounding of "30B"; high allows for a count that was rounded down.
    """
    least = stated * _read_share(stated)
    return Span(least, least, stated * COUNT_ROUNDED_DOWN)


def file_read(file_bytes: float, parameters: float | None = None) -> Span:
    """Weight bytes that a pass over a dense model reads, from the size of its file.

    The same parts as in `parameters_read` are in the file and are not read. For the low end the
    file is taken for that of a model of as many parameters as bytes, which is on the safe side
    up to 8 bits. parameters: as far as they are stated; they tell what is likely.
    """
    least = file_bytes * _read_share(file_bytes)
    likely = least if parameters is None else file_bytes * _read_share(parameters)
    return Span(least, max(least, likely), file_bytes)


def _read_share(parameters: float) -> float:
    return next((share for size, share in SMALL_READ_SHARES if parameters < size), READ_SHARE)


class NamedSize(NamedTuple):
    """Parameters that a model's name states. active: per token, of a mixture of experts."""

    total: float
    active: float | None = None
    mixture: bool = False


_TOTAL = r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,3})?)(b|m)(?![a-z0-9])"
_ACTIVE = r"(?<![a-z0-9])a(\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])"
_EXPERTS = r"(?<![a-z0-9.])(\d{1,3})x(\d{1,3}(?:\.\d)?)b(?![a-z0-9])"
_UNIT: Final = {"b": 1e9, "m": 1e6}


@lru_cache(maxsize=256)
def size_in_name(name: str | None) -> NamedSize | None:
    """The size in a model's name: "Qwen3-30B-A3B" has 30 B, 3 B active. None when unclear.

    "8x7B" gives no total that could bound anything, but tells of a mixture; two different
    sizes in one name ("70B distilled to 8B") give None.
    """
    text = re.sub(r"[_\s/-]+", " ", (name or "")[:200].lower())
    experts = re.search(_EXPERTS, text)
    if experts is not None:
        return NamedSize(int(experts[1]) * float(experts[2]) * 1e9, mixture=True)
    found = re.findall(_TOTAL, text)
    units = {unit for _, unit in found}
    unit = "b" if "b" in units else "m"  # the 1M of "7B-Instruct-1M" is a context length
    sizes = {float(n) * _UNIT[unit] for n, each in found if each == unit}
    if len(sizes) != 1:
        return None
    active = re.search(_ACTIVE, text)
    return NamedSize(
        sizes.pop(), None if active is None else float(active[1]) * 1e9, active is not None
    )


# --- the KV cache ----------------------------------------------------------------------------


class KvLayers(NamedTuple):
    """Layers of one kind. bytes_per_token: of one layer, K and V together; window: tokens kept."""

    layers: int
    bytes_per_token: float
    window: int | None = None


def gqa_bytes_per_token(kv_heads: int, head_dim: int, bytes_per_element: float = 2.0) -> float:
    """Bytes of one token in one layer of grouped-query attention: K and V of each head.

    bytes_per_element: 2 for f16, 1.0625 for q8_0, 0.5625 for q4_0, 1 for fp8.
    """
    return 2.0 * kv_heads * head_dim * bytes_per_element


def mla_bytes_per_token(latent_rank: int, bytes_per_element: float = 2.0) -> float:
    """Bytes of one token in one layer of multi-head latent attention.

    latent_rank: rank plus rope dimensions, kept once for K and V together.
    """
    return latent_rank * bytes_per_element


def kv_bytes(layers: Sequence[KvLayers], position: int) -> float:
    """Bytes of one sequence's KV cache at `position` tokens, all of which a pass reads.

    Windowed layers keep their window. Layers of linear attention have a state of constant size
    and do not belong here.
    """
    return sum(
        each.layers
        * each.bytes_per_token
        * (position if each.window is None else min(position, each.window))
        for each in layers
    )


# --- arithmetic ------------------------------------------------------------------------------


def prefill_ceiling(parameters: float, tflops: float, count: int = 1) -> float:
    """Prompt tokens per second that `tflops` (10¹² FLOP/s of one device) allow: FLOPS/(2·P).

    parameters: those active per token. Attention is left out, so this is generous.
    """
    return tflops * 1e12 * count / (2 * parameters)
