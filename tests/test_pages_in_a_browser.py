"""Pages opened by a real browser: nothing runs, nothing is asked for, nothing breaks at 320 px.

Each page stands in a frame of a given width, in a page of the test whose script measures it.
All requests go to a proxy of the test, which answers none and remembers them. Skipped where
there is no Chromium.
"""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchlint.checker.finding import FileResult
from benchlint.checker.formats import Options, Summary, make_format
from tests.poisons import POISONS
from tests.test_verdict_page import hostile_finding, hostile_page, page
from tests.verdict_samples import FINDINGS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--allow-file-access-from-files", "--proxy-bypass-list=<-loopback>"),
)
WIDTHS = (320, 768, 1280)
DARK = "--blink-settings=preferredColorScheme=0"

MEASURE = """
<script>
function of(frame) {
  const page = frame.contentDocument, root = page.documentElement;
  const wide = [...page.body.querySelectorAll("*")].filter(
    e => !e.closest(".scroll, .plot, .skip, thead") && e.getBoundingClientRect().right > frame.width
  );
  const badges = [...page.querySelectorAll("td .badge")];
  const right = e => e.getBoundingClientRect().right;
  const over = e => right(e) > right(e.closest("td"));
  return {
    name: frame.name, width: root.scrollWidth, ran: typeof frame.contentWindow.ran,
    ground: getComputedStyle(page.body).backgroundColor,
    ink: getComputedStyle(page.body).color,
    drawn: [...page.querySelectorAll(".plot text")].every(e => e.getBBox().width > 0),
    wide: wide.map(e => e.outerHTML.slice(0, 200)),
    over: badges.filter(over).map(e => e.textContent),
    scripts: page.scripts.length, images: page.images.length,
  };
}
addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(of);
  document.body.textContent = "\\u2045" + JSON.stringify(found) + "\\u2046";
});
</script>
"""


@dataclass
class Proxy:
    """Takes connections, remembers what they ask for, and answers nothing."""

    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self.asked.append(connection.recv(2_000).decode("latin-1").split("\r\n")[0])
                connection.sendall(b"HTTP/1.1 404 none\r\nContent-Length: 0\r\n\r\n")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.close()


def run(proxy: Proxy, folder: Path, document: str, *options: str) -> str:
    """What the browser writes to standard output after it has loaded a document."""
    path = folder / "page.html"
    path.write_text(document, "utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    server = f"--proxy-server=127.0.0.1:{proxy.port}"
    command = [str(CHROMIUM), *OPTIONS, profile, server, *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()


def measured(
    proxy: Proxy, folder: Path, pages: dict[str, str], *options: str
) -> dict[str, dict[str, Any]]:
    frames = "".join(
        f'<iframe name="{name} {width}" width="{width}" height="600" srcdoc="{html.escape(text)}">'
        "</iframe>"
        for name, text in pages.items()
        for width in WIDTHS
    )
    document = f'<!DOCTYPE html><meta charset="utf-8">{MEASURE}<body>{frames}'
    shown = run(proxy, folder, document, "--dump-dom", *options)
    (found,) = re.findall("\u2045(.*)\u2046", html.unescape(shown), re.DOTALL)
    return {each["name"]: each for each in json.loads(found)}


def findings_page(poison: str) -> str:
    stream = io.StringIO()
    writer, summary = make_format("html", stream, Options()), Summary()
    writer.begin()
    for name in ("a", "b"):
        found = tuple(hostile_finding(finding, poison) for finding in FINDINGS)
        result = FileResult(f"{name}{poison}.json", found)
        summary.add(result)
        writer.add(result)
    writer.end(summary)
    return stream.getvalue()


def attack(scheme: str) -> str:
    """Every way to make a browser run or fetch something, were it taken as markup."""
    return (
        f"\"'><img src={scheme}a onerror=ran=1><script>ran=1</script><svg onload=ran=1>"
        f"</style></title><link rel=stylesheet href={scheme}b><iframe src={scheme}c></iframe>"
        f"<a href=javascript:ran=1>{scheme}d</a>{{{{ 7*191 }}}}{POISONS['directions']}\0"
        + "unbroken"
        * 500
    )


HOSTILE = attack("http://hostile.test/")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Pages by name; "control" is one that does what the others must not do."""
    harmful = "<!DOCTYPE html><script>ran=1</script><img src=http://control.test/a>"
    return {
        "verdict": page(),
        "hostile": hostile_page(HOSTILE),
        "findings": findings_page(""),
        "hostile findings": findings_page(HOSTILE),
        "control": f"{harmful}<p style='width:2000px'>wide",
    }


@pytest.fixture(scope="module")
def light(
    proxy: Proxy, pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    return measured(proxy, tmp_path_factory.mktemp("light"), pages)


def _of_pages(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for name, each in found.items() if not name.startswith("control")]


def test_no_script_runs_and_no_element_is_made(light: dict[str, dict[str, Any]]) -> None:
    assert light["control 320"]["ran"] == "number"
    for each in _of_pages(light):
        assert (each["ran"], each["scripts"], each["images"]) == ("undefined", 0, 0), each["name"]


def test_no_request_leaves(light: dict[str, dict[str, Any]], proxy: Proxy) -> None:
    assert light
    assert [asked for asked in proxy.asked if "control.test" in asked]
    assert not [asked for asked in proxy.asked if "hostile" in asked]


def test_nothing_is_wider_than_the_screen(light: dict[str, dict[str, Any]]) -> None:
    assert light["control 320"]["width"] > 320
    for each in _of_pages(light):
        width = int(each["name"].split()[-1])
        assert each["wide"] == [], each["name"]
        assert each["width"] <= width, each["name"]


def test_no_verdict_stands_over_what_is_beside_it(light: dict[str, dict[str, Any]]) -> None:
    for each in _of_pages(light):
        assert each["over"] == [], each["name"]


def test_plots_are_drawn(light: dict[str, dict[str, Any]]) -> None:
    assert all(each["drawn"] for each in _of_pages(light))


def test_the_page_follows_the_readers_colours(
    light: dict[str, dict[str, Any]], proxy: Proxy, pages: dict[str, str], tmp_path: Path
) -> None:
    kept = {name: pages[name] for name in ("verdict", "findings")}
    dark = measured(proxy, tmp_path, kept, DARK)
    for name, each in dark.items():
        assert _brightness(light[name]["ground"]) > 240 > 40 > _brightness(light[name]["ink"])
        assert _brightness(each["ground"]) < 40 < 200 < _brightness(each["ink"])


def _brightness(color: str) -> float:
    return sum(map(float, re.findall(r"\d+", color)[:3])) / 3


def test_it_prints(proxy: Proxy, pages: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "page.pdf"
    run(proxy, tmp_path, pages["verdict"], f"--print-to-pdf={out}", "--no-pdf-header-footer")
    printed = out.read_bytes()
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 40
