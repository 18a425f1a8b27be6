"""What a llama-server says of itself, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.importers.imported import ImportedDocument
from tests.importers.reading import findings, imported, place, value

PARAMETERS: dict[str, Any] = {
    "seed": 4294967295,
    "temperature": 0.800000011920929,
    "top_k": 40,
    "top_p": 0.949999988079071,
    "min_p": 0.05000000074505806,
    "repeat_penalty": 1.100000023841858,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "speculative.types": "none",
}

SAMPLER = {
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "repetition_penalty": 1.1,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}

PROPS: dict[str, Any] = {
    "default_generation_settings": {"params": PARAMETERS, "n_ctx": 16384},
    "total_slots": 2,
    "model_alias": "aurora",
    "model_ftype": "Q5_K - Medium",
    "model_path": "/srv/gguf/Aurora-9B.gguf",
    "build_info": "b9107-7c3e1ab",
    "chat_template": "{% for message in messages %}",
}

NAME = "Aurora-9B.gguf"


def _read(folder: Path, content: object) -> ImportedDocument:
    (report,) = imported(folder, json.dumps(content, indent=1), "props.json")
    assert report.importer.name == "llama-server-props"
    return report


def _configuration(report: ImportedDocument, name: str = NAME) -> Any:
    return value(report, f"/configurations/{name}")


def test_every_field_of_props(tmp_path: Path) -> None:
    report = _read(tmp_path, PROPS)
    assert report.tree == {
        "benchlint": "1",
        "engine": {"name": "llama.cpp"},
        "configurations": {
            NAME: {
                "target": {"name": NAME, "quantization": {"recipe": "Q5_K_M"}},
                "engine": {"version": "b9107", "commit": "7c3e1ab"},
                "kv_cache": {"max_context_tokens": 16384},
                "sampler": SAMPLER,
            }
        },
    }
    assert place(report, f"/configurations/{NAME}/sampler/top_p")[1] == "0.949999988079071"


def test_props_do_not_tell_whether_a_drafter_runs(tmp_path: Path) -> None:
    """They say `none` even while one does."""
    assert "drafter" not in _configuration(_read(tmp_path, PROPS))


def test_props_of_2024(tmp_path: Path) -> None:
    settings = {"n_ctx": 4096, "model": "models/Aurora-9B.gguf", "seed": 7, **PARAMETERS}
    settings["seed"] = 7
    report = _read(tmp_path, {"default_generation_settings": settings, "total_slots": 1})
    assert _configuration(report) == {
        "target": {"name": NAME},
        "kv_cache": {"max_context_tokens": 4096},
        "sampler": {**SAMPLER, "seed": 7},
    }


def _slot(number: int = 0, **more: object) -> dict[str, Any]:
    return {"id": number, "n_ctx": 8192, "speculative": True, "is_processing": False, **more}


USED = {**PARAMETERS, "temperature": 0.0, "seed": 11, "speculative.types": "none,draft-simple"}


def test_the_slot_that_worked_last(tmp_path: Path) -> None:
    idle = _slot(1, id_task=3, params={**USED, "temperature": 0.5})
    report = _read(tmp_path, [idle, _slot(id_task=9, params=USED)])
    assert _configuration(report, "llama-server") == {
        "kv_cache": {"max_context_tokens": 8192},
        "sampler": {**SAMPLER, "temperature": 0.0, "seed": 11},
        "drafter": {"method": "draft_model"},
    }


@pytest.mark.parametrize(
    ("types", "drafter"),
    [
        ("none,ngram-mod", {"method": "ngram"}),
        ("draft-mtp", {"method": "mtp"}),
        ("none,draft-simple,ngram-simple", [{"method": "draft_model"}, {"method": "ngram"}]),
        ("none", {}),
        (5, {}),
    ],
)
def test_types_in_a_slot(types: object, drafter: object, tmp_path: Path) -> None:
    slot = _slot(params={**USED, "speculative.types": types})
    assert _configuration(_read(tmp_path, [slot]), "llama-server")["drafter"] == drafter


def test_a_slot_without_a_drafter(tmp_path: Path) -> None:
    report = _read(tmp_path, [_slot(speculative=False)])
    assert _configuration(report, "llama-server")["drafter"] is None


def test_models(tmp_path: Path) -> None:
    meta = {"n_params": 9170000000, "size": 6520000000, "ftype": "Q5_K - Medium", "n_ctx": 8192}
    listed = {"object": "list", "data": [{"id": NAME, "owned_by": "llamacpp", "meta": meta}]}
    assert _configuration(_read(tmp_path, listed))["target"] == {
        "name": NAME,
        "parameters_b": 9.17,
        "quantization": {"file_size_gb": 6.52, "recipe": "Q5_K_M"},
    }


@pytest.mark.parametrize(
    "content",
    [
        {**PROPS, "default_generation_settings": []},
        {**PROPS, "default_generation_settings": {"params": 3, "n_ctx": "many"}},
        {**PROPS, "model_path": {"a": 1}, "build_info": 7},
        [_slot(params=[], id_task="x"), {"id": 1, "n_ctx": {}, "is_processing": None}],
        {"data": [{"owned_by": "llamacpp", "meta": 3}]},
        {"data": [], "x": '"owned_by"'},
        [_slot(params={**USED, "temperature": 1e999})],
    ],
)
def test_hostile_answers_never_raise(content: object, tmp_path: Path) -> None:
    findings(tmp_path, json.dumps(content), "props.json", tool="llama-server-props")
    findings(tmp_path, json.dumps(content), "props.json")
