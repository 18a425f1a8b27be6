"""Sampler values that an engine applies when nobody sets them, and which values do nothing.

The table is `schemas/sampler_defaults.csv`, read in the source of each engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple, get_args

from benchlint.checker.engines import EngineKind, engine_kind, version_at_least
from benchlint.checker.tables import Row, rows_of

Parameter = Literal[
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
]

#: Sampler parameters whose engine defaults are known.
PARAMETERS: Final[tuple[Parameter, ...]] = get_args(Parameter)

#: Parameters that do nothing when decoding is greedy: the most likely token passes them all.
_IDLE_WHEN_GREEDY: Final = frozenset({"top_p", "top_k", "min_p", "seed"})

#: A top_k of at least this many tokens cuts off nothing that could matter.
_LARGE_TOP_K: Final = 10_000


def neutral(parameter: str, value: float, temperature: float | None = None) -> bool:
    """Whether `value` leaves the model's own distribution as it is.

    Neutral are top_p 1, top_k 0, -1 or as large as a vocabulary, min_p 0, a repetition
    penalty of 1, presence and frequency penalties of 0, temperature 1; and at `temperature` 0,
    where decoding is greedy, every top_p, top_k, min_p and seed. Penalties still act there.
    """
    if temperature == 0 and parameter in _IDLE_WHEN_GREEDY:
        return True
    match parameter:
        case "top_p":
            return value >= 1
        case "top_k":
            return value <= 0 or value >= _LARGE_TOP_K
        case "min_p":
            return value <= 0
        case "temperature" | "repetition_penalty":
            return value == 1
        case "presence_penalty" | "frequency_penalty":
            return value == 0
    return False


class EngineDefaults(NamedTuple):
    """What an engine applies to a parameter that is not set.

    values: for each parameter every default of the versions and surfaces that fit, one value
    where they agree. A temperature of 0 stands for greedy decoding.
    surfaces: the rows behind them: "before b2600, server / main", …
    model_override: what of the model may replace the defaults before a request does ("the
    model's generation_config.json"), or None. Then the value in effect cannot be known from
    the engine alone.
    """

    engine: EngineKind
    values: Mapping[str, tuple[float, ...]]
    surfaces: Mapping[str, str]
    model_override: str | None
    sources: tuple[str, ...]

    def value(self, parameter: str) -> float | None:
        """The one default of `parameter`, or None where versions or surfaces differ."""
        values = self.values.get(parameter, ())
        return values[0] if len(values) == 1 else None

    def certainly_acts(self, parameter: str, temperature: float | None = None) -> bool:
        """Whether every default of `parameter` changes the distribution.

        Greedy defaults count as neutral for what greedy decoding makes idle.
        """
        values = self.values.get(parameter, ())
        if temperature is None and 0 in self.values.get("temperature", ()):
            temperature = 0
        return bool(values) and not any(neutral(parameter, v, temperature) for v in values)

    def text(self, parameter: str) -> str:
        """The default for a message: "0.05", or "1.1 (before b2600); 1 (from b2400)"."""
        values = self.values.get(parameter, ())
        if len(values) <= 1:
            return f"{values[0]:g}" if values else "unknown"
        return self.surfaces[parameter]


@lru_cache(maxsize=256)
def defaults(engine_name: str | None, version: str | None = None) -> EngineDefaults | None:
    """The sampler defaults of an engine, or None for one that is not in the table.

    version: a release ("0.8.5"), a build number ("b8672"), a development build; with a commit,
    an unknown version or None, what holds for all versions is a single value, and the rest
    has one value for each version.
    """
    kind = engine_kind(engine_name)
    rows = [r for r in _rows(kind) if _fits(r, version)] if kind is not None else []
    if kind is None or not rows:
        return None
    return EngineDefaults(
        engine=kind,
        values={p: _values(rows, p) for p in PARAMETERS},
        surfaces={p: _by_surface(rows, p) for p in PARAMETERS},
        model_override=next((r["model_override"] for r in rows if r["model_override"]), None),
        sources=_unique(r["source"] for r in rows),
    )


@cache
def _rows(kind: EngineKind) -> tuple[Row, ...]:
    return tuple(r for r in rows_of("sampler_defaults") if r["engine"] == kind)


def _fits(row: Row, version: str | None) -> bool:
    """Whether the row may hold for `version`: it does unless the version is surely outside."""
    too_old = row["since"] and version_at_least(version, row["since"]) is False
    too_new = row["before"] and version_at_least(version, row["before"]) is True
    return not too_old and not too_new


def _values(rows: list[Row], parameter: str) -> tuple[float, ...]:
    return tuple(sorted({float(r[parameter]) for r in rows if r[parameter]}))


def _by_surface(rows: list[Row], parameter: str) -> str:
    parts = (f"{float(r[parameter]):g} ({_where(r)})" for r in rows if r[parameter])
    return "; ".join(_unique(parts))


def _where(row: Row) -> str:
    return f"{row['surface']}, {row['version_range']}"


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(i for i in items if i))
