"""Keys, tokens and passwords in text: how they are found, and how they are blanked.

A secret is known by the form its vendor documents, or by standing where only a secret stands:
after `--api-key`, in an `Authorization` header, before the `@` of a URL. Stand-ins are none:
a variable, something in angle brackets, `sk-123456`, `EMPTY`, a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

#: What stands in place of a secret after `redact`. It is a stand-in itself.
REDACTED: Final = "<redacted>"

#: A text shorter than this can hold no secret but the password of a URL.
SHORTEST: Final = 15

#: Every secret has one of these in or before it, in lower case: a test that most texts fail.
NEEDLES = (
    *("sk-", "hf_", "ghp_", "gho_", "ghs_", "ghr_", "ghu_", "github_pat_", "glpat-", "akia"),
    *("asia", "xox", "aiza", "nvapi-", "gsk_", "eyj", "private key", "://"),
    *("key", "token", "secret", "passw", "pwd", "sig", "bearer", "basic"),
)

#: The same again, and what must come after a word.
_HINT = re.compile(
    r"sk-|hf_|gh[opsru]_|github_pat_|glpat-|A[KS]IA|xox[a-z]-|AIza|nvapi-|gsk_|eyJ"
    r"|PRIVATE KEY|://[^/\s]*@"
    r"|(?i:key|token|secret|passwo?r?d|pwd|sig|signature|bearer|basic)[\"']?[\s=:]+[\"']?\S{16}"
)

#: Forms of whole secrets, each from its vendor's documentation.
_FORMS: Final[dict[str, str]] = {
    # platform.openai.com: sk-…, sk-proj-…; docs.anthropic.com: sk-ant-…; openrouter.ai: sk-or-…
    # The random part has a long stretch without a dash, which names of models have not.
    "API key": (
        r"sk-(?=[A-Za-z_-]{0,200}+\d)(?=(?:[A-Za-z0-9]{0,11}[_-]){0,60}+[A-Za-z0-9]{12})"
        r"[A-Za-z0-9_-]{20,256}"
    ),
    # huggingface.co/docs/hub/security-tokens
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    # docs.github.com, "About authentication to GitHub": token formats
    "GitHub token": r"(?:gh[opsru]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    # docs.gitlab.com/security/tokens: token prefixes
    "GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    # docs.aws.amazon.com/IAM, "IAM identifiers": unique ID prefixes
    "AWS access key": r"A[KS]IA[A-Z2-7]{16}",
    # api.slack.com/authentication/token-types
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    # cloud.google.com/docs/authentication/api-keys
    "Google API key": r"AIza[A-Za-z0-9_-]{35}",
    # docs.nvidia.com/nim: NGC and NIM API keys
    "NVIDIA API key": r"nvapi-[A-Za-z0-9_-]{40,}",
    # console.groq.com/docs
    "Groq API key": r"gsk_[A-Za-z0-9]{40,}",
    # RFC 7519: header and payload are JSON objects, so their base64 starts with eyJ
    "JSON Web Token": (
        r"eyJ[A-Za-z0-9_-]{8,400}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{16,1000}"
    ),
}

# RFC 7468, and RFC 1421 for encrypted ones. The end may be cut off; a header alone is none.
_PRIVATE_KEY = (
    r"-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY-----"
    r"(?:\s|\\[nr])+(?:Proc-Type|[A-Za-z0-9+/=]{16})"
    r"(?:(?!-----END)[\s\S])*(?:-----END[A-Z ]{0,80}-----)?"
)

#: Names that can only be those of secrets, and those that in a report may also be of text:
#: HF_TOKEN is a secret, but a note may say "per token: …". Lower case, repeats are bounded so
#: that no text takes more than linear time.
_CERTAIN = (
    r"(?:[a-z0-9]{1,32}[_-]){0,6}(?:api[_-]?key|access[_-]?key|secret[_-]?key|passw(?:or)?d"
    r"|(?:access|auth|hub|hf|bearer|refresh)[_-]?token)"
)
_NAME = rf"(?:{_CERTAIN}|(?:[a-z0-9]{{1,32}}[_-]){{0,6}}(?:auth[_-]?key|token|secret|pwd))"

#: Signatures of pre-signed URLs: AWS X-Amz-Signature, Azure sig.
_QUERY = r"[?&](?:[a-z0-9-]{1,20}-)?(?:sig|signature)"

#: A value, up to a blank, quote, bracket or separator. What is called or indexed is code.
_VALUE = r"[^\s\"'&,;|<>\\)(\]\[{}]++(?![(\[])"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text: characters `start` to `end`, and what it is in words."""

    kind: str
    start: int
    end: int

    def shown(self, text: str) -> str:
        """What may be shown of it: the first four characters at most, and the length."""
        length = self.end - self.start
        first = text[self.start : self.start + min(4, length // 4)]
        return f"{first}… ({length} characters)"


def find_secrets(text: str, name: str = "", *, forms_only: bool = False) -> list[Secret]:
    """The secrets in a text, from left to right; those that overlap count as one.

    name: what the text is the value of: a member's name, or the option before it in a list.
    forms_only: look for whole secrets by their form only, as in code, where `token = …` is no
    secret.
    """
    if len(text) < SHORTEST and "@" not in text:
        return []
    named = [] if forms_only else _named_value(text, name)
    if not named and not may_hold_secret(text):
        return []
    found = [*named, *_by_form(text), *([] if forms_only else _by_place(text))]
    return _merged(sorted(found, key=lambda s: (s.start, -s.end)))


def may_hold_secret(text: str) -> bool:
    """Whether the text looks as if it held a secret, whatever name it has. No secret does not."""
    lowered = text.lower()
    return any(each in lowered for each in NEEDLES) and _HINT.search(text) is not None


def redact(text: str, name: str = "", *, forms_only: bool = False) -> str:
    """The text with every secret in it replaced by `<redacted>`; see `find_secrets`."""
    parts, done = [], 0
    for secret in find_secrets(text, name, forms_only=forms_only):
        parts += [text[done : secret.start], REDACTED]
        done = secret.end
    return "".join([*parts, text[done:]]) if parts else text


def _merged(secrets: list[Secret]) -> list[Secret]:
    found: list[Secret] = []
    for each in secrets:
        last = found[-1] if found else None
        if last is None or each.start >= last.end:
            found.append(each)
        elif each.end > last.end:
            found[-1] = Secret(last.kind, last.start, each.end)
    return found


@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source)


@cache
def _form_pattern() -> re.Pattern[str]:
    """All vendors' forms as one pattern whose last group says which it was."""
    either = "|".join(f"({form})" for form in _FORMS.values())
    return re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])")


def _by_form(text: str) -> Iterator[Secret]:
    for match in _form_pattern().finditer(text):
        if not is_stand_in(match[0]):
            kind = tuple(_FORMS)[(match.lastindex or 1) - 1]
            yield Secret(kind, match.start(), match.end())
    for match in _pattern(_PRIVATE_KEY).finditer(text):
        yield Secret("private key", match.start(), match.end())


def _by_place(text: str) -> Iterator[Secret]:
    yield from _after_names(text)
    yield from _in_urls(text)


#: Where a secret value stands; the last group is the value.
_PLACES: Final = (
    # command lines: vLLM, SGLang and llama-server --api-key, llama.cpp --hf-token
    rf"(?<![\w-])--?{_NAME}[ =]+[\"']?({_VALUE})",
    rf"(?<![A-Za-z0-9]){_NAME}[\"']?\s?=\s?[\"']?({_VALUE})",
    rf"(?<![A-Za-z0-9]){_CERTAIN}[\"']?\s?:\s?[\"']?({_VALUE})",
    rf"{_QUERY}=({_VALUE})",
    # RFC 6750, 2.1 and RFC 7617, 2
    rf"(?<![A-Za-z0-9])bearer\s+({_VALUE})",
    rf"(?<![A-Za-z0-9])authorization[\"']?\s?[:=]\s?[\"']?(?:basic|token)\s+({_VALUE})",
)

#: RFC 3986, 3.2.1. An image's digest (`vllm:v1@sha256:…`) has the same form in other schemes.
_USER_PART = (
    r"(?i)(?:https?|s?ftp|ssh|socks5h?|rediss?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|amqps?)"
    r"://([^/\s:@\"']*):([^/\s@\"']+)@"
)


def _after_names(text: str) -> Iterator[Secret]:
    """Values of options, assignments and headers: `--api-key V`, `HF_TOKEN=V`, `Bearer V`."""
    for place in _PLACES:
        for match in _pattern(f"(?i){place}").finditer(text):
            if looks_secret(match[1]):
                yield Secret("secret value", match.start(1), match.end(1))


def _in_urls(text: str) -> Iterator[Secret]:
    for match in _pattern(_USER_PART).finditer(text):
        user, password = match[1], match[2]
        if len(password) > 3 and password != user and not is_stand_in(password):
            yield Secret("password in a URL", match.start(2), match.end(2))


def _named_value(text: str, name: str) -> list[Secret]:
    if not name or not looks_secret(text):
        return []
    return [Secret("secret value", 0, len(text))] if names_secret(name) else []


def names_secret(name: str) -> bool:
    """Whether the value of a member, variable or option of this name is a secret."""
    return _pattern(_NAME).fullmatch(name.lstrip("-").lower()) is not None


#: Words that stand in for a secret. Anything that contains one of them is none.
_WORDS = (
    "example",
    "placeholder",
    "redacted",
    "dummy",
    "changeme",
    "change-me",
    "your",
    "xxxx",
    "****",
    "....",
    "…",
    "fake",
    "sample",
    "insert",
    "replace",
    "my-",
    "my_",
    "test",
    "secret",
    "password",
    "passwd",
    "api-key",
    "api_key",
    "apikey",
    "token",
    "none",
    "null",
    "empty",
    "hidden",
    "removed",
)

#: Whole values that are words of the same kind.
_EXACTLY = frozenset({"pass", "pwd", "user", "admin", "guest", "root", "login", "key"})

_MARKS = frozenset("<>{}$*…")

#: A value with one of these endings names a file.
_FILES = (".txt", ".json", ".pem", ".key", ".env", ".yaml", ".yml", ".toml", ".crt", ".gguf")


def is_stand_in(value: str) -> bool:
    """Whether the text only stands where a secret would: a variable, a word, a row of x."""
    lowered = value.lower()
    return (
        not _MARKS.isdisjoint(value)
        or (value.startswith("%") and value.endswith("%"))
        or lowered in _EXACTLY
        or any(word in lowered for word in _WORDS)
        or _is_monotonous(value)
    )


def _is_monotonous(value: str) -> bool:
    """Whether half of the characters follow from the one before, as in 123456 or aaaa.

    Of random letters and digits about one in twenty does.
    """
    body = [ord(c) for c in value if c.isalnum()]
    follow = sum(b - a in (0, 1) for a, b in pairwise(body))
    return len(set(body)) < 4 or 2 * follow >= len(body)


#: An attribute in code: `self.backend_2.token`.
_ATTRIBUTE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"


def looks_secret(value: str) -> bool:
    """Whether a value, where a secret belongs, is one: long, mixed, and no stand-in.

    Sixteen characters with letters and digits at least; no sentence, path or address. What
    people give a local server that asks for any key at all (`local`, `sk-123456`) is shorter.
    """
    return (
        len(value) >= 16
        and value[0] not in "/~.-"
        and "://" not in value
        and not value.endswith(_FILES)
        and len(value.split(None, 1)) == 1
        and _pattern(_ATTRIBUTE).fullmatch(value) is None
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and not is_stand_in(value)
    )
