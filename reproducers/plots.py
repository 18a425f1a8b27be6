"""Plots as SVG for a page: drawn by matplotlib, coloured by the page's style sheet.

Colours are CSS variables, so that light and dark both fit; what tells lines and bars apart is
their marker or hatch as well. Each plot carries a title and a description, and the same numbers
as a table. The same plot is the same text each time. Labels come from reports: they are made
visible and short, and never read as mathematics.
"""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from benchlint.checker.formats.escape import terminal
from benchlint.checker.numbers import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import ScaledTranslation

#: Width of every plot in points; a phone shows it at about its size.
WIDTH = 310

#: Points beside the axes; at an end of them that may have a tick of "100 %", half of that.
_LEFT, _RIGHT, _TICK = 6.0, 12.0, 18.0

#: Characters of a label above a row and of one in a legend, lines and rows of a plot. What is
#: left out stands in the table.
LABEL = 52
LEGEND = 42
MAX_LINES = 8
MAX_TICKS = 8
MAX_SHARES = 6
MAX_ROWS = 30

#: Colours that stand for variables of the style sheet until the drawing is done.
INK, MUTED, LINE, GROUND = "#00f0a0", "#00f0b0", "#00f0c0", "#00f0d0"
GOOD, BAD, OPEN, NONE = "#00f0e1", "#00f0e2", "#00f0e3", "#00f0e4"
LINES = tuple(f"#00f00{i}" for i in range(1, MAX_LINES + 1))
_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    LINE: "line",
    GROUND: "ground",
    GOOD: "good",
    BAD: "bad",
    OPEN: "open",
    NONE: "none",
    **{color: f"c{i}" for i, color in enumerate(LINES, start=1)},
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), "-")

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "benchlint",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "hatch.color": GROUND,
    "hatch.linewidth": 1.2,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing and what it shows. svg: markup, safe as it is; all other texts are raw.

    key: unique in a page. note: how to read it. summary: a sentence for whoever does not see the
    drawing. head, rows: all numbers, those that had no room in the drawing too.
    """

    key: str
    title: str
    note: str
    summary: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its interval, if any. hatched: for what the others are compared with."""

    label: str
    value: float
    ends: tuple[float, float] | None = None
    hatched: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a line. far: those to be marked as lying far out, by their x."""

    label: str
    points: tuple[tuple[float, float], ...]
    far: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Range:
    """A measured interval beside what a claim allows, all as shares of the printed number.

    An end of `wanted` that is None is open. color: one of GOOD, BAD, OPEN, NONE.
    """

    label: str
    value: float
    ends: tuple[float, float] | None
    wanted: tuple[float | None, float | None]
    word: str
    color: str


def bars(
    key: str,
    title: str,
    unit: str,
    found: Sequence[Bar],
    *,
    note: str = "",
    limit: float | None = None,
) -> Plot:
    """Horizontal bars from zero with their intervals as whiskers. limit: drawn as a line."""
    drawn = found[:MAX_ROWS]
    document = _svg(lambda figure: _draw_bars(figure, drawn, unit, limit), _rows_height(drawn))
    best = max(found, key=lambda bar: bar.value)
    summary = f"{len(found)} bars; the longest is {best.label} with {shown(best.value)} {unit}."
    rows = tuple((b.label, shown(b.value), _ends(b.ends), b.note) for b in found)
    head = ("", unit, "95 % interval", "")
    svg = _inline(document, key, title, summary)
    return Plot(key, title, note + _left_out(found, drawn), summary, svg, head, rows)


def lines(
    key: str,
    title: str,
    axes: tuple[str, str],
    found: Sequence[Series],
    *,
    note: str = "",
    from_zero: bool = True,
) -> Plot:
    """Lines with a marker at each point. axes: what x and y are."""
    drawn = [_drawable(each) for each in found[:MAX_LINES]]
    height = _LINES_HEIGHT + _LEGEND_ROW * len(drawn)
    document = _svg(lambda f: _draw_lines(f, drawn, axes, from_zero=from_zero), height)
    told = "; ".join(map(_course, found[:MAX_LINES]))
    summary = f"{axes[1]} against {axes[0]}: {told}."
    rows = tuple((s.label, shown(x), shown(y)) for s in found for x, y in s.points)
    svg = _inline(document, key, title, summary)
    return Plot(key, title, note + _left_out(found, drawn), summary, svg, ("", *axes), rows)


def ranges(key: str, title: str, found: Sequence[Range]) -> Plot:
    """What was measured, as points with whiskers, on what claims allow, as bands."""
    drawn = found[:MAX_ROWS]
    document = _svg(lambda figure: _draw_ranges(figure, drawn), _rows_height(drawn))
    counts = Counter(each.word for each in found)
    summary = f"Of {len(found)}: {', '.join(f'{n} {word}' for word, n in counts.items())}."
    note = "Grey band: the printed number with its tolerance. Mark and whisker: what was measured."
    rows = tuple((r.label, r.word, _share(r.value), _shares(r.ends), _wanted(r)) for r in found)
    head = ("", "verdict", "measured", "interval", "printed, with tolerance")
    svg = _inline(document, key, title, summary)
    return Plot(key, title, note + _left_out(found, drawn), summary, svg, head, rows)


def _course(series: Series) -> str:
    return f"{series.label} from {shown(series.points[0][1])} to {shown(series.points[-1][1])}"


def _drawable(series: Series) -> Series:
    return replace(series, points=tuple(p for p in series.points if is_drawable(*p)))


def _left_out(found: Sequence[object], drawn: Sequence[object]) -> str:
    more = len(found) - len(drawn)
    return f" The first {len(drawn)}; {more} more are in the table." if more else ""


# Drawing

#: Points below axes for tick labels and the name of the axis; of a plot of lines without its
#: legend; of a row of a legend.
_BELOW = 34
_LINES_HEIGHT = 180
_LEGEND_ROW = 14.5


def _draw_bars(figure: Figure, found: Sequence[Bar], unit: str, limit: float | None) -> None:
    axes = _rows_axes(figure, [bar.label for bar in found], unit)
    for row, bar in enumerate(found):
        color, hatch = (MUTED, "////") if bar.hatched else (LINES[0], "")
        axes.barh(row, bar.value, 0.42, color=color, hatch=hatch, edgecolor=color)
        if bar.ends is not None:
            _whisker(axes, row, bar.ends, INK)
        axes.annotate(
            shown(bar.value, 3),
            (_tip(bar), row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    if limit is not None:
        axes.axvline(limit, color=BAD, linewidth=1.5, linestyle="--")
    axes.set_xlim(0, 1.18 * max(*map(_tip, found), limit or 0.0) or 1.0)


def _tip(bar: Bar) -> float:
    return bar.value if bar.ends is None else max(bar.value, bar.ends[1])


def _draw_ranges(figure: Figure, found: Sequence[Range]) -> None:
    axes = _rows_axes(figure, [f"{each.word}: {each.label}" for each in found], "", _TICK, _TICK)
    low, high = _extent(found)
    axes.set_xlim(low, high)
    axes.axvline(1.0, color=MUTED, linewidth=1, linestyle="--")
    for row, each in enumerate(found):
        left, right = each.wanted
        start, end = low if left is None else left, high if right is None else right
        axes.barh(row, end - start, 0.42, start, color=LINE, edgecolor=MUTED)
        if each.ends is not None:
            _whisker(axes, row, each.ends, each.color)
        marker = _MARKS[each.color]
        axes.plot([each.value], [row], marker, color=each.color, markersize=8, zorder=4)
    _percent_ticks(axes)
    axes.set_xlabel("share of the printed number")


_MARKS = {GOOD: "o", BAD: "X", OPEN: "D", NONE: "s"}


def _extent(found: Sequence[Range]) -> tuple[float, float]:
    """From where to where, with room; what lies very far out is not chased."""
    told = [end for each in found for end in (*(each.ends or ()), *each.wanted) if end is not None]
    told += [each.value for each in found]
    low, high = max(min([*told, 0.9]), 0.0), min(max([*told, 1.1]), 4.0)
    room = 0.06 * (high - low)
    return max(0.0, low - room), high + room


def _draw_lines(
    figure: Figure, found: Sequence[Series], names: tuple[str, str], *, from_zero: bool
) -> None:
    axes = _axes(figure, left=36, bottom=_BELOW + 10 + _LEGEND_ROW * len(found), top=20)
    for i, each in enumerate(found):
        x, y = [point[0] for point in each.points], [point[1] for point in each.points]
        look = {"color": LINES[i], "marker": MARKERS[i], "linestyle": DASHES[i]}
        axes.plot(x, y, label=_label(each.label, LEGEND), **look)
        far = [point for point in each.points if point[0] in each.far]
        axes.plot(*zip(*far, strict=True), "o", **_RING) if far else None
    axes.set_xlabel(names[0])
    axes.set_title(names[1], loc="left")
    axes.margins(y=0.12)
    if from_zero:
        axes.set_ylim(bottom=0)
    _whole_ticks(axes, {x for each in found for x, _ in each.points})
    figure.legend(loc="lower left", ncols=1, borderaxespad=0.2, labelspacing=0.3)


_RING: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": BAD}


def _rows_axes(
    figure: Figure, labels: Sequence[str], unit: str, left: float = _LEFT, right: float = _RIGHT
) -> Axes:
    """Axes with a label above each row, which leaves a phone's width to the bars."""
    axes = _axes(figure, left=left, bottom=_BELOW, top=4, right=right)
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(labels) - 0.65, -0.7)
    axes.set_xlabel(unit)
    for row, label in enumerate(labels):
        axes.text(
            *(0, row - 0.27, _label(label, LABEL)),
            transform=axes.get_yaxis_transform() + _to_the_left(figure, left - _LEFT),
            va="bottom",
        )
    return axes


def _to_the_left(figure: Figure, points: float) -> ScaledTranslation:
    from matplotlib.transforms import ScaledTranslation

    return ScaledTranslation(-points / 72, 0, figure.dpi_scale_trans)


def _axes(figure: Figure, *, left: float, bottom: float, top: float, right: float = _RIGHT) -> Axes:
    """Axes with these margins in points. Fixed ones take half the time of a layout engine."""
    width, height = 72 * figure.get_figwidth(), 72 * figure.get_figheight()
    return figure.add_axes(
        (
            left / width,
            bottom / height,
            (width - left - right) / width,
            (height - bottom - top) / height,
        )
    )


def _rows_height(rows: Sequence[object]) -> float:
    return _BELOW + 8 + 34 * len(rows)


def _whisker(axes: Axes, row: int, ends: tuple[float, float], color: str) -> None:
    axes.plot(ends, [row, row], color=color, linewidth=2, zorder=3)
    for end in ends:
        axes.plot([end, end], [row - 0.13, row + 0.13], color=color, linewidth=2, zorder=3)


def _whole_ticks(axes: Axes, found: set[float]) -> None:
    """Ticks at the values there are, or at round ones where those are many."""
    from matplotlib.ticker import MaxNLocator

    if len(found) <= MAX_TICKS:
        axes.set_xticks(sorted(found))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=MAX_TICKS, integer=True))


def _percent_ticks(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.xaxis.set_major_locator(MaxNLocator(nbins=MAX_SHARES, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def _label(text: str, room: int) -> str:
    """A label in one line; of a long one the start and the end, which tell arms apart."""
    line = terminal(text, 4 * LABEL)
    return line if len(line) <= room else f"{line[: room - 15]} … {line[-12:]}"


# Texts of the table


def _ends(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{shown(ends[0])} to {shown(ends[1])}"


def _share(value: float) -> str:
    return f"{shown(100 * value, 3)} %"


def _shares(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{shown(100 * ends[0], 3)} to {_share(ends[1])}"


def _wanted(each: Range) -> str:
    low, high = each.wanted
    if low is None or high is None:
        return f"{_share(low)} and more" if low is not None else f"{_share(high or 0)} and less"
    return _shares((low, high))


# From matplotlib to the page

_HEX = re.compile("#[0-9a-f]{6}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font-family:[^;]*;?\s*|(?<=font: )([0-9.]+px)[^;]*")
_NAMESPACE = re.compile(r"^\{[^}]*\}")


def _svg(draw: Callable[[Figure], None], height: float) -> str:
    """The drawing as matplotlib writes it: a document."""
    with _own_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH / 72, height / 72))
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


@contextmanager
def _own_settings() -> Iterator[None]:
    """matplotlib as this module wants it, whatever a `matplotlibrc` near the report says.

    That file is read from the current folder too, and may ask for LaTeX, which runs what it is
    given. Fonts that lack a character are the reader's to choose, so nothing is said of them.
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        mpl.rcdefaults()
        for name, value in _STYLE.items():
            mpl.rcParams[name] = value
        yield


def _inline(document: str, key: str, title: str, summary: str) -> str:
    """The `svg` element alone: without namespaces, with ids of its own and the page's colours.

    key: makes the ids unique in a page.
    """
    root = ElementTree.fromstring(document)  # noqa: S314 - matplotlib wrote it
    for parent in list(root.iter()):
        for child in list(parent):
            if _bare(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _bare(element.tag)
        element.attrib = dict(_attributes(element.attrib, key))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{key}-title {key}-desc"}
    for i, (name, text) in enumerate((("title", title), ("desc", summary))):
        told = ElementTree.Element(name, {"id": f"{key}-{name}"})
        told.text = terminal(text, 2_000)
        root.insert(i, told)
    return ElementTree.tostring(root, encoding="unicode")


def _attributes(attributes: Mapping[str, str], key: str) -> Iterator[tuple[str, str]]:
    for name, value in attributes.items():
        bare = _bare(name)
        if bare == "id":
            yield bare, f"{key}-{value}"
        elif bare == "href":
            yield bare, f"#{key}-{value.removeprefix('#')}"
        else:
            yield bare, _recolored(_REFERENCE.sub(rf"url(#{key}-\1)", value))


def _recolored(value: str) -> str:
    style = _FONT.sub(r"\1", value)
    return _HEX.sub(lambda m: f"var(--{_VARIABLES[m[0]]})" if m[0] in _VARIABLES else m[0], style)


def _bare(name: str) -> str:
    return _NAMESPACE.sub("", name)


def is_drawable(*values: float) -> bool:
    """Whether numbers can stand on an axis."""
    return all(math.isfinite(value) and abs(value) < 1e12 for value in values)
