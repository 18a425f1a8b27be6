"""What the head of a column means: which number of a run, or what tells rows apart.

Heads are those of real tables in README files, issues, pull requests and articles, in English,
Japanese and Chinese.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from benchlint.checker.importers.cells import plain

Meaning = Literal[
    "speed",
    "decode_speed",
    "prefill_speed",
    "throughput",
    "end_to_end_speed",
    "speedup",
    "rate",
    "length",
    "position",
    "positions",
    "accepted",
    "drafted",
    "accepted_of_drafted",
    "steps",
    "ttft",
    "tpot",
    "itl",
    "step_time",
    "seconds",
    "output_tokens",
    "prompt_tokens",
    "gain",
    "change",
    "draft_length",
    "concurrency",
    "requests",
    "model",
    "draft_model",
    "quantization",
    "device",
    "engine",
    "perplexity",
    "accuracy",
    "method",
    "workload",
    "temperature",
    "request_rate",
    "label",
    "ignored",
]

#: Meanings that are results, and those that make a table one of speculative decoding or speed.
RESULTS = frozenset(
    {
        "speed",
        "decode_speed",
        "prefill_speed",
        "throughput",
        "end_to_end_speed",
        "speedup",
        "rate",
        "length",
        "position",
        "positions",
        "accepted",
        "drafted",
        "accepted_of_drafted",
        "steps",
        "ttft",
        "tpot",
        "itl",
        "step_time",
        "seconds",
        "request_rate",
    }
)
SPEAKING = RESULTS - {"seconds", "ttft", "accepted", "drafted", "steps", "request_rate"}

#: Meanings that are tokens per second.
SPEEDS = frozenset({"speed", "decode_speed", "throughput", "end_to_end_speed", "prefill_speed"})

_SPEED_UNIT = (
    r"(?:tok(?:en)?s?|t|トークン|词元)\s?(?:/|per|毎)\s?(?:s(?:ec(?:ond)?)?(?![a-z])|秒)"
    r"(?:/(?:user|req|stream))?|\btps\b"
)

#: In this order: the first that is found says what a head means.
_MEANINGS: tuple[tuple[Meaning, str], ...] = (
    (
        "draft_length",
        r"\b(?:max(?:imum)? )?(?:draft|spec(?:ulat(?:ion|ive))?|speculated)"
        r" ?(?:len(?:gth)?|depth|window|k)\b|\bnum spec(?:ulative)? tokens\b"
        r"|\bn[ -]?max\b|\bdraft[ -]max\b|^k$|^γ$|\bgamma\b|^n spec$|\bspec tokens\b"
        r"|ドラフト長|ドラフトトークン数|草稿长度|草稿長度|投机长度|推测长度|最大ドラフト長",
    ),
    (
        "quantization",
        r"^(?:(?:model|target|weights?) )?"
        r"(?:quant(?:i[sz]ation|i[sz]ed)?|prec(?:ision)?|dtype|weights?)"
        r"(?: (?:type|format|recipe|scheme))?$|^量子化(?:方式)?$|^量化(?:方式|格式)?$|^精度$",
    ),
    (
        "device",
        r"^(?:gpus?|devices?|hardware|hw|(?:graphics )?card|accelerator|chip)"
        r"(?: (?:name|model|type))?$"
        r"|^显卡$|^硬件$|^ハードウェア$",
    ),
    ("perplexity", r"^(?:mean )?(?:ppl|perplexity)$|^困惑度$"),
    (
        "accuracy",
        r"^(?!.*\b(?:draft\w*|token|accept\w*|predict\w*) )[\w .@-]{0,30}\baccuracy$"
        r"|^pass@1$|^mmlu(?:[- ]pro)?$",
    ),
    (
        "engine",
        r"^(?:(?:inference|serving) )?(?:engine|framework|backend|runtime|server)(?: version)?$",
    ),
    (
        "request_rate",
        r"\b(?:req(?:uest)?s? ?(?:/|per) ?s(?:ec(?:ond)?)?|rps|req(?:uest)? (?:tput|throughput))\b",
    ),
    ("label", r"\bqps\b|\brequest rate\b"),
    ("ignored", r"\b(?:num )?(?:ok|errors?|failed|completed)$"),
    ("ignored", r"\btotal token throughput\b|\bgoodput\b"),
    # For each watt, joule or device; of tokens that are not the answer's; a part of the time.
    (
        "ignored",
        r"(?:"
        + _SPEED_UNIT
        + r"|\bthroughput\b) ?(?:/|per) ?(?:w|watts?|gpus?|devices?|cards?|\$)\b",
    ),
    (
        "ignored",
        r"\b(?:input|total|accepted|drafted)\b(?: tok(?:en)?s?)? ?(?:throughput|"
        + _SPEED_UNIT
        + r")",
    ),
    (
        "ignored",
        r"\b(?:draft(?:ing|er)?|prefill|prompt|decod(?:e|ing)|verif\w+|load(?:ing)?|eval|gen(?:eration)?"
        r"|sampling|warm[- ]?up)\b(?: \w+)? (?:time|latency|duration|seconds)\b",
    ),
    ("decode_speed", r"\b(?:tput|throughput)\b.{0,9}\buser\b"),
    ("throughput", r"\b(?:tput|throughput) decode\b"),
    (
        "ignored",
        r"\b(?:std(?:dev)?|stddev|variance|p\d\d(?:\.\d)?|min|max(?! ?len)|notes?|verdict"
        r"|remarks?|status|expected|predicted|theoretical|implied|estimated|cost"
        r"|peak|time to second token)\b"
        r"|理論|理论|備考|备注|峰值|ピーク|標準偏差|最小|最大(?!ドラフト)",
    ),
    (
        "gain",
        r"\b(?:gain|improvement|uplift|delta|change|diff(?:erence)?|reduction)\b|[Δ∆]|^vs\b"
        r"|提升|改善|増減|变化|変化",
    ),
    (
        "speedup",
        r"\bspeed[- ]?ups?\b|\bacceleration(?: ratio)?\b|加速比|加速|高速化(?:率|倍率)?"
        r"|倍率|スピードアップ",
    ),
    (
        "positions",
        r"\b(?:per[- ]?pos(?:ition)?|pos(?:itions?)?)[- ]?(?:accept(?:ance)?|rates?)\b"
        r"(?!.*\bpos(?:ition)? ?\d)|\baccept(?:ance)? per position\b|位置別受容率",
    ),
    (
        "position",
        r"\bpos(?:ition)?[ _-]?(?P<index>\d{1,2})\b|\bp_?(?P<index2>[1-9]\d?)$"
        r"|^(?P<index3>\d{1,2})-α$|第(?P<index4>\d{1,2})位",
    ),
    (
        "length",
        r"\b(?:mean |avg |average )?(?:accept(?:ed|ance)?|accept) ?(?:len(?:gth)?s?)\b"
        r"|\ba\. ?len\b|\bmean len\b|\bmal\b|^al$|[τ]|\btau\b"
        r"|#? ?mean accepted tokens|^(?:mean|avg|average) accepted$"
        r"|\b(?:emitted|tokens?|toks?|accepted)"
        r"(?: accepted)? ?(?:/|per) ?(?:verify|step|round|iteration|forward|pass|cycle)"
        r"(?: step| pass)?\b"
        r"|接受长度|接受長度|接纳长度|受容長|受理長|受け入れ長|採択長|承認長|受理トークン数"
        r"|平均接受(?:token|词)数",
    ),
    ("accepted_of_drafted", r"^accepted ?/ ?(?:drafted|generated|proposed)$"),
    (
        "rate",
        r"\baccept(?:ance|ed)? ?(?:rate|ratio|%|\(%\)|share|prob(?:ability)?)"
        r"|\bdraft accept(?:ance)?(?: rate)?\b|\bacceptance\b"
        r"|(?<!\bn )(?<!\bnum )\baccept\b|^ar$|^rate$|^α$"
        r"|接受率|接纳率|命中率|受理率|採択率|採用率|承認率|受容率|アクセプト率|受け入れ率",
    ),
    (
        "accepted",
        r"\b(?:num )?accepted(?: draft)?(?: tokens?)?$|\bdraft n accepted\b|^acc$"
        r"|\bn(?:um)? accept(?:ed)?\b|接受token数",
    ),
    (
        "drafted",
        r"\b(?:num )?draft(?:ed)? tokens?\b|\bdrafted$|\bdraft n\b|^draft$|\bn drafted\b"
        r"|\bproposed(?: tokens)?$",
    ),
    (
        "steps",
        r"\b(?:verify|verification|target|spec) ?(?:steps?|passes|calls)\b|^rounds?$"
        r"|\bnum drafts\b|^drafts$|^cycles$|検証回数|验证步数",
    ),
    ("ttft", r"\bttft\b|\btime to first(?: output)? token\b|首token|首字延迟|初回トークン"),
    ("tpot", r"\btpot\b|\btime per output token\b|\bms ?(?:/|per) ?tok(?:en)?\b"),
    ("itl", r"\bitl\b|\binter[- ]?token latency\b"),
    (
        "step_time",
        r"\b(?:step|verify|iteration|round) ?(?:time|latency|ms)\b|\bms ?/ ?(?:step|round)"
        r"\b|ステップ時間|步时间",
    ),
    (
        "end_to_end_speed",
        r"\b(?:e2e|end[- ]to[- ]end|wall(?:[- ]clock)?)\b.*(?:" + _SPEED_UNIT + r")",
    ),
    (
        "prefill_speed",
        r"(?:\b(?:prefill|prompt|pp)\b|预填充|プレフィル|プリフィル)"
        r".*(?:" + _SPEED_UNIT + r"|speed|throughput|速度)|^pp$|^prefill$|^pp ?\d+$",
    ),
    (
        "decode_speed",
        r"(?:\b(?:decode|decoding|generation|gen|tg)\b|解码|デコード|生成)"
        r".*(?:" + _SPEED_UNIT + r"|speed|throughput|速度|rate)"
        r"|(?:^|\s)(?:decode|デコード|解码)$|^tg ?\d*$|生成速度|解码速度|デコード速度",
    ),
    ("throughput", r"\b(?:throughput|tput)\b|吞吐|スループット"),
    ("speed", _SPEED_UNIT + r"|^(?:speed|速度|tok s)$|\btok s\b|推理速度|推論速度"),
    (
        "concurrency",
        r"\b(?:concurrency|conc|batch(?: ?size)?|bs|parallel|streams?|max concurrency)\b"
        r"|并发|並列|同時",
    ),
    ("requests", r"\b(?:requests?|n req|num prompts|prompts?|samples)$|请求数|リクエスト数"),
    (
        "prompt_tokens",
        r"\b(?:isl|input(?: len(?:gth)?| tokens)?|avg input|p tok|prompt tok(?:en)?s)\b"
        r"|输入长度|入力長|入力トークン",
    ),
    (
        "output_tokens",
        r"\b(?:osl|output(?: len(?:gth)?| tokens)?|avg output|c tok|pred"
        r"|tokens generated|generated(?: tokens)?|completion tokens)\b|^tok(?:en)?s$"
        r"|输出长度|出力長|出力トークン|生成トークン",
    ),
    ("seconds", r"\b(?:wall|total|elapsed|duration|time(?! to\b))\b|耗时|所要時間|総時間"),
    ("temperature", r"\btemp(?:erature)?\b|温度"),
    ("draft_model", r"\bdraft(?:er)?(?: model)?$|\bassistant\b|草稿模型|ドラフトモデル"),
    ("model", r"\b(?:model|target|llm|pair)s?\b|模型|モデル"),
    (
        "method",
        r"\b(?:method|mechanism|config(?:uration)?|setup|mode|algorithm|variant|arm|stage"
        r"|system|approach|strategy|engine|framework|slot|cache|run|tp)s?\b"
        r"|方法|手法|方式|設定|构成|構成|配置|条件",
    ),
    (
        "workload",
        r"\b(?:workload|dataset|task|subset|benchmark|category|domain|prompt|source|name"
        r"|type)s?\b|ワークロード|タスク|データセット|任务|数据集|负载|类别|場面",
    ),
)

_COMPILED = tuple((meaning, re.compile(pattern, re.IGNORECASE)) for meaning, pattern in _MEANINGS)


@dataclass(frozen=True, slots=True)
class Column:
    """What a head says.

    meaning: None where it names none. rest: the words that are left: an arm, a task.
    unit: ms, s or % where the head has one. estimator: where it says mean or median.
    index: of a position, as printed.
    """

    meaning: Meaning | None
    rest: str = ""
    unit: str = ""
    estimator: str = ""
    index: int = 0


_HEAD_UNIT = re.compile(
    r"[\(\[,/]?\s*(?:in )?(ms|msec|s|sec|seconds|秒|%|us|GB|GiB|MiB|MB)\s*[\)\]]?$", re.IGNORECASE
)
_BRACKETS = re.compile(r"[\(\[（【][^()\[\]（）]*[\)\]）】]")
_STOP = re.compile(
    r"\b(?:mean|avg|average|median|measured|observed|output|overall|total|the|of|per|user|rate|new"
    r"|p50|actual|real|tokens?|stream|single|request|system|ratio|draft|position|acceptance|benchmark|tput"
    r"|throughput|generation|wall|time)\b|平均|実測|实测|单请求"
    r"|中央値|中位|最終|[ατγ]",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def column(head: str) -> Column:
    """What the head of a column, or the name of a row in a transposed table, means."""
    text = re.sub(r"(?<=[^\W_])_(?=[^\W_])|_", " ", plain(head)[:200])
    unit, bare = _unit_of(text)
    words = _BRACKETS.sub(" ", bare).strip()
    for meaning, pattern in _COMPILED:
        match = pattern.search(bare) or pattern.search(words)
        if match is not None:
            return _made(meaning, match, bare, unit)
    return Column(None, " ".join(_WHOLE.sub(" ", words).split()), unit, _estimator(bare))


#: Of all tasks together, in a column without a metric in its head.
_WHOLE = re.compile(r"^\W*(?:overall|average|avg|mean|total|all)\W*$|^平均$|^全体$", re.IGNORECASE)


def _made(meaning: Meaning, match: re.Match[str], text: str, unit: str) -> Column:
    rest = text.replace(match[0], " ", 1)
    rest = _STOP.sub(" ", _BRACKETS.sub(_arm_in_brackets, rest))
    rest = " ".join(re.sub(r"[^\w=+./-]+", " ", rest).split()).strip(" -./")
    numbers = [v for n, v in match.groupdict().items() if n.startswith("index") and v]
    index = int(numbers[0]) if numbers else 0
    return Column(meaning, rest, unit, _estimator(text), index)


def _arm_in_brackets(found: re.Match[str]) -> str:
    """What stands in brackets where that names an arm: "tok/s (MTP)", "t/s (no spec)"."""
    inner = found[0][1:-1].strip()
    named = is_plain(inner) or method_of(inner) or re.match(r"spec", inner, re.IGNORECASE)
    return f" {inner} " if named else " "


def _unit_of(text: str) -> tuple[str, str]:
    """The unit at the end of a head, and the head without it. A speed keeps its unit."""
    match = _HEAD_UNIT.search(text)
    if match is None or not match.start():
        return ("%" if "%" in text else ""), text
    before, unit = text[: match.start()], match[1].lower()
    if unit in ("s", "sec", "秒") and re.search(
        r"(?:/|per|毎)\s*$|\btok(?:en)?s?$", text[: match.start(1)].rstrip(), re.IGNORECASE
    ):
        return "", text
    if text[match.start(1) - 1] not in " ([,/":
        return ("%" if "%" in text else ""), text
    return {"msec": "ms", "sec": "s", "seconds": "s", "秒": "s"}.get(unit, unit), before.strip()


def _estimator(text: str) -> str:
    if re.search(r"\bmedian\b|\bp50\b|中央値|中位", text, re.IGNORECASE):
        return "median"
    return "mean" if re.search(r"\b(?:mean|avg|average)\b|平均", text, re.IGNORECASE) else ""


_SAYS_SPEED = re.compile(
    _SPEED_UNIT + r"|speed|throughput|tput|rate|速度|吞吐|スループット|\btok s\b", re.IGNORECASE
)


def says_speed(head: str) -> bool:
    """Whether the head itself says that it is a speed: "pp" and "decode" may be tokens."""
    return _SAYS_SPEED.search(plain(head)[:200].replace("_", " ")) is not None


def is_about_speed(found: Column) -> bool:
    """Whether a column of changes is about a speed: "TPS Gain", "Decode Δ"."""
    return found.meaning == "gain" and bool(found.rest) and column(found.rest).meaning in SPEEDS


# --- arms ------------------------------------------------------------------------------------

_PLAIN = re.compile(
    r"\b(?:no|w/o|without)\s+(?:mtp|dflash|eagle\S*|drafts?|drafter|medusa|n-?gram)\b"
    r"|\b(?:base(?:line)?|plain|vanilla|ar|auto[- ]?regressive|no[- ]?spec(?:ulation|ulative)?"
    r"|non[- ]?spec(?:ulative)?|nospec|without(?: spec\w*)?|w/o|spec(?:ulation)? off|off"
    r"|target[- ]only|no draft(?:er|ing)?|normal decod\w+)\b"
    r"|ベースライン|通常|基线|基準|无投机|無効|推測なし|投機なし|なし|原生",
    re.IGNORECASE,
)

_METHODS = (
    ("dflash", r"\bdflash\d?\b"),
    ("eagle3", r"\beagle[- ]?3\b"),
    ("eagle2", r"\beagle[- ]?2\b"),
    ("eagle", r"\beagle\b"),
    ("mtp", r"\bmtp\b|\bnextn\b|\bembedded head\b"),
    ("medusa", r"\bmedusa\b"),
    ("suffix", r"\bsuffix\b"),
    ("ngram", r"\bn-?gram\b"),
    ("prompt_lookup", r"\bpld\b|\bprompt[- ]lookup\b"),
    ("dspark", r"\bdspark\b"),
    ("draft_model", r"\bdraft[- ]model\b|\bseparate\b.*\bdraft\b|ドラフトモデル|草稿模型"),
)
_METHOD_PATTERNS = tuple((name, re.compile(p, re.IGNORECASE)) for name, p in _METHODS)


def is_plain(text: str) -> bool:
    """Whether the words name a run without a drafter."""
    found = _PLAIN.search(text)
    return found is not None and method_of(text.replace(found[0], " ")) is None


def method_of(text: str) -> str | None:
    """The drafting method that the words name, or None."""
    return next((name for name, pattern in _METHOD_PATTERNS if pattern.search(text)), None)


def is_arm(text: str) -> bool:
    """Whether the words name one of the things compared, and not what it was tried on."""
    return bool(
        is_plain(text)
        or method_of(text)
        or re.search(r"\bspec|\bk ?= ?\d|\bwith\b|投机|投機", text, re.I)
    )
