"""YAML, through PyYAML's parser (the extra `yaml`); only its events are used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from benchlint.checker.extras import how_to_install
from benchlint.checker.lines import Span
from benchlint.checker.loaded import Fault, FaultError, Loaded, depth_fault, empty_fault, not_read
from benchlint.checker.positions import NodePositions
from benchlint.checker.positions_yaml import Composer, YamlEvent, not_yaml
from benchlint.checker.tree import NOT_FINITE, without_not_finite

if TYPE_CHECKING:
    from yaml import YAMLError
    from yaml.events import Event


def load(text: str) -> Loaded:
    """The tree of a YAML text, and its faults."""
    try:
        import yaml
    except ImportError:
        return not_read(_not_installed())
    composer = Composer(_events(yaml, text))
    try:
        root = composer.document()
    except FaultError as error:
        return not_read(error.fault)
    except yaml.YAMLError as error:
        return not_read(_explained(error, text))
    except (ValueError, OverflowError) as error:  # an escape or version beyond Python's range
        return not_read(not_yaml(str(error), (0, 0)))
    if root is None:
        return not_read(empty_fault())
    tree = without_not_finite(root.value) if composer.faults else root.value
    return Loaded(
        None if tree is NOT_FINITE else tree,
        has_tree=tree is not NOT_FINITE,
        faults=composer.faults,
        positions=lambda: NodePositions(root.node),
    )


def _not_installed() -> Fault:
    message = "reading YAML needs PyYAML, which is not installed"
    return Fault("BL013", message, (0, 0), how_to_install("yaml"))


def _events(yaml: ModuleType, text: str) -> Iterator[YamlEvent]:
    """The events of the text, from the C parser where PyYAML was built with it."""
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        yield YamlEvent(
            type(event).__name__.removesuffix("Event"),
            (event.start_mark.index, event.end_mark.index),
            getattr(event, "value", None) or "",
            getattr(event, "tag", None),
            getattr(event, "tag", None) is None and _is_plain(event),
            getattr(event, "anchor", None) or "",
        )


def _is_plain(event: Event) -> bool:
    implicit = getattr(event, "implicit", None)
    return isinstance(implicit, tuple) and bool(implicit[0])


def _explained(error: YAMLError, text: str) -> Fault:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return _unreadable_character(error, text)
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or "it ends here"
    at = min(mark.index, max(0, len(text) - 1))
    if "nesting depth" in str(problem):  # libyaml reads ahead, up to 1,000 levels
        return depth_fault((at, at + 1))
    return not_yaml(str(problem), (at, at + 1), _hint(text, at, str(problem)))


def _hint(text: str, at: int, problem: str) -> str:
    if text[at : at + 1] == "\t":
        return "indent with spaces"
    if text[at : at + 1] in ("@", "`", "%"):
        return "put the value in quotes"
    if "mapping values are not allowed" in problem:
        return "put a value with a colon in it in quotes, and indent members alike"
    return ""


def _unreadable_character(error: YAMLError, text: str) -> Fault:
    span = _first_unprintable(text)
    reason = getattr(error, "reason", None) or "it cannot be read"
    return not_yaml(str(reason), span, "remove the character, or write it as an escape in quotes")


def _first_unprintable(text: str) -> Span:
    """The first character that YAML does not have (YAML 1.2.2, section 5.1)."""
    match = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    return match.span() if match else (0, 0)
