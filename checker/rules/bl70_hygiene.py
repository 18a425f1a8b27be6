"""BL701 to BL704: what should not be published with a report.

These rules see the raw tree: every string and every member's name, `extensions` included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from benchlint.checker.facts import TreeFacts
from benchlint.checker.finding import Severity
from benchlint.checker.lazy import once
from benchlint.checker.model import Block
from benchlint.checker.pointers import pointer
from benchlint.checker.registry import Problem, rule
from benchlint.checker.secrets import (
    NEEDLES,
    REDACTED,
    find_secrets,
    may_hold_secret,
    names_secret,
)

# --- every text of a tree --------------------------------------------------------------------

#: A place in a tree: the place above it and the last part; None is the top. A chain costs less
#: than a list of parts for each of many texts, of which few are ever pointed at.
Place = tuple["Place", "str | int"] | None

#: Names of members whose texts are prompts and outputs.
_CONTENT = frozenset({"inline", "repeat_texts"})


@dataclass(slots=True)
class Text:
    """A string of the tree, or the name of a member.

    name: the member that holds it; in a list, the option before it (`--api-key`).
    """

    text: str
    place: Place
    name: str
    is_key: bool

    @property
    def pointer(self) -> str:
        """Where it stands; for a name, the member."""
        return pointer(*self.parts)

    @property
    def parts(self) -> list[str | int]:
        """Names and indices from the top to here."""
        found: list[str | int] = []
        place = self.place
        while place is not None:
            place, part = place
            found.append(part)
        return found[::-1]

    @property
    def is_content(self) -> bool:
        """Whether it is a prompt or an output, which is material and not the author's word."""
        return not _CONTENT.isdisjoint(self.parts)


def texts(tree: object) -> list[Text]:
    """The strings and members' names of a tree that need a look, in order. Any depth."""
    wanted = _suspects(_strings(tree))
    found: list[Text] = []
    waiting: list[tuple[object, Place, str]] = [(tree, None, "")] if wanted else []
    while waiting:
        value, place, name = waiting.pop()
        if isinstance(value, str):
            if value in wanted:
                found.append(Text(value, place, name, is_key=False))
        elif isinstance(value, dict):
            names = (Text(key, (place, key), "", is_key=True) for key in value if key in wanted)
            found += names
            waiting += [(each, (place, key), key) for key, each in reversed(value.items())]
        elif isinstance(value, list):
            waiting += reversed(list(_items(value, place, name)))
    return found


def _items(items: list[object], place: Place, name: str) -> Iterator[tuple[object, Place, str]]:
    before = name
    for index, item in enumerate(items):
        if isinstance(item, str):
            yield item, (place, index), before
            before = item if item.startswith("-") else name
        else:
            yield item, (place, index), name


def _strings(tree: object) -> set[str]:
    """All strings and members' names of a tree, but the format's own names."""
    found = {tree} if isinstance(tree, str) else set[str]()
    level = [tree] if isinstance(tree, (dict, list)) else []
    while level:  # level by level, since a comprehension takes half the time of a loop
        objects = [each for each in level if type(each) is dict]
        lists = [each for each in level if type(each) is list]
        found.update(*objects)
        inside = [v for each in objects for v in each.values()]
        inside += [v for each in lists for v in each]
        found.update([v for v in inside if type(v) is str])
        level = [v for v in inside if type(v) is dict or type(v) is list]
    return found - _field_names()


@cache
def _field_names() -> frozenset[str]:
    """The names of the format's members. A text that is one of them is nobody's secret."""
    waiting, names = [Block], set[str]()
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        names |= model.model_fields.keys()
    return frozenset(names)


#: Every text that one of these rules reports has one of these in it, in lower case, or cannot
#: be printed, or is a secret by the name before it.
_MARKS = (
    *NEEDLES,
    *("@", "home", "users", "desktop-", "laptop-"),
    *("10.", "172.", "192.168.", "169.254.", "[f"),
)


def _suspects(strings: set[str]) -> set[str]:
    """Those of the strings that need a look: mostly none, which one pass over all can tell."""
    unknown = strings - _harmless
    joined = " ".join(unknown)
    lowered = joined.lower()
    if joined.isprintable() and not any(map(lowered.__contains__, _MARKS)):
        _remember(unknown)
        return set()
    if any(names_secret(each) for each in unknown):
        return strings
    return {each for each in unknown if _is_suspect(each)}


#: Short texts without any mark: the words of which reports are made.
_harmless: set[str] = set()
_MOST_HARMLESS = 4_096
_LONGEST_HARMLESS = 40


def _remember(texts: set[str]) -> None:
    if len(_harmless) > _MOST_HARMLESS:
        _harmless.clear()
    _harmless.update([text for text in texts if len(text) <= _LONGEST_HARMLESS][:_MOST_HARMLESS])


def _is_suspect(text: str) -> bool:
    return (
        not text.isprintable()
        or _may_be_personal(text)
        or _may_be_address(text)
        or may_hold_secret(text)
    )


@once
def _texts(facts: TreeFacts) -> tuple[Text, ...]:
    """The texts of a tree, for all rules here."""
    return tuple(texts(facts.tree))


@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source)


def _problem(text: Text, message: str, advice: str) -> Problem:
    at = text.pointer
    return Problem(at, message, help=advice, at_key=text.is_key, subject=at)


# --- secrets ---------------------------------------------------------------------------------

_MOST_SHOWN = 3


@rule("BL701", "secret", Severity.ERROR, "document", fixable=True)
def secret(facts: TreeFacts) -> Iterator[Problem]:
    """A key, token or password stands in the report.

    What it does:
        Looks in every string and member's name for keys and tokens in the form their vendors
        document, for long mixed values after `--api-key`, `HF_TOKEN=` and the like, and for
        passwords in URLs. At most four characters of one are shown. Stand-ins are silent:
        `$HF_TOKEN`, `<token>`, `sk-123456`, `EMPTY`, rows of `x`. In prompts and outputs only
        whole keys count.
    Why it matters:
        Whoever reads the report can use it. A published key must be taken as stolen.
    Example:
        `"command_line": "vllm serve … --api-key "` with a real key behind it
    Instead:
        `"command_line": "vllm serve … --api-key $API_KEY"`, and a new key from the vendor.
    Sources:
        The vendors' documentation of their token formats (GitHub, Hugging Face, OpenAI, AWS,
        Slack, Google), RFC 7519 (JSON Web Token), RFC 7468 (private keys), RFC 3986, 3.2.1
        (passwords in URLs).
    """
    for text in _texts(facts):
        found = find_secrets(text.text, text.name, forms_only=text.is_content)
        if found:
            shown = ", ".join(f"{s.kind} {s.shown(text.text)}" for s in found[:_MOST_SHOWN])
            more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
            yield _secret_problem(text, f"a secret is published: {shown}{more}")


def _secret_problem(text: Text, message: str) -> Problem:
    """The finding stands above any member whose name is the secret: a pointer is printed."""
    at = pointer(*takewhile(lambda part: not find_secrets(str(part)), text.parts))
    where = ", in the name of a member" if text.is_key else ""
    advice = f"have it revoked and write {REDACTED} or a variable in its place"
    return Problem(at, message + where, help=advice, subject=at)


# --- personal paths --------------------------------------------------------------------------

#: User names that name nobody: images, cloud machines, runners, stand-ins.
_NOBODY_PATTERN = (
    r"user(?:s|_?name)?|your[-_]?name|user[-_]name|name|me|you|someone|nobody|redacted|xxx+|foo|bar"
    r"|root|admin|administrator|shared|public|default|all|guest|nonroot"
    r"|ubuntu|debian|centos|fedora|ec2-user|azureuser|opc|cloud-user|vagrant|pi|linuxbrew"
    r"|docker|container|app|appuser|node|runner(?:admin)?|actions|jenkins|gitlab-runner"
    r"|codespace|vscode|coder|dev|developer|jovyan|kaggle|colab|sagemaker-user"
    r"|test|tester|demo|bench|benchmark|data|work|workspace|workdir|models?"
    r"|llms?|vllm|sglang|llama|ollama|lmstudio|nvidia|hf|huggingface"
)

_START = r"(?:^|(?<=[\s\"'=:,;(\[`<>@|]))(?:file://)?"
_PERSON = r"([^\s\"'`\\/:;,|<>(){}\[\]*?]+)"

#: Where a home folder is: Linux, macOS, Windows, Windows as WSL, Git Bash and Cygwin see it.
_HOME = (
    rf"{_START}(?:(?:/[\w.+-]{{1,40}}){{0,3}}/home|/Users|/(?:mnt/|cygdrive/)?[a-z]/Users"
    rf"|[A-Za-z]:[\\/]{{1,2}}Users)[\\/]{{1,2}}{_PERSON}"
)

#: `alice@workstation:~$`: a prompt that was copied with the command.
_PROMPT = (
    r"(?:^|(?<=[\s(\[]))([a-z_][a-z0-9_.-]{0,31})@([A-Za-z0-9][\w.-]{0,62}):[~/][^\s$#]{0,200}[$#]"
)

#: Host names of a home or office network: RFC 6762 (.local), RFC 8375 (home.arpa), and
#: `.internal`, which ICANN reserved for private use. Only as the host of a URL or after `@`.
_HOST = (
    r"(?:://|@)((?:[\w-]{1,63}\.){0,4}[\w-]{1,63}"
    r"\.(?:local|lan|internal|intranet|localdomain|home\.arpa))(?![\w.-])"
)

#: Names that Windows gives to new machines.
_WINDOWS_HOST = r"(?<![\w-])((?:DESKTOP|LAPTOP)-[A-Z0-9]{7})(?![\w-])"

#: Private names that are the same everywhere.
_COMMON_HOSTS = ("docker.internal", "containers.internal", "google.internal", "cluster.local")


@rule("BL702", "personal-path", Severity.WARNING, "document")
def personal_path(facts: TreeFacts) -> Iterator[Problem]:
    """A path, prompt or host name tells who or where the author is.

    What it does:
        Looks for home folders (`/home/NAME`, `/Users/NAME`, `C:\\Users\\NAME`), shell prompts
        (`name@host:~$`) and host names of private networks. Names that name nobody are silent
        (`/home/ubuntu`, `/home/user`, `/root`), and so are prompts and outputs of the model.
    Why it matters:
        The name of a person or a machine at home serves nobody who runs the benchmark again,
        and stays in the history of the file.
    Example:
        `"command_line": "llama-server -m /home/jdoe/models/target.gguf"`
    Instead:
        `"command_line": "llama-server -m models/target.gguf"`
    Sources:
        RFC 6762 (`.local`), RFC 8375 (`home.arpa`).
    """
    for text in _texts(facts):
        if _may_be_personal(text.text) and not text.is_content:
            found = list(dict.fromkeys(_personal(text.text)))
            if found:
                advice = "write a relative path, or a name that names nobody"
                yield _problem(text, "; ".join(found[:3]), advice)


def _may_be_personal(text: str) -> bool:
    """A cheap test that most texts fail."""
    return (
        "home" in text
        or "Users" in text
        or "@" in text
        or "://" in text
        or "DESKTOP-" in text
        or "LAPTOP-" in text
    )


def _personal(text: str) -> Iterator[str]:
    for match in _pattern(_HOME).finditer(text):
        if _is_somebody(match[1]):
            yield f"the home folder of {_cut(match[1])!r} stands in a path"
    for match in _pattern(_PROMPT).finditer(text):
        if _is_somebody(match[1]):
            yield f"a shell prompt names {_cut(match[1])!r} at {_cut(match[2])!r}"
    for match in _pattern(_HOST).finditer(text):
        if not match[1].lower().endswith(_COMMON_HOSTS):
            yield f"the private host name {_cut(match[1])!r} is published"
    for match in _pattern(_WINDOWS_HOST).finditer(text):
        yield f"the host name {match[1]!r} is published"


def _is_somebody(name: str) -> bool:
    """Whether a user name may be a person's: no stand-in, variable or common name."""
    if name.startswith((".", "-")) or "$" in name or "%" in name:
        return False
    plain = name.lower().strip(".-_")
    known = _pattern(_NOBODY_PATTERN).fullmatch(plain)
    return known is None and any(c.isalpha() for c in plain)


def _cut(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


# --- control characters ----------------------------------------------------------------------

#: In longer texts a zero-width character is taken for typography.
_SHORT = 64

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ZERO_WIDTH = frozenset("\u200b\u2060\ufeff\u180e\u00ad\u2061\u2062\u2063\u2064")

#: Joiners and direction marks have their use beside other scripts and in emoji.
_JOINERS = frozenset("\u200c\u200d\u200e\u200f\u061c")


@rule("BL703", "control-characters", Severity.WARNING, "document")
def control_characters(facts: TreeFacts) -> Iterator[Problem]:
    """A text holds characters that are not shown and may change what is.

    What it does:
        Reports control characters (except tab and newline in a value), direction overrides,
        and zero-width characters in names and short strings, where two ids can look alike and
        differ. Joiners in emoji and beside scripts that need them are silent.
    Why it matters:
        An escape sequence in a published file can rewrite a reader's terminal; a hidden
        character makes a reference dangle that looks right.
    Example:
        `"id": "baseline\\u200b"`
    Instead:
        `"id": "baseline"`
    Sources:
        Unicode Technical Report 36, "Unicode Security Considerations"; Boucher and Anderson,
        "Trojan Source", arXiv:2111.00169.
    """
    for text in _texts(facts):
        if not text.text.isprintable():
            found = list(dict.fromkeys(_hidden(text)))
            if found:
                yield _problem(text, _hidden_message(text, found), "take them out")


def _hidden_message(text: Text, found: list[str]) -> str:
    what = "the name of a member" if text.is_key else "the text"
    more = f" and {len(found) - 5} others" if len(found) > 5 else ""
    return f"{what} holds {', '.join(found[:5])}{more}"


def _hidden(text: Text) -> Iterator[str]:
    """The hidden characters, each as its code point."""
    value = text.text
    narrow = text.is_key or len(value) <= _SHORT
    for index, char in enumerate(value):
        if char.isprintable():
            continue
        if (
            _is_control(char, value[index + 1 : index + 2], text.is_key)
            or char in _BIDI
            or (narrow and _hides(char, value, index))
        ):
            yield f"U+{ord(char):04X}"


def _is_control(char: str, after: str, is_key: bool) -> bool:
    """C0, DEL, C1 and halves of a surrogate pair, but tabs and newlines of a value."""
    if char in "\t\n" or (char == "\r" and after == "\n"):
        return is_key
    return char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff"


def _hides(char: str, value: str, index: int) -> bool:
    """Whether the character is of no width and not needed where it stands."""
    if char in _ZERO_WIDTH:
        return True
    around = value[max(index - 1, 0) : index] + value[index + 1 : index + 2]
    return char in _JOINERS and around.isascii()


# --- private addresses -----------------------------------------------------------------------

#: RFC 1918, and RFC 3927 for link-local. Loopback says nothing about a network.
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_PRIVATE = rf"(?:10\.{_OCTET}|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254)\.{_OCTET}\.{_OCTET}"

#: Four numbers with dots may be a version. They are an address as a host, before a port or a
#: prefix length, after an option or word that says so, and where they start with 192.168.
_ADDRESS = (
    rf"(?i)(?:(?:://|@|(?<![a-z])(?:host|addr|address|ip|bind|listen|endpoint|server|node)"
    rf"[\"']?[ =:]{{1,3}}[\"']?)({_PRIVATE})(?![\d.]*\d)"
    rf"|(?<![\d.v-])({_PRIVATE})(?=:\d{{2,5}}(?!\d)|/\d{{1,2}}(?![\d.]))"
    rf"|(?<![\d.v-])((?:192\.168|169\.254)\.{_OCTET}\.{_OCTET})(?![\d.]*\d))"
)

#: RFC 4193 and RFC 4291, 2.5.6, in the brackets that a URL needs.
_ADDRESS_6 = r"(?i)\[((?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):[0-9a-f:]{1,40})(?:%\w{1,16})?\]"


@rule("BL704", "private-address", Severity.NOTE, "document")
def private_address(facts: TreeFacts) -> Iterator[Problem]:
    """An address of a private network stands in the report.

    What it does:
        Looks for private and link-local addresses in URLs, with a port and behind options.
        `127.0.0.1`, `localhost` and `0.0.0.0` are silent, and so is what may be a version.
    Why it matters:
        It tells about the inside of a network, and nobody else can use it.
    Example:
        `"command_line": "vllm serve … --host 192.168.178.20"`
    Instead:
        `"command_line": "vllm serve … --host 127.0.0.1"`
    Sources:
        RFC 1918, RFC 3927, RFC 4193, RFC 4291.
    """
    for text in _texts(facts):
        if _may_be_address(text.text) and not text.is_content:
            found = list(dict.fromkeys(_addresses(text.text, text.name)))
            if found:
                shown = ", ".join(found[:3])
                advice = "write 127.0.0.1, or a name such as <host>"
                yield _problem(text, f"a private address is published: {shown}", advice)


def _may_be_address(text: str) -> bool:
    """A cheap test that most texts fail."""
    return text.count(".") >= 3 or "[f" in text or "[F" in text


#: Names whose value is a host: `--host`, MASTER_ADDR.
_HOST_NAME = r"(?i)(?:.{0,40}[-_])?(?:host|addr|address|ip|bind|endpoint|server|listen)"


def _addresses(text: str, name: str) -> Iterator[str]:
    if _pattern(_PRIVATE).fullmatch(text) and _pattern(_HOST_NAME).fullmatch(name):
        yield text
    for match in _pattern(_ADDRESS).finditer(text):
        yield match[match.lastindex or 0]
    for match in _pattern(_ADDRESS_6).finditer(text):
        yield match[1]
