"""Getting at bytes: whatever stands at a path, the answer is a source or one finding."""

from __future__ import annotations

import io
import os
import socket
from pathlib import Path

import pytest

from benchlint.checker.finding import Finding, Severity
from benchlint.checker.source import Source, read_lines, read_source, read_stdin

LIMIT = 1000


def _finding(path: str | Path) -> Finding:
    result = read_source(path, limit_bytes=LIMIT)
    assert isinstance(result, Finding)
    return result


def _unreadable(path: str | Path) -> str:
    finding = _finding(path)
    assert (finding.code, finding.severity) == ("BL013", Severity.ERROR)
    return finding.message


class TestFiles:
    def test_a_file_is_read_whole(self, tmp_path: Path) -> None:
        file = tmp_path / "report.json"
        file.write_bytes(b"{}\r\n")
        assert read_source(file, limit_bytes=LIMIT) == Source(str(file), b"{}\r\n")

    def test_a_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_bytes(b"{}")
        link = tmp_path / "link.json"
        link.symlink_to("report.json")
        assert read_source(link, limit_bytes=LIMIT) == Source(str(link), b"{}")

    def test_absent(self, tmp_path: Path) -> None:
        assert _unreadable(tmp_path / "none.json") == "there is no such file"

    def test_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        assert _unreadable(tmp_path / "file" / "x.json").startswith("the file cannot be read")

    def test_folder(self, tmp_path: Path) -> None:
        assert _unreadable(tmp_path) == "this is a folder, not a file"

    def test_link_to_nothing(self, tmp_path: Path) -> None:
        link = tmp_path / "link.json"
        link.symlink_to("nowhere")
        assert _unreadable(link) == "the link leads to nothing"

    def test_links_in_a_circle(self, tmp_path: Path) -> None:
        link = tmp_path / "link.json"
        link.symlink_to(link)
        assert _unreadable(link).startswith("the file cannot be read")

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe.json"
        os.mkfifo(pipe)
        finding = _finding(pipe)
        assert finding.message == "this is a pipe, not a file"
        assert "benchlint check -" in finding.help

    def test_socket(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # the path of a socket may have some hundred characters
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("s")
            assert _unreadable("s") == "this is a device or a socket, not a file"

    def test_device_behind_a_link(self, tmp_path: Path) -> None:
        link = tmp_path / "zero.json"
        link.symlink_to("/dev/zero")
        assert _unreadable(link) == "this is a device or a socket, not a file"

    def test_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "report.json"
        file.write_bytes(b"{}")

        def refuse(*_: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)  # tests may run as root, whom nothing stops
        finding = _finding(file)
        assert finding.message == "the file cannot be read: Permission denied"
        assert "right" in finding.help

    def test_swapped_for_a_folder_after_the_look(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "report.json"
        file.write_bytes(b"{}")
        really_open = os.open
        monkeypatch.setattr(os, "open", lambda _, flags: really_open(tmp_path, flags))
        assert _unreadable(file) == "this is a folder, not a file"

    @pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "a\ud800b", ""])
    def test_paths_that_are_none(self, path: str) -> None:
        _unreadable(path)


class TestLimit:
    def test_a_file_of_the_limit_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "report.json"
        file.write_bytes(b"x" * LIMIT)
        assert read_source(file, limit_bytes=LIMIT) == Source(str(file), b"x" * LIMIT)

    def test_a_byte_more_is_too_large(self, tmp_path: Path) -> None:
        file = tmp_path / "report.json"
        file.write_bytes(b"x" * (LIMIT + 1))
        finding = _finding(file)
        assert finding.code == "BL008"
        assert finding.message == "the file has 1,001 bytes, over the limit of 1,000"

    def test_a_terabyte_is_not_read(self, tmp_path: Path) -> None:
        file = tmp_path / "report.json"
        with file.open("wb") as stream:
            stream.truncate(1 << 40)
        assert _finding(file).code == "BL008"

    def test_stdin_is_read_up_to_the_limit(self) -> None:
        assert read_stdin("<stdin>", 4, io.BytesIO(b"1234")) == Source("<stdin>", b"1234")

    def test_stdin_is_not_read_beyond_the_limit(self) -> None:
        stream = io.BytesIO(b"x" * 100_000)
        finding = read_stdin("<stdin>", LIMIT, stream)
        assert isinstance(finding, Finding)
        assert finding.code == "BL008"
        assert stream.tell() == LIMIT + 1

    def test_closed_stdin(self) -> None:
        stream = io.BytesIO()
        stream.close()
        finding = read_stdin("<stdin>", LIMIT, stream)
        assert isinstance(finding, Finding)
        assert finding.code == "BL013"


class TestLines:
    def test_lines_keep_their_ends(self) -> None:
        assert list(read_lines(io.BytesIO(b"a\n\nb"), LIMIT)) == [b"a\n", b"\n", b"b"]

    def test_a_line_over_the_limit_is_passed_over(self) -> None:
        stream = io.BytesIO(b"a\n" + b"x" * 200_000 + b"\nb\n")
        first, long, last = read_lines(stream, 10)
        assert (first, last) == (b"a\n", b"b\n")
        assert isinstance(long, Finding)
        assert long.code == "BL008"
        assert long.location is not None
        assert long.location.line == 2

    @pytest.mark.parametrize("length", [9, 10])
    @pytest.mark.parametrize("end", [b"", b"\n"])
    def test_the_limit_is_without_the_line_feed(self, length: int, end: bytes) -> None:
        line = b"x" * length + end
        assert list(read_lines(io.BytesIO(line), 10)) == [line]

    def test_a_line_at_the_limit_does_not_swallow_the_next(self) -> None:
        lines = list(read_lines(io.BytesIO(b"x" * 11 + b"\nab\n"), 10))
        assert lines[1:] == [b"ab\n"]

    def test_a_disk_that_fails(self) -> None:
        class Failing(io.BytesIO):
            def readline(self, _: int | None = -1, /) -> bytes:
                raise OSError(5, "Input/output error")

        (finding,) = read_lines(Failing(), LIMIT)
        assert isinstance(finding, Finding)
        assert (finding.code, finding.message) == (
            "BL013",
            "the file cannot be read: Input/output error",
        )
