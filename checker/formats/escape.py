"""How hostile text is made harmless, one function per channel.

Everything that comes from a report or a file name goes through one of these before it is
written, names and messages of findings too: a message quotes the report.
"""

from __future__ import annotations

import json
import re
import unicodedata

CUT_AT = 400

_SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# Characters of XML 1.0, section 2.2, that `terminal` lets through are all legal in XML.
_XML_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
# HTML before version 5 knew no &apos;.
_HTML_ENTITIES = {**_XML_ENTITIES, "'": "&#39;"}
_XML_SPECIAL = re.compile("[&<>\"']")
_BACKTICKS = re.compile("`+")


def cut(text: str, limit: int = CUT_AT) -> str:
    """`text`, at most `limit` characters long; an ellipsis stands for what was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def terminal(text: str, limit: int = CUT_AT) -> str:
    r"""One line that cannot move a cursor, change a colour, hide or reorder what is shown.

    Controls become `\x1b`, all other characters that show nothing of their own (direction
    marks, zero-width characters, line separators, lone surrogates, unassigned and private
    ones) become `<U+202E>`. Spaces of any width stay.
    """
    if len(text) <= limit and text.isprintable() and "##[" not in text:
        return text  # nearly always
    short = cut(text, limit)
    return uncommanded(short if short.isprintable() else "".join(map(visible, short)))


def uncommanded(text: str) -> str:
    """`text` without the mark of a legacy workflow command, whose log any output may come to.

    GitHub's runner acts on `##[command]` anywhere in a line (actions/runner, ActionCommand.cs,
    `TryParse`). For the other mark see `at_line_start`.
    """
    return text.replace("##[", "# #[")


def at_line_start(text: str) -> str:
    """`text` in quotes where a line that begins with it, after spaces, would be a command.

    Source: `TryParseV2` in the same file.
    """
    return f"'{text}'" if text.lstrip().startswith("::") else text


def visible(char: str) -> str:
    """The character, or a visible escape where it would show nothing of its own."""
    if _is_shown(char):
        return char
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    point = ord(char)
    return f"\\x{point:02x}" if unicodedata.category(char) == "Cc" else f"<U+{point:04X}>"


def json_uncommanded(text: str) -> str:
    """JSON text without that mark, which can stand in strings alone; they stay the same."""
    return text.replace("##[", r"#\u0023[")


def width(text: str) -> int:
    """How many columns `text` takes in a terminal. East Asian wide characters take two."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def to_json(value: object, indent: int | None = None) -> str:
    r"""`value` as JSON text that is safe to print and that every parser takes.

    What a terminal could act on or would hide is written as `\uXXXX`, which loses nothing.
    Lone surrogates, which many parsers reject, become U+FFFD.
    """
    text = json_uncommanded(json.dumps(value, ensure_ascii=False, indent=indent))
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" else _json_char(char) for char in text)


def github_data(text: str) -> str:
    """The message of a workflow command. Line breaks in `text` are kept as breaks.

    Source: actions/toolkit, packages/core/src/command.ts, `escapeData`.
    """
    return uncommanded(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """A property of a workflow command (`escapeProperty` in the same file)."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def xml(text: str, limit: int = CUT_AT) -> str:
    """Text for XML 1.0, in an element or an attribute. Illegal characters become visible."""
    return _XML_SPECIAL.sub(lambda match: _XML_ENTITIES[match[0]], terminal(text, limit))


def html(text: str, limit: int = CUT_AT) -> str:
    """Text for HTML, in an element or a quoted attribute; never in a script or a style."""
    return _XML_SPECIAL.sub(lambda match: _HTML_ENTITIES[match[0]], terminal(text, limit))


def markdown(text: str, limit: int = CUT_AT) -> str:
    """A code span that is one table cell's worth: no mention, link, image, HTML or break.

    GitHub finds mentions in the rendered text, so neither a backslash nor an entity stops
    them; in a code span it looks for none. Cells are split at bars before code spans are
    seen, and parsers disagree about a bar after two backslashes: a space keeps them apart.
    """
    shown = terminal(text, limit).strip() or "(empty)"
    shown = shown.replace("\\|", "\\ |").replace("|", "\\|")
    longest = max(map(len, _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _is_shown(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _json_char(char: str) -> str:
    if _is_shown(char):
        return char
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return json.dumps(char)[1:-1]
