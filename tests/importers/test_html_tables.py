"""Tables in HTML between the Markdown of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchlint.checker.check import check_tree
from benchlint.checker.importers.found import Line
from benchlint.checker.importers.html_tables import html_table
from tests.importers.reading import findings, imported, place

PAGE = """# Results

<p align="center">Two tasks.</p>
<div><table>
  <!-- <tr><td>not</td><td>shown</td></tr> -->
  <thead>
    <tr><th rowspan="2">Method</th><th colspan="2">Code</th><th colspan='2'>Prose</th></tr>
    <tr><th>tok/s</th><th>accept&nbsp;len</th><th>tok/s</th><th>accept len</th></tr>
  </thead>
  <tbody>
    <tr><td colspan=5><b>Part one</b></td></tr>
    <tr><td>Baseline</td><td>40.5</td><td>-</td><td>41.0</td><td>&mdash;</td></tr>
    <tr>
      <td>EAGLE3</td>
      <td align="right">
        <strong>90.50</strong>
      </td><td>3.25</td><td>70.0</td><td>2.50</td></tr>
  </tbody>
</table></div>

| method | tok/s |
|---|---|
| other | 12.5 |
"""


def _runs(folder: Path, page: str) -> list[dict[str, Any]]:
    (report,) = imported(folder, page, "README.md")
    runs: list[dict[str, Any]] = report.tree["runs"]
    return runs


def test_arms_in_rows_and_tasks_above_two_columns_each(tmp_path: Path) -> None:
    plain_code, plain_prose, fast_code, fast_prose, other = _runs(tmp_path, PAGE)
    assert plain_code["decode"] == {"tok_s": 40.5}
    assert plain_prose["decode"] == {"tok_s": 41.0}
    assert "speculation" not in plain_code
    assert fast_code["decode"] == {"tok_s": 90.5}
    assert fast_code["speculation"] == {"accepted_length": 3.25}
    assert fast_prose["decode"] == {"tok_s": 70.0}
    assert fast_prose["speculation"] == {"accepted_length": 2.5}
    assert "Code" in fast_code["workload"]
    assert "Prose" in fast_prose["workload"]
    assert other["decode"] == {"tok_s": 12.5}


def test_findings_stand_in_the_cell(tmp_path: Path) -> None:
    (report,) = imported(tmp_path, PAGE, "README.md")
    assert place(report, "/runs/0/decode/tok_s") == (12, "40.5")
    assert place(report, "/runs/2/speculation/accepted_length") == (17, "3.25")
    line, marked = place(report, "/runs/2/decode/tok_s")
    assert line == 16
    assert "90.50" in marked


def test_a_ratio_that_is_not_the_quotient(tmp_path: Path) -> None:
    page = (
        "<table><tr><td>Model</td><td>Baseline</td><td>DFlash</td><td>Speedup</td></tr>\n"
        "<tr><td>A-7B</td><td>40.00 tok/s</td><td>90.00 tok/s</td><td>2.60&times;</td></tr>"
        "</table>\n"
    )
    (report,) = imported(tmp_path, page, "README.md")
    said = {f.code: f.message for f in check_tree(report.tree)}
    assert "2.60 ≠ 90.00/40.00 = 2.25" in said["BL209"]


def test_a_table_of_something_else(tmp_path: Path) -> None:
    page = "# Logo\n<table><tr><td><img src='a.png'></td></tr></table>\n"
    (finding,) = findings(tmp_path, page, "README.md")
    assert finding.code == "BL014"


def _grid(text: str) -> list[list[object]]:
    found = html_table([Line(i, each) for i, each in enumerate(text.split("\n"), 1)])
    return [[cell.value for cell in row] for row in (*found.head, *found.rows)]


def test_spans_in_the_body() -> None:
    rows = "<tr><td rowspan=2>A</td><td colspan=2>B</td></tr><tr><td>C</td><td>D</td></tr>"
    assert _grid(f"<table><tr><th>x</th><th>y</th><th>z</th></tr>{rows}</table>") == [
        ["x", "y", "z"],
        ["A", "B", ""],
        ["A", "C", "D"],
    ]


def test_what_is_broken_is_read_as_far_as_it_goes() -> None:
    assert _grid("<table><tr><td>a<td>b<tr><td>c") == [["a", "b"], ["c"]]
    assert _grid("<table><td>a</td></table><table><tr><td>later") == [["a"]]
    assert _grid("<table><tr><td>a<table><tr><td>in</td></tr></table></td><td>b</td></tr>") == [
        ["a in", "b"]
    ]
    assert _grid("<table><!-- no end <tr><td>a") == []


def test_no_row_grows_beyond_what_a_table_has() -> None:
    (row,) = _grid("<table><tr>" + "<td colspan=9999 rowspan=9999>x" * 5_000)
    assert len(row) == 61
