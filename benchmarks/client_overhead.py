"""What the streaming client costs, and whether it times right, beside its peers in one run.

    make bench-client     (or: .venv/bin/python benchmarks/client_overhead.py)

A server in a process of its own (`stream_server.py`) streams answers of 1,000 tokens at three
paces. CPU time is user plus system of a client's whole process and its children, of a run with
many answers less a run with one, over the difference in tokens: what a client costs once does
not count. The mean gap is what each client reports, held against what the server sent when.
It fails where benchlint takes 40 µs a token at 10,000 tokens a second or more, or where its mean
gap is off by 1 % at 1,000 a second. Peers run where they are installed; each is skipped
otherwise, and it is said how to install it.

A recorded run, one pair of runs each, on two cores of an AMD EPYC that were busy with other work
(load 5 to 10), Python 3.11.7, httpx 0.28.1. Figures differ by a third from run to run there, so
smaller differences are none:

| pace | client | CPU µs a token | mean gap as sent, ms | error as reported |
|---|---|---|---|---|
| 10,000 tokens a second | a bare socket | 7.0 | 0.101 |  |
| 10,000 tokens a second | benchlint | 27.5 | 0.103 | -0.23 % |
| 10,000 tokens a second | llama-benchy 0.4.0 | 32.7 | 0.101 | -0.15 % |
| 10,000 tokens a second | guidellm 0.8.1 | 50.3 | 0.101 | +5.37 % |
| 10,000 tokens a second | aiperf 0.13.0 | 110.1 | 0.101 | -0.82 % |
| one token a millisecond | a bare socket | 15.3 | 1.000 |  |
| one token a millisecond | benchlint | 66.0 | 1.001 | -0.07 % |
| one token a millisecond | llama-benchy 0.4.0 | 67.6 | 1.001 | +0.04 % |
| one token a millisecond | guidellm 0.8.1 | 123.8 | 1.000 | -0.07 % |
| one token a millisecond | aiperf 0.13.0 | 401.1 | 1.002 | -0.34 % |
| four tokens every 4 ms | a bare socket | 6.9 | 0.997 |  |
| four tokens every 4 ms | benchlint | 54.1 | 0.998 | -0.09 % |
| four tokens every 4 ms | llama-benchy 0.4.0 | 44.4 | 0.998 | +0.00 % |
| four tokens every 4 ms | guidellm 0.8.1 | 88.4 | 0.997 | +0.00 % |
| four tokens every 4 ms | aiperf 0.13.0 | 442.7 | 0.997 | -0.13 % |

All of them run without a network, aiperf as long as `HF_HUB_OFFLINE` is not set, under which it
takes no tokenizer from a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TOKENS = 1000
MOST_MICROSECONDS, MOST_ERROR = 40.0, 0.01
#: By pace: answers in a long run, and in words. The first is what costs are held to.
PACES: Mapping[str, tuple[int, str]] = {
    "every-100us": (41, "10,000 tokens a second"),
    "every-1ms": (11, "one token a millisecond"),
    "four-every-4ms": (11, "four tokens every 4 ms"),
}


@dataclass(frozen=True)
class Run:
    """CPU seconds of a client's processes and the mean gap that it reports, in seconds."""

    cpu_s: float
    gap_s: float | None


@dataclass(frozen=True)
class Figure:
    """CPU microseconds a token; the mean gap as it was sent, in seconds; the relative error of
    what the client reports, None where it reports none."""

    microseconds: float
    sent_s: float
    error: float | None


@dataclass(frozen=True)
class Client:
    """A client: the command for so many answers, and where it leaves the mean gap in seconds.

    Both are given the folder that the client may write to.
    """

    name: str
    command: Callable[[str, str, int, Path], list[str]]
    gap_s: Callable[[Path], float | None]


# What is measured


def own(name: str, option: str) -> Client:
    """A client in this file."""

    def command(url: str, model: str, answers: int, folder: Path) -> list[str]:
        return [sys.executable, __file__, option, url, model, str(answers), str(folder)]

    def gap_s(folder: Path) -> float | None:
        path = folder / "gaps.json"
        return statistics.fmean(json.loads(path.read_text())) if path.exists() else None

    return Client(name, command, gap_s)


def ask(url: str, model: str, answers: int, folder: Path) -> None:
    """Be benchlint's client: leave the mean gap of each answer."""
    from benchlint.reproducers.endpoint_engine import EndpointEngine
    from benchlint.reproducers.engine import Arm, Request, Sampling

    engine = EndpointEngine(url, model)
    engine.start(Arm("plain", sampling=Sampling(temperature=0.0)))
    samples = [engine.generate(Request("Go on", TOKENS)) for _ in range(answers)]
    engine.close()
    speeds = [sample.decode_tok_s or 0.0 for sample in samples]
    (folder / "gaps.json").write_text(json.dumps([1 / speed for speed in speeds]))


def ask_barely(url: str, model: str, answers: int, folder: Path) -> None:
    """Be what no client can go below: read the bytes and look at nothing."""
    del folder
    host, _, port = url.removeprefix("http://").partition(":")
    body = json.dumps({"model": model, "max_tokens": TOKENS, "stream": True}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        for _ in range(answers):
            connection.sendall(head.encode() + body)
            while not connection.recv(1 << 16).endswith(b"0\r\n\r\n"):
                pass


BARE = own("a bare socket", "--ask-barely")
OURS = own("benchlint", "--ask")


# Peers


def peers(folder: Path) -> Iterator[Client]:
    """Those that are installed below the folder; of the others, how they can be."""
    for make in (llama_benchy, guidellm, aiperf):
        name = make.__name__.replace("_", "-")
        venv = folder / name
        if (venv / "bin" / name).exists():
            yield make(f"{name} {_version(venv, name)}", str(venv / "bin" / name))
        else:
            print(f"{name} is not there: python3 -m venv {venv} && {venv}/bin/pip install {name}")


def _version(venv: Path, name: str) -> str:
    program = f"from importlib.metadata import version; print(version('{name}'))"
    command = [str(venv / "bin" / "python"), "-c", program]
    return subprocess.check_output(command, text=True).strip()


def llama_benchy(name: str, binary: str) -> Client:
    """Its throughput of the decode phase is (N - 1) over the time from the first token on."""

    def command(url: str, model: str, answers: int, folder: Path) -> list[str]:
        return [
            *(binary, "--base-url", f"{url}/v1", "--model", model, "--runs", str(answers)),
            *("--tokenizer", str(folder / "tokenizer"), "--book-url", f"{url}/book.txt"),
            *("--pp", "16", "--tg", str(TOKENS), "--latency-mode", "none", "--no-warmup"),
            *("--skip-coherence", "--no-adapt-prompt", "--format", "json"),
            *("--save-result", str(folder / "result.json")),
        ]

    def gap_s(folder: Path) -> float:
        result = json.loads((folder / "result.json").read_text())
        return statistics.fmean(1 / x for x in result["benchmarks"][0]["tg_throughput"]["values"])

    return Client(name, command, gap_s)


def guidellm(name: str, binary: str) -> Client:
    """Its inter-token latency is a mean per answer."""

    def command(url: str, model: str, answers: int, folder: Path) -> list[str]:
        return [
            *(binary, "run", "--backend", f"kind=openai_http,target={url},model={model}"),
            *("--profile", "kind=synchronous", "--constraint"),
            *(f"kind=max_requests,count={answers}", "--data"),
            *(f"kind=synthetic_text,prompt_tokens=16,output_tokens={TOKENS}", "--tokenizer"),
            *(f"kind=hf_auto,model={folder / 'tokenizer'}", "--output"),
            *(f"kind=json,path={folder / 'result.json'}", "--disable-console"),
        ]

    def gap_s(folder: Path) -> float:
        metrics = json.loads((folder / "result.json").read_text())["benchmarks"][0]["metrics"]
        return float(metrics["inter_token_latency_ms"]["successful"]["mean"]) / 1000

    return Client(name, command, gap_s)


def aiperf(name: str, binary: str) -> Client:
    """Its inter-token latency is a mean per answer; it is averaged over answers."""

    def command(url: str, model: str, answers: int, folder: Path) -> list[str]:
        return [
            *(binary, "profile", "--url", url, "--model", model, "--endpoint-type", "chat"),
            *("--streaming", "--tokenizer", str(folder / "tokenizer"), "--concurrency", "1"),
            *("--request-count", str(answers), "--isl", "16", "--osl", str(TOKENS)),
            *("--use-server-token-count", "--ui", "none", "--no-gpu-telemetry"),
            *("--no-server-metrics", "--artifact-dir", str(folder)),
        ]

    def gap_s(folder: Path) -> float:
        result = json.loads((folder / "profile_export_aiperf.json").read_text())
        return float(result["inter_token_latency"]["avg"]) / 1000

    return Client(name, command, gap_s)


def write_tokenizer(folder: Path) -> None:
    """A tokenizer with a token for each byte, for clients that do not start without one."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    names = [*map(chr, printable), *(chr(256 + i) for i in range(len(others)))]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {"type": "BPE", "vocab": {name: i for i, name in enumerate(names)}, "merges": []}
    tokenizer = {"version": "1.0", "pre_tokenizer": level, "decoder": level, "model": model}
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "added_tokens": []}))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1 << 20}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


# Measuring


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, str(HERE / "stream_server.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None  # noqa: S101
        assert server.stdout is not None  # noqa: S101
        yield server.stdout.readline().strip()
        server.stdin.close()


def run(client: Client, url: str, model: str, answers: int) -> Run:
    """One run of a client, in a folder and a home of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tokenizer(folder / "tokenizer")
        cpu_s = _cpu_seconds(client.command(url, model, answers, folder), folder)
        return Run(cpu_s, client.gap_s(folder))


def _cpu_seconds(command: list[str], home: Path) -> float:
    log = home / "output.txt"
    flags = os.O_WRONLY | os.O_CREAT
    actions = [(os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
    environment = {**os.environ, "HOME": str(home)}
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(command[:3])} …\n{log.read_text()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def sent_gap_s(url: str, answers: int) -> float:
    """The mean gap of the server's last so many answers, as their tokens left it."""
    with urllib.request.urlopen(f"{url}/sent") as page:  # noqa: S310, our own server
        sent = [each for each in json.load(page) if each["tokens"] == TOKENS][-answers:]
    return statistics.fmean(each["seconds"] / (each["tokens"] - 1) for each in sent)


def figure(client: Client, url: str, pace: str, repeats: int) -> Figure:
    """Medians of several pairs of a short and a long run."""
    figures = [_once(client, url, pace) for _ in range(repeats)]
    errors = [each.error for each in figures if each.error is not None]
    return Figure(
        statistics.median(each.microseconds for each in figures),
        statistics.median(each.sent_s for each in figures),
        statistics.median(errors) if errors else None,
    )


def _once(client: Client, url: str, pace: str) -> Figure:
    answers = PACES[pace][0]
    short, long = run(client, url, pace, 1), run(client, url, pace, answers)
    cost_s = (long.cpu_s - short.cpu_s) / ((answers - 1) * TOKENS)
    sent_s = sent_gap_s(url, answers)
    return Figure(1e6 * cost_s, sent_s, None if long.gap_s is None else long.gap_s / sent_s - 1)


def show(pace: str, client: Client, found: Figure) -> None:
    """One row of the table."""
    error = "" if found.error is None else f"{100 * found.error:+.2f} %"
    cells = (PACES[pace][1], client.name, f"{found.microseconds:.1f}", f"{1000 * found.sent_s:.3f}")
    print(f"| {' | '.join(cells)} | {error} |", flush=True)


def good(pace: str, found: Figure) -> bool:
    """Whether our own figures are what is promised."""
    if pace == "every-100us":
        return found.microseconds < MOST_MICROSECONDS
    return found.error is not None and abs(found.error) < MOST_ERROR


def compare(clients: Sequence[Client], repeats: int) -> bool:
    """Print the table. Whether benchlint holds what is promised."""
    print("| pace | client | CPU µs a token | mean gap as sent, ms | error as reported |")
    print("|---|---|---|---|---|")
    held = True
    with serving() as url:
        for pace in PACES:
            for client in clients:
                found = figure(client, url, pace, repeats)
                show(pace, client, found)
                held = held and (client is not OURS or good(pace, found))
    return held


def main() -> int:
    """Compare, or be one of the clients."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", type=Path, default=Path("build/peers"), help="their venvs")
    parser.add_argument("--repeats", type=int, default=3, help="pairs of runs (default: 3)")
    for option in ("--ask", "--ask-barely"):
        parser.add_argument(option, nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if asked := given.ask or given.ask_barely:
        url, model, answers, folder = asked
        (ask if given.ask else ask_barely)(url, model, int(answers), Path(folder))
        return 0
    return 0 if compare([BARE, OURS, *peers(given.peers.absolute())], given.repeats) else 1


if __name__ == "__main__":
    sys.exit(main())
