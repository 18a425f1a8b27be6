"""What is known of the place where a report is run again, once each engine was asked.

An engine is set up for one arm and says what it is; nothing is measured. What two engines say
differently is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from benchlint.reproducers.conditions import Here
from benchlint.reproducers.discreet_engine import DiscreetEngine
from benchlint.reproducers.engine import Arm, Description, UnsupportedError
from benchlint.reproducers.engine_choice import ChosenEngines
from benchlint.reproducers.journal import Known
from benchlint.reproducers.machine import on_machine
from benchlint.reproducers.model_files import with_files
from benchlint.reproducers.telemetry import SharedServerError

#: What only one side of a comparison has.
_OF_DRAFTERS = ("drafter", "drafter_quantization", "drafter_sha256")


def place_of(chosen: ChosenEngines, arms: Iterable[Arm], machine: Mapping[str, Known]) -> Here:
    """What is known of the place.

    arms: those to be measured; each engine is started for the first of them that it can be set
    up for, and stays so. machine: as it stands in the journal's header. Raises EngineError
    where an engine does not answer.
    """
    told = list(_told(chosen, arms))
    found = [_told_place(chosen, each, machine) for each in told]
    return _in_common(found) if found else with_files(chosen.here, machine)


def _told(chosen: ChosenEngines, arms: Iterable[Arm]) -> Iterator[Description]:
    asked: list[DiscreetEngine] = []
    for arm in arms:
        engine = chosen.engines(arm)
        if any(engine is each for each in asked):
            continue
        try:
            # Its own words: this failure is for the user alone, who knows the address.
            description = engine.engine.start(arm)
        except (UnsupportedError, SharedServerError):
            continue
        asked.append(engine)
        yield description


def _told_place(
    chosen: ChosenEngines, description: Description, machine: Mapping[str, Known]
) -> Here:
    target, drafter = description.target, description.drafter
    parameters = target.get("parameters")
    known = with_files(chosen.here, machine)
    here = replace(
        known,
        threads=known.threads if description.threads is None else description.threads,
        engine=description.engine,
        version=description.version,
        commit=description.commit,
        target=_text(target.get("name")) or known.target,
        target_parameters_b=parameters / 1e9 if isinstance(parameters, int) else None,
        target_quantization=_text(target.get("quantization")) or known.target_quantization,
        drafter=_text(drafter.get("name")) or known.drafter,
        drafter_quantization=_text(drafter.get("quantization")) or known.drafter_quantization,
    )
    if chosen.target is None or description.backend is None:
        return here  # what works behind an address, or for an engine that keeps silent
    return on_machine(here, machine, on_cpu=description.backend == "CPU")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _in_common(places: list[Here]) -> Here:
    """What all places say alike; of drafters what any one says."""
    same: dict[str, Any] = {}
    for name in (each.name for each in fields(Here)):
        values = [getattr(each, name) for each in places]
        if name in _OF_DRAFTERS:
            values = [value for value in values if value is not None][:1] or [None]
        same[name] = values[0] if all(value == values[0] for value in values) else None
    return Here(**same)
