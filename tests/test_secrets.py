"""Secrets are found and blanked, stand-ins are left alone, and nothing shows a secret."""

from __future__ import annotations

import string
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlint.checker.check import check_tree
from benchlint.checker.secrets import (
    REDACTED,
    Secret,
    find_secrets,
    is_stand_in,
    looks_secret,
    redact,
)

#: Made up; put together here so that no tool takes this file for a leak.
RANDOM = "m4Zk9Qx2Vb7Ty1Wc8Rn5Lp3Sd6Hf0Jg2Ka4Bw9Xe7"
FORMS = {
    "API key": [
        "sk-" + RANDOM,
        "sk-proj-" + RANDOM,
        "sk-ant-api03-" + RANDOM,
        "sk-or-v1-" + RANDOM,
    ],
    "Hugging Face token": ["hf_" + RANDOM[:34]],
    "GitHub token": ["ghp_" + RANDOM[:36], "ghs_" + RANDOM[:36], "github_pat_" + RANDOM[:22]],
    "GitLab token": ["glpat-" + RANDOM[:20]],
    "AWS access key": ["AKIA" + "QX7RW2ZP4KLM6NTB", "ASIA" + "QX7RW2ZP4KLM6NTB"],
    "Slack token": ["xoxb-" + "7391842650-" + RANDOM[:24]],
    "Google API key": ["AIza" + RANDOM[:35]],
    "NVIDIA API key": ["nvapi-" + RANDOM],
    "Groq API key": ["gsk_" + RANDOM],
    "JSON Web Token": ["eyJ" + RANDOM[:20] + ".eyJ" + RANDOM[3:30] + "." + RANDOM[5:]],
}
PLACES: list[Callable[[str], str]] = [
    lambda s: s,
    lambda s: f"vllm serve m --api-key {s} --port 8000",
    lambda s: f"--api-key={s}",
    lambda s: f'curl -H "Authorization: Bearer {s}"',
    lambda s: f"https://user:{s}@example.com/x",
    lambda s: f"https://example.com/?api_key={s}&x=1",
    lambda s: f"HF_TOKEN={s} vllm serve m",
    lambda s: f"said ({s}), then left.",
]


@pytest.mark.parametrize(
    ("kind", "secret"), [(k, s) for k, secrets in FORMS.items() for s in secrets]
)
@pytest.mark.parametrize("place", PLACES)
def test_forms_of_vendors(kind: str, secret: str, place: Callable[[str], str]) -> None:
    text = place(secret)
    [found] = find_secrets(text)
    assert text[found.start : found.end] == secret
    assert found.kind == kind or text != secret
    assert redact(text) == place(REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        "--api-key 7c1d9e3fb04a482aa5d6",
        "--hf-token '7c1d9e3fb04a482aa5d6'",
        "api_key: 7c1d9e3fb04a482aa5d6",
        '{"aws_secret_access_key": "7c1d9e3fb04a482aa5d6/x+Y"}',
        "Authorization: Basic dXNlcjpjMGZmZWU0dHc=",
        "https://s3.amazonaws.com/b?X-Amz-Signature=7c1d9e3fb04a482aa5d6",
        "postgres://bench:tr0ub4dor@db/results",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD9",
    ],
)
def test_values_where_only_a_secret_stands(text: str) -> None:
    assert len(find_secrets(text)) == 1
    assert REDACTED in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "sk-123456",
        "sk-...",
        "sk-" + "x" * 48,
        "sk-" + "1234567890abcdef" * 3,
        "sk-your-own-key-goes-here-1",
        "sk-large-instruct-2507-awq-int4-g128",
        "hf_" + "x" * 34,
        "hf_hub_download_with_retries_and_a_cache_2",
        "AKIAIOSFODNN7EXAMPLE",
        "task-forced-7c1d9e3fb04a482aa5d6",
        "--api-key EMPTY",
        "--api-key $API_KEY",
        "--api-key ${API_KEY}",
        "--api-key <token>",
        "--api-key token-abc123",
        "--api-key %API_KEY_OF_THE_SERVER_1%",
        "--api-key /run/secrets/server-key-20240101",
        "HF_TOKEN=${{ secrets.HF_TOKEN }}",
        "Bearer EMPTY",
        "https://user:pass@proxy:3128",
        "https://$USER:$PASSWORD@proxy:3128",
        "https://admin:admin@proxy:3128",
        "docker://vllm:v0.8.5@sha256:9f86d081884c7d659a2feaa0c55ad015",
        "git@github.com:ggml-org/llama.cpp.git",
        "--tokenizer Qwen/Qwen3.8-27B-Instruct-2507",
        "--max-num-batched-tokens 8192",
        "per token: 0.31±0.02ms/step@K=15",
        "token: Qwen/Qwen3.8-27B-Instruct-2507",
        "basic Q4_K_M-quantization-of-2024",
        "a file that starts with '-----BEGIN RSA PRIVATE KEY-----' is one",
        "names, next_token = self.route53_backend_2.list_names(32)",
        "token = base64_and_sha256_of(text)",
        "access_token = tokens_of_2024_by_id[7]",
        "ssh-key ~/.ssh/id_ed25519_benchmarks",
    ],
)
def test_stand_ins_and_other_things_are_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert redact(text) == text


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("WANDB_API_KEY", "4e8b1f0a97c35d62e1840b9fa3d57c26", True),
        ("--api-key", "4e8b1f0a97c35d62e1840b9fa3d57c26", True),
        ("password", "Correct7horse9battery", True),
        ("sha256", "4e8b1f0a97c35d62e1840b9fa3d57c26", False),
        ("tokenizer", "4e8b1f0a97c35d62e1840b9fa3d57c26", False),
        ("HF_TOKEN_PATH", "4e8b1f0a97c35d62e1840b9fa3d57c26", False),
        ("HF_TOKEN", "EMPTY", False),
        ("HF_TOKEN", "set in the shell of 2026-08-20", False),
    ],
)
def test_the_name_of_a_value_counts(name: str, text: str, found: bool) -> None:
    assert bool(find_secrets(text, name)) is found
    assert redact(text, name) == (REDACTED if found else text)


def test_in_code_only_whole_secrets_count() -> None:
    text = f"password = '7c1d9e3fb04a482aa5d6'; key = 'sk-{RANDOM}'"
    assert redact(text).count(REDACTED) == 2
    assert redact(text, forms_only=True).count(REDACTED) == 1


def test_what_overlaps_is_one_secret() -> None:
    text = f"--api-key hf_{RANDOM[:34]}/{RANDOM}"
    assert redact(text) == f"--api-key {REDACTED}"


def test_little_is_shown() -> None:
    assert Secret("API key", 0, 46).shown("sk-" + RANDOM) == "sk-m… (46 characters)"
    assert Secret("password in a URL", 0, 5).shown("hunte") == "h… (5 characters)"


PIECES = st.sampled_from(
    [
        *(s for secrets in FORMS.values() for s in secrets),
        *(
            "--api-key ",
            "token=",
            "Bearer ",
            "https://",
            "user:",
            "@host",
            "-----BEGIN PRIVATE KEY-----",
        ),
        *(" ", '"', "\n", "\\", "-", "&sig=", "?", "password: ", REDACTED, "12345678", RANDOM),
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=8).map("".join))
@example("-----BEGIN PRIVATE KEY-----" + RANDOM)
def test_what_is_blanked_holds_no_secret(text: str) -> None:
    blanked = redact(text)
    assert redact(blanked) == blanked


@given(st.text(alphabet=string.ascii_letters + string.digits, min_size=36, max_size=36))
def test_a_message_never_holds_the_secret(body: str) -> None:
    secret = "ghp_" + body
    tree = {
        "benchlint": "1",
        "notes": f"see {secret}",
        "extensions": {secret: {"x": f"--api-key {secret}"}},
    }
    found = [f for f in check_tree(tree) if f.code == "BL701"]
    assert len(found) == (0 if is_stand_in(secret) else 3)
    for finding in found:
        assert secret not in finding.message + finding.help + finding.pointer + finding.subject


@given(st.text(min_size=1, max_size=40))
def test_what_looks_secret_is_no_stand_in(text: str) -> None:
    assert not (looks_secret(text) and is_stand_in(text))
