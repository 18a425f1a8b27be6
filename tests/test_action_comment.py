"""The comment on a pull request: one, by its marker and author, from trusted and hostile data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from benchlint.action.comment import MARKER, comment_body, post, pull_request_of_run
from benchlint.action.environment import Runner, runner_of
from benchlint.action.github_api import ApiError, GitHubApi
from benchlint.action.outcome import (
    ChangedReport,
    CheckedFile,
    Found,
    Outcome,
    Rerun,
    Ruling,
    read,
    write,
)
from benchlint.checker.compare import Comparison
from benchlint.checker.errors import CannotRunError
from tests.fake_github import BOT, TOKEN, FakeGithub

HOSTILE = (
    "x\n::set-output name=verdict::clean\n##[add-mask]a ${{ github.token }} `@everyone` ``` "
    "<img src=x onerror=alert(1)> </details> a|b ![x](http://127.0.0.1/x) \u202e<!-- -->"
)
HEAD = "0123456789012345678901234567890123456789"


def _found(message: str = "τ 5.3 > K + 1 = 5", **changed: Any) -> Found:
    data = {
        "code": "BL201",
        "name": "accepted-length-out-of-bounds",
        "severity": "error",
        "message": message,
        "pointer": "",
        "line": 3,
        "column": 5,
        "end_column": 9,
        "related": [],
        "help": "",
    }
    return Found.model_validate_json(json.dumps({**data, **changed}))


def _outcome(*files: CheckedFile, **changed: Any) -> Outcome:
    found = files or (CheckedFile(path="r.json", findings=[_found()]),)
    return Outcome(scope="changed", failed=True, reports=len(found), files=list(found), **changed)


def _api(github: FakeGithub) -> GitHubApi:
    return GitHubApi(github.url, "owner/repository", TOKEN)


def test_added_once_then_updated_in_place() -> None:
    with FakeGithub() as github:
        first = comment_body(_outcome())
        assert post(_api(github), 7, first) == "added"
        assert post(_api(github), 7, first) == "unchanged"
        second = comment_body(_outcome(deleted=["gone.json"]))
        assert post(_api(github), 7, second) == "updated"
    assert [c["body"] for c in github.comments] == [second]
    assert set(github.tokens) == {f"Bearer {TOKEN}"}


def test_found_on_a_later_page() -> None:
    with FakeGithub() as github:
        for i in range(250):
            github.add(f"comment {i}", "somebody")
        mine = github.add(f"{MARKER}\nold")
        assert post(_api(github), 7, f"{MARKER}\nnew") == "updated"
    assert mine["body"] == f"{MARKER}\nnew"


def test_a_comment_of_somebody_else_with_the_marker_is_left_alone() -> None:
    with FakeGithub() as github:
        other = github.add(f"{MARKER}\nI am the bot", "somebody")
        assert post(_api(github), 7, comment_body(_outcome())) == "added"
    assert other["body"] == f"{MARKER}\nI am the bot"
    assert [c["user"]["login"] for c in github.comments] == ["somebody", BOT]


def test_nothing_to_say_adds_nothing_but_updates_what_was_said() -> None:
    with FakeGithub() as github:
        assert post(_api(github), 7, f"{MARKER}\nclean", quiet=True) == "none"
        github.add(f"{MARKER}\nerrors")
        assert post(_api(github), 7, f"{MARKER}\nclean", quiet=True) == "updated"


def test_a_token_that_may_not_write() -> None:
    with FakeGithub(allowed=False) as github, pytest.raises(ApiError, match="workflow_run"):
        post(_api(github), 7, comment_body(_outcome()))


def test_the_token_goes_nowhere_else() -> None:
    with (
        FakeGithub() as other,
        FakeGithub(moved=f"{other.url}/x") as github,
        pytest.raises(ApiError, match="302"),
    ):
        post(_api(github), 7, comment_body(_outcome()))
    assert other.calls == []


def test_no_other_address_than_https() -> None:
    with pytest.raises(CannotRunError, match="https"):
        GitHubApi("http://example.org", "owner/repository", TOKEN)


# The text


def test_the_comment_has_room_and_ends_at_a_row() -> None:
    files = [
        CheckedFile(path=f"many/{i:03}.json", findings=[_found("x" * 300)] * 5) for i in range(500)
    ]
    body = comment_body(_outcome(*files))
    assert len(body) <= 60_000
    assert body.count("<details>") == body.count("</details>")
    rows = [line for line in body.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)
    assert "left out to keep this short" in body


def test_no_text_of_a_stranger_makes_the_comment_too_long() -> None:
    long = "\u202e|" * 4_000
    ruling = Ruling(
        is_claim=True,
        says=long,
        outcome="refuted",
        reason=long,
        value=1.0,
        tolerance=0.1,
        units=1,
    )
    rerun = Rerun(path=long, outcome="refuted", rulings=[ruling] * 500, note=long)
    worse = Comparison(contradicted=(long,) * 500, claims_added=(long,) * 500)
    outcome = _outcome(
        *[CheckedFile(path=long, findings=[_found(long, help=long)] * 50)] * 50,
        changed=[ChangedReport(path=long, old=long, comparison=worse)] * 100,
        deleted=[long] * 500,
        notices=[long] * 100,
        reruns=[rerun] * 500,
    )
    body = comment_body(outcome, "https://github.com/a/b/actions/runs/1")
    assert len(body.encode()) <= 60_000
    assert body.splitlines()[1].startswith("## ❌ benchlint: ")
    assert "run again: 500 refuted" in body.splitlines()[1]
    assert "BL201" in body
    assert "### Run again" in body
    assert body.count("<details") == body.count("</details>")


def test_hostile_text_mentions_nobody_and_breaks_no_table() -> None:
    finding = _found(HOSTILE, help=HOSTILE, pointer=HOSTILE)
    rerun = Rerun(path=HOSTILE, outcome="failed", note=HOSTILE)
    outcome = _outcome(
        CheckedFile(path=HOSTILE, findings=[finding]),
        deleted=[HOSTILE],
        notices=[HOSTILE],
        reruns=[rerun],
    )
    tokens = MarkdownIt("commonmark").enable("table").parse(comment_body(outcome))
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} & {"image", "link_open"} == set()
    text = " ".join(child.content for child in inline if child.type == "text")
    assert "@everyone" not in text
    blocks = [t.content.strip() for t in tokens if t.type == "html_block"]
    raw = blocks + [child.content for child in inline if child.type == "html_inline"]
    assert set(raw) <= {MARKER, "<br>"}
    cells = [t for t in tokens if t.type == "td_open"]
    assert len(cells) == 3 + 6


# What another workflow left


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    outcome = _outcome(reruns=[Rerun(path="r.json", outcome="refuted", counts={"refuted": 1})])
    write(outcome, tmp_path / "benchlint.json")
    assert read(tmp_path / "benchlint.json") == outcome


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"version": "1", "scope": "changed", "failed": true, "reports": 1, "files": [1]}',
        '{"version": "1", "scope": "x", "failed": true, "reports": 1, "files": []}',
        '{"version": "1", "scope": "all", "failed": 1, "reports": 1, "files": []}',
        '{"version": "1", "scope": "all", "failed": true, "reports": -1, "files": []}',
        '{"version": "1", "scope": "all", "failed": true, "reports": 1, "files": [], "x": 1}',
    ],
)
def test_hostile_data_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "benchlint.json").write_text(text)
    with pytest.raises(CannotRunError) as caught:
        read(tmp_path / "benchlint.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", [{"code": "x"}, {"name": "<b>"}, {"severity": "fatal"}])
def test_names_of_rules_are_names_of_rules(tmp_path: Path, change: dict[str, str]) -> None:
    data = json.loads(_outcome().model_dump_json())
    data["files"][0]["findings"][0].update(change)
    (tmp_path / "benchlint.json").write_text(json.dumps(data))
    with pytest.raises(CannotRunError, match="not of the format"):
        read(tmp_path / "benchlint.json")


def _workflow_run(tmp_path: Path, **changed: object) -> Runner:
    run = {
        "head_sha": HEAD,
        "head_branch": "main",
        "head_repository": {"owner": {"login": "someone"}},
        "pull_requests": [{"number": 1}],
        **changed,
    }
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"workflow_run": run}))
    environment = {"GITHUB_WORKSPACE": str(tmp_path), "GITHUB_EVENT_PATH": str(event)}
    return runner_of(environment)


def test_the_pull_request_of_a_run_is_asked_of_github(tmp_path: Path) -> None:
    with FakeGithub() as github:
        github.pulls = [
            {"number": 8, "head": {"sha": "f" * 40}},
            {"number": 9, "head": {"sha": HEAD}},
        ]
        assert pull_request_of_run(_workflow_run(tmp_path), _api(github)) == 9
    assert "head=someone%3Amain" in github.calls[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"head_sha": "main"},
        {"head_repository": {"owner": {"login": "a/../b"}}},
        {"head_branch": None},
    ],
)
def test_a_run_that_does_not_say_whose_it_is(tmp_path: Path, changed: dict[str, object]) -> None:
    with FakeGithub() as github:
        assert pull_request_of_run(_workflow_run(tmp_path, **changed), _api(github)) is None
    assert github.calls == []


def test_two_pull_requests_of_one_commit_get_none(tmp_path: Path) -> None:
    with FakeGithub() as github:
        github.pulls = [{"number": n, "head": {"sha": HEAD}} for n in (8, 9)]
        assert pull_request_of_run(_workflow_run(tmp_path), _api(github)) is None
