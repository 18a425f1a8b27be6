"""What every page of this program keeps to, whatever it shows."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "link", "br"}
_SVG = {"svg", "g", "defs", "path", "use", "text", "tspan", "clipPath", "rect", "desc", "pattern"}
_BLOCKS = {"html", "head", "title", "style", "body", "header", "main", "footer", "nav", "section"}
_FLOW = {"a", "article", "code", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "h1"}
_MORE = {"h2", "h3", "h4", "li", "mark", "p", "pre", "span", "strong", "summary", "ul"}
_TABLES = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
_TAGS = {tag.lower() for tag in _VOID | _SVG | _BLOCKS | _FLOW | _MORE | _TABLES}
_ATTRIBUTES = re.compile(
    r"lang|charset|http-equiv|content|name|rel|href|id|class|role|tabindex|aria-[a-z]+|scope|open"
    r"|data-label|viewbox|xmlns|d|x|y|width|height|style|transform|clip-path|patternunits|fill"
)


@dataclass
class Element:
    """An element with what was said about it, and the text in it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """All elements below with this tag."""
        below = [found for each in self.inside for found in each.all(tag)]
        return [each for each in self.inside if each.tag == tag] + below

    @property
    def words(self) -> str:
        """Its text and that of all below, in order of the tree."""
        return " ".join(" ".join([self.text, *(e.words for e in self.inside)]).split())


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]
        self.declared = ""

    def handle_decl(self, decl: str) -> None:
        self.declared = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} comes twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:60]}")


def parsed(page: str) -> Element:
    """The page as a tree. Tags must be closed in the order in which they were opened."""
    tree = _Tree()
    tree.feed(page)
    tree.close()
    assert tree.declared == "DOCTYPE html"
    assert tree.open == [tree.root]
    return tree.root


def check_page(page: str) -> Element:
    """Hold a page to everything below; gives it as a tree."""
    text = page.replace("\n", "")
    assert text.isprintable() or all(map(_is_visible, text))
    root = parsed(page)
    elements = list(_walk(root))
    for element in elements:
        _check_element(element)
    _check_policy(root)
    _check_references(elements)
    _check_outline(root)
    return root


def _walk(element: Element) -> list[Element]:
    return [found for each in element.inside for found in (each, *_walk(each))]


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _check_element(element: Element) -> None:
    assert element.tag in _TAGS, element.tag
    for name, value in element.attributes.items():
        assert _ATTRIBUTES.fullmatch(name), f"{name} of {element.tag}"
        if name == "href":
            assert re.fullmatch(r"#[A-Za-z0-9_-]+", value) or (element.tag, value) == (
                "link",
                "data:,",
            )
        if "url(" in value:
            assert set(re.findall(r"url\(.", value)) == {"url(#"}
    if element.tag == "table":
        assert element.all("caption"), "a table without a caption"
    if element.tag == "th":
        assert element.attributes["scope"] in ("col", "row")
    if element.tag == "svg":
        assert [each.tag for each in element.inside[:2]] == ["title", "desc"]
    if {"scroll", "plot"} & set(element.attributes.get("class", "").split()):
        assert element.attributes["tabindex"] == "0"
        assert element.attributes["role"] == "region"


def _check_policy(root: Element) -> None:
    (policy,) = [
        each.attributes["content"]
        for each in root.all("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    (style,) = root.all("style")
    assert not re.search(r"url\(|@import|expression", style.text)


def _check_references(elements: list[Element]) -> None:
    counts = Counter(each.attributes["id"] for each in elements if "id" in each.attributes)
    assert not [name for name, count in counts.items() if count > 1]
    for element in elements:
        named = element.attributes.get("aria-labelledby", "").split()
        href = element.attributes.get("href", "")
        named += [href[1:]] if href.startswith("#") else []
        missing = set(named) - set(counts)
        assert not missing, f"{element.tag} names {missing}"


def _check_outline(root: Element) -> None:
    levels = [int(e.tag[1]) for e in _walk(root) if re.fullmatch(r"h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for before, after in pairwise(levels):
        assert after <= before + 1, f"a heading of level {after} follows one of {before}"
    assert len(root.all("main")) == 1
    assert root.all("html")[0].attributes["lang"] == "en"
