"""Which importer reads a file, and what is said of files that none reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benchlint.app import app
from benchlint.checker.importers import registry
from benchlint.checker.importers.building import Building
from benchlint.checker.importers.importer import Confidence, Head, Imported, Importer, Source
from benchlint.checker.importers.registry import importers
from tests.importers.reading import findings, imported, place

TEST = {"build_commit": "abc", "build_number": 9000, "model_type": "llama 8B Q8_0"}
TEST |= {"n_prompt": 0, "n_gen": 256, "avg_ns": 8 * 10**9, "avg_ts": 32.0}


def _check(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["check", "--no-config", *words], input=stdin)


@pytest.mark.parametrize("name", ["a.json", "a.txt", "a", "a.log", "a.jsonl"])
def test_the_name_does_not_matter(name: str, tmp_path: Path) -> None:
    (report,) = imported(tmp_path, json.dumps(TEST), name)
    assert report.importer.name == "llama-bench"
    assert place(report, "/runs/0/decode/tokens") == (1, "256")


def test_standard_input() -> None:
    result = _check("-", stdin=json.dumps([TEST], indent=1))
    assert result.exit_code == 0
    assert "<stdin>: missing" in result.stdout


def test_utf_16_as_a_shell_redirects_it(tmp_path: Path) -> None:
    text = "| method | tok/s | acceptance |\n|---|---|---|\n| mtp | 60.0 | 50% |\n"
    (report,) = imported(tmp_path, text.encode("utf-16"), "out.txt")
    assert place(report, "/runs/0/decode/tok_s") == (3, "60.0")


def test_reports_of_our_own_are_read_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"benchlint": "1", "build_commit": 1}')
    assert "BL004 unknown-field" in _check(str(path)).stdout


def test_from_forces_an_importer(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| model | test | t/s |\n|---|---|---|\n| x 7B Q4_0 | tg128 | 30.0 ± 0.1 |\n")
    assert _check("--from", "llama-bench", str(path)).exit_code == 0
    result = _check("--from", "llamabench", str(path))
    assert result.exit_code == 2
    assert "did you mean 'llama-bench'" in result.stderr


def test_findings_of_a_file_that_is_imported_are_not_fixed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text := json.dumps([{**TEST, "backends": "hf_" + "a1B2" * 9}]))
    result = _check("--fix", str(path))
    assert "BL701" in result.stdout
    assert path.read_text() == text


def test_nothing_checked_is_said(tmp_path: Path) -> None:
    other, good = tmp_path / "package.json", tmp_path / "bench.json"
    other.write_text('{"name": "demo"}')
    good.write_text(json.dumps([TEST]))
    assert _check(str(other)).exit_code == 2
    assert _check("--ignore", "BL014", str(other)).exit_code == 2
    both = _check(str(other), str(good))
    assert both.exit_code == 0
    assert "note BL014" in both.stdout


_SHOWN = "```json block in line 6 has the members of a report"


@pytest.mark.parametrize(
    ("fence", "block", "told"),
    [
        ("```json", '{"benchlint": "1", "rusn": []}', True),
        ("~~~ JSON ", '{"engine": {"name": "vLLM"}, "runs": [{"id": "a", "speedup": 2}]}', True),
        ("```json", '{"name": "demo", "version": "1.0.0"}', False),
        ("```json", '{"title": "demo"}', False),
        ("```json", '{"runs": [{"status": "done", "url": "x"}]}', False),
        ("```json", '{"benchlint": "1", "runs": [', False),
        ("```json", '[{"benchlint": "1"}]', False),
        ("```json5", '{"benchlint": "1"}', False),
    ],
)
def test_of_a_report_that_a_page_only_shows_it_is_said_how_the_page_carries_it(
    tmp_path: Path, fence: str, block: str, told: bool
) -> None:
    page = tmp_path / "page.md"
    others = "```json\n{}\n```\n\n\n"
    page.write_text(f"{others}{fence}\n{block}\n{fence[:3]}\n", "utf-8")
    result = _check("--format", "jsonl", str(page))
    (found,) = map(json.loads, result.stdout.splitlines())
    assert (found["code"], _SHOWN in found["help"]) == ("BL014", told)
    page.write_text(f"```benchlint\n{block}\n```\n", "utf-8")
    assert ("BL014" not in _check(str(page)).stdout) or not told


def test_a_folder_is_searched_for_reports_only(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text(json.dumps([TEST]))
    assert _check(str(tmp_path)).exit_code == 2


# --- several importers -----------------------------------------------------------------------


def _named(name: str, confidence: Confidence, **changes: Any) -> Importer:
    """An importer of texts that begin with LOG, as sure as it is told to be."""

    def recognise(head: Head) -> Confidence:
        return confidence if head.text.startswith("LOG") else Confidence.NO

    importer = replace(importers()[0], name=name, recognise=recognise, read=_read, hints={})
    return replace(importer, **changes)


def _read(source: Source) -> Iterator[Imported]:
    building = Building()
    for count, line in enumerate(source.lines(), 1):
        if line.text == "RESULT":
            run = building.run("served")
            building.put((*run, "decode", "tokens"), line.found(count, (0, 6)))
    yield Imported.of("llama-bench", building)


def _register(monkeypatch: pytest.MonkeyPatch, *added: Importer) -> None:
    known = (*importers(), *added)
    monkeypatch.setattr(registry, "importers", lambda: known)


def test_two_that_are_as_sure_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maybe = Confidence.MAYBE
    _register(monkeypatch, _named("one", maybe), _named("two", maybe))
    (finding,) = findings(tmp_path, "LOG\n")
    assert finding.message == "this may be output of one or two"
    assert "--from one" in finding.help


def test_the_surest_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, _named("one", Confidence.MAYBE), _named("two", Confidence.SURE))
    (report,) = imported(tmp_path, "LOG\nRESULT\n")
    assert place(report, "/runs/0/decode/tokens") == (2, "RESULT")


def test_the_size_limit_holds_for_what_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "LOG\n" + "x" * 99 + "\n"
    long = text + ("y" * 99 + "\n") * 15_000 + "RESULT\n"
    _register(monkeypatch, _named("whole", Confidence.SURE))
    (finding,) = findings(tmp_path, long, "big.log")
    assert finding.code == "BL008"
    _register(monkeypatch, _named("log", Confidence.SURE, streams=True))
    (report,) = imported(tmp_path, long, "big.log")
    assert place(report, "/runs/0/decode/tokens") == (15_003, "RESULT")


def test_a_table_of_the_client_beside_the_log_of_the_server(tmp_path: Path) -> None:
    log = (
        "INFO 03-01 10:00:00 [metrics.py:1] SpecDecoding metrics: Mean acceptance length: 2.50, "
        "Accepted throughput: 75.0 tokens/s, Drafted throughput: 150.0 tokens/s, "
        "Accepted: 750 tokens, Drafted: 1500 tokens, "
        "Per-position acceptance rate: 0.800, 0.450, 0.250, Avg Draft acceptance rate: 50.0%\n"
    )
    table = (
        "=== measured ===\n"
        "  run-1  ttft=  160ms  toks=1000  decode_TPS= 49.50\n"
        "  run-2  ttft=  156ms  toks=1000  decode_TPS= 49.25\n\n"
    )
    of_server, of_client = imported(tmp_path, table + log, "bench.txt")
    assert (of_server.importer.name, of_client.importer.name) == ("vllm-log", "tables")
    assert [run["decode"]["tok_s"] for run in of_client.tree["runs"]] == [49.5, 49.25]
    (alone,) = imported(tmp_path, log + log.replace("10:00:00", "10:00:10"), "server.log")
    assert alone.importer.name == "vllm-log"
