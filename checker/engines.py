"""Which engine a report means, and whether its version is at least some other version."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

EngineKind = Literal[
    "llama.cpp",
    "ik_llama.cpp",
    "llama-cpp-python",
    "vllm",
    "sglang",
    "tensorrt-llm",
    "ollama",
    "lm-studio",
    "transformers",
    "mlx-lm",
]

#: Names as people write them, lower case, letters and digits only.
_SPELLINGS: Final[dict[EngineKind, str]] = {
    "llama.cpp": "llamacpp llamaserver llamacli llamacppserver llamaspeculative "
    "llamaspeculativesimple llamabench ggmlorgllamacpp ggerganovllamacpp xllamacpp "
    "llamacppllamaserver llamaservervulkan",
    "ik_llama.cpp": "ikllamacpp ikllama ikawrakowikllamacpp ikllamacppserver",
    "llama-cpp-python": "llamacpppython abetlenllamacpppython",
    "vllm": "vllm vllmopenai vllmserve vllmprojectvllm vllmvllmopenai vllmengine vllmv0 vllmv1",
    "sglang": "sglang sgl sglprojectsglang lmsysorgsglang sglangruntime sglangsrt",
    "tensorrt-llm": "tensorrtllm trtllm trtllmserve nvidiatensorrtllm tensorrtllmpytorch",
    "ollama": "ollama ollamaollama",
    "lm-studio": "lmstudio",
    "transformers": "transformers hftransformers huggingfacetransformers",
    "mlx-lm": "mlxlm mlxlmserver mlxexploremlxlm mlxlmgenerate",
}

#: A version, build or tag after the name, or a remark in brackets.
_TAIL = r"\s*(?:[(\[].*|[:@ ]\s*v?\d.*|\s+(?:b\d+|build|commit|version)\b.*)$"


@cache
def _kinds() -> dict[str, EngineKind]:
    return {name: kind for kind, names in _SPELLINGS.items() for name in names.split()}


@lru_cache(maxsize=256)
def engine_kind(name: str | None) -> EngineKind | None:
    """The engine that `name` means: "llama-server" and "ggml-org/llama.cpp" are "llama.cpp".

    A version or a remark in brackets after the name is left out of account. None for an engine
    that is not known here, and for a fork that may have other defaults ("vllm-mlx").
    """
    if not name:
        return None
    lowered = name[:200].lower()
    known = _kinds()
    return known.get(_letters(lowered)) or known.get(_letters(re.sub(_TAIL, "", lowered)))


def _letters(text: str) -> str:
    return "".join(c for c in text if c.isalnum())


class Version(NamedTuple):
    """A version that can be compared with others of its dialect.

    dialect: "build" for llama.cpp's running numbers (b8672), "release" for dotted ones.
    before_release: a pre-release or development build of `numbers`.
    """

    dialect: Literal["build", "release"]
    numbers: tuple[int, ...]
    before_release: bool = False


_RELEASE = r"^\D{0,40}?\bv?(\d{1,6}(?:\.\d{1,9}){1,4})(.*)$"
_BUILD = r"^\D{0,40}?\bb?(\d{3,6})\b(?!\.\d)"
_BEFORE = r"^[-._]?(?:a|b|c|rc|alpha|beta|pre|dev|nightly)[-._]?\d*"


@lru_cache(maxsize=256)
def parse_version(text: str | None) -> Version | None:
    """The version in `text` ("v0.8.5.post1", "b8672", "version: 8672 (abcdef0)"), or None.

    A commit hash, a branch name and llama.cpp's build 1 (which any shallow checkout reports)
    say nothing about order, so they are None.
    """
    cleaned = (text or "").strip()[:200].lower()
    release = re.match(_RELEASE, cleaned)
    if release is not None:
        numbers = tuple(int(n) for n in release[1].split("."))
        return Version("release", numbers, re.match(_BEFORE, release[2]) is not None)
    build = re.match(_BUILD, cleaned)
    return Version("build", (int(build[1]),)) if build is not None else None


def version_at_least(version: str | None, minimum: str) -> bool | None:
    """Whether `version` is `minimum` or later; None when that cannot be known.

    It cannot for a commit, for two dialects (a build number against a release), and for a
    development build of `minimum` itself, which may or may not have what the release has.
    """
    have, want = parse_version(version), parse_version(minimum)
    if have is None or want is None or have.dialect != want.dialect:
        return None
    width = max(len(have.numbers), len(want.numbers))
    padded = [each.numbers + (0,) * (width - len(each.numbers)) for each in (have, want)]
    if padded[0] == padded[1] and have.before_release and not want.before_release:
        return None
    return padded[0] >= padded[1]
