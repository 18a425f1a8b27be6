"""BL501 to BL509: quality beside speed, and whether speculation left the output as it was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchlint.checker.claims import Gap, Statement, comparable
from benchlint.checker.facts import (
    ClaimFacts,
    ConfigurationFacts,
    Placed,
    QualityFacts,
    ReportFacts,
    RunFacts,
)
from benchlint.checker.finding import Severity
from benchlint.checker.metrics import (
    is_about_speed,
    is_likelihood,
    is_perplexity,
    quality_higher_is_better,
)
from benchlint.checker.model import Losslessness, Quantization
from benchlint.checker.noise import noise_of, of_difference
from benchlint.checker.numbers import Reported, printed, shown
from benchlint.checker.registry import Problem, rule
from benchlint.checker.tables import Quantization as Recipe
from benchlint.checker.tables import kv_type, quantization

_Related = list[tuple[Reported | str, str]]

#: Weights of fewer bits lose more than an unpaired perplexity can hide: Q5_K_M costs 0.9 % of
#: the perplexity of Llama-3-8B, Q6_K 0.35 % (llama.cpp tools/quantize/quantize.cpp).
CLEARLY_LOSSY_BITS = 6.5

#: Unpaired standard error of a perplexity on the whole WikiText-2 test text, as a share.
PERPLEXITY_ERROR = 0.006

#: The tokens of that text, and how many make a perplexity worth a comparison: at 10,000 the
#: standard error is over 3 %, more than most quantizations cost.
_WIKITEXT_TOKENS = 290_000
ENOUGH_TOKENS = 10_000

# --- what a configuration's quality depends on -------------------------------------------------


def _quantization(configuration: ConfigurationFacts) -> Placed[Quantization] | None:
    target = configuration.target
    if target is None or target.model.quantization is None:
        return None
    return Placed(target.model.quantization, target.at("quantization"))


def _bits(weights: Quantization) -> float | None:
    """Bits per weight as stated, else as is typical of the recipe; None when not known."""
    if weights.bits_per_weight is not None:
        return weights.bits_per_weight
    row = _row(weights)
    return None if row is None else row.bits_per_weight


def _row(weights: Quantization) -> Recipe | None:
    """The recipe, or what it was converted to at load where that has fewer bits."""
    rows = map(quantization, (weights.recipe, weights.converted_at_load))
    found = [row for row in rows if row is not None]
    return min(found, key=lambda row: row.bits_per_weight, default=None)


def _clearly_lossy(weights: Quantization) -> bool:
    """Under 6.5 bits, and by its name nothing that comes in 8 bits too."""
    bits, row = _bits(weights), _row(weights)
    if bits is None or bits >= CLEARLY_LOSSY_BITS:
        return False
    return weights.bits_per_weight is not None or row is None or row.bits_high < 8


def _released_so(configuration: ConfigurationFacts, weights: Quantization) -> bool:
    """Whether few bits are how the model was released or trained, not a loss against it."""
    target = configuration.target
    name = "" if target is None else (target.model.name or "").casefold()
    recipe = (weights.recipe or "").casefold()
    if "qat" in name.replace("_", "-").split("-") or "qat" in recipe or "bitnet" in name:
        return True
    return "gpt-oss" in name and "mxfp4" in recipe


def _letters(text: str | None) -> str:
    return "".join(c for c in (text or "").casefold() if c.isalnum())


def _differ(a: str | None, b: str | None) -> bool:
    """Whether two names are both given and not the same."""
    return bool(a) and bool(b) and a != b and _letters(a) != _letters(b)


def same_quality(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    """Whether a quality figure of `b` holds for `a` too, by what both state.

    Lossless speculation changes no quality, so that drafters and draft lengths do not count.
    The target, its quantization and a KV cache of under 8 bits do.
    """
    if a is b:
        return True
    return not (_other_target(a, b) or _coarser_cache(a, b) or (_relaxed(a) and not _relaxed(b)))


def _other_target(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    """Whether the model or its weights differ. Most configurations share one target."""
    if a.target is None or b.target is None or a.target.model is b.target.model:
        return False
    return _other_model(a, b) or _other_weights(a, b)


def _other_model(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    if a.target is None or b.target is None:
        return False
    names = [(t.model.name or "").rpartition("/")[2] for t in (a.target, b.target)]
    return _differ(*names)


def _other_weights(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    left, right = _quantization(a), _quantization(b)
    if left is None or right is None:
        return False
    return _differ(left.model.recipe, right.model.recipe) or _differ(
        left.model.converted_at_load, right.model.converted_at_load
    )


def _coarser_cache(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    if a.kv_cache is None or b.kv_cache is None:
        return False
    types = a.kv_cache.model.target_type, b.kv_cache.model.target_type
    sizes = kv_type(types[0]), kv_type(types[1])
    return sizes[0] is not None and sizes[1] is not None and sizes[0] < min(sizes[1], 1.0)


def _relaxed(configuration: ConfigurationFacts) -> bool:
    rule = configuration.acceptance_rule
    return rule is not None and rule.model.kind == "relaxed"


# --- BL501 -----------------------------------------------------------------------------------


@rule(
    "BL501",
    "lossy-quant-without-quality",
    Severity.WARNING,
    "report",
    needs=["target.quantization"],
)
def lossy_quant_without_quality(report: ReportFacts) -> Iterator[Problem]:
    """Speeds of several quantizations, or of very few bits, and no quality figure at all.

    What it does:
        Looks at the target's quantization of every configuration that was run, by its stated
        bits per weight, else by its recipe, where the report has no quality figure. Reports
        those under 6.5 bits beside which the same target ran in another recipe, and those
        under 4 bits. A report on speculation at one recipe of more bits says nothing about
        quantization: BL111 asks it for a quality figure. Silent for Q8_0, FP8, INT8 and Q6_K,
        whose loss an unpaired perplexity does not show, and for models released or trained in
        few bits (gpt-oss in MXFP4, quantization-aware training).
    Why it matters:
        Fewer bits are faster because they are fewer. What they cost cannot be seen in the
        speed: in one comparison the fastest recipe, at 94.36 tok/s, had a perplexity of 5.6493
        against 5.5420 and was not used.
    Example:
        Runs in `Q5_K_M` and in `NVFP4`, and no `quality`
    Instead:
        `"quality": [{"metric": "perplexity", "dataset": "WikiText-2", "value": 5.5420,
        "error": 0.033, "configuration": "plain"}]`
    Sources:
        llama.cpp `tools/quantize/quantize.cpp` (perplexity lost by each recipe); the field
        report "DFlashでtok/sの意味が変わる".
    """
    if any(row.value is not None for row in report.quality):
        return
    timed = list(_timed_weights(report))
    seen: set[str] = set()
    for configuration, weights in timed:
        if not _clearly_lossy(weights.model) or _released_so(configuration, weights.model):
            continue
        name = _letters(weights.model.recipe) or str(_bits(weights.model))
        other = next((w for c, w in timed if _other_recipe(configuration, c)), None)
        if name not in seen and (other is not None or _very_few_bits(weights.model)):
            seen.add(name)
            yield _without_quality(weights, other)


#: Weights of fewer bits lose what a reader would notice.
VERY_FEW_BITS = 4.0


def _very_few_bits(weights: Quantization) -> bool:
    bits = _bits(weights)
    return bits is not None and bits < VERY_FEW_BITS


def _timed_weights(
    report: ReportFacts,
) -> Iterator[tuple[ConfigurationFacts, Placed[Quantization]]]:
    """Configurations that have a speed, with the target's quantization."""
    for runs in report.runs_by_configuration.values():
        weights = _quantization(runs[0].configuration)
        if weights is not None and any(_has_speed(r) for r in runs):
            yield runs[0].configuration, weights


def _other_recipe(a: ConfigurationFacts, b: ConfigurationFacts) -> bool:
    """Whether two configurations are of one target in two quantizations."""
    return _other_weights(a, b) and not _other_model(a, b)


def _has_speed(run: RunFacts) -> bool:
    return run.decode_tok_s is not None or run.throughput_tok_s is not None


def _without_quality(weights: Placed[Quantization], other: Placed[Quantization] | None) -> Problem:
    recipe, stated = weights.model.recipe, weights.model.bits_per_weight
    at = weights.at("bits_per_weight" if recipe is None else "recipe")
    bits = f"about {shown(_bits(weights.model) or 0.0, 2)}" if stated is None else printed(stated)
    what = f"{bits} bits a weight" if recipe is None else f"{recipe}, {bits} bits a weight,"
    beside = "is that of" if other is None else f"of {_named(other)} stands beside that of"
    return Problem(
        at,
        f"the speed {beside} {what} and nothing says what that costs in quality",
        related=[] if other is None else [(_named_at(other), "another recipe")],
        help="add a perplexity or a task score of this quantization beside the speed",
        subject=at,
    )


# --- BL502 -----------------------------------------------------------------------------------


@rule(
    "BL502", "quality-of-another-configuration", Severity.WARNING, "report", needs=["quality.value"]
)
def quality_of_another_configuration(report: ReportFacts) -> Iterator[Problem]:
    """The speed is of one configuration, the quality was measured of another.

    What it does:
        For every claim about a speed, looks for a quality row of the same target,
        quantization and KV cache. A row measured without a drafter counts, since lossless
        speculation changes no quality (relaxed acceptance does). Reported when the report has
        quality rows and none of them is of that kind; weights of 16 bits need none of their
        own. Where no speed is claimed, reported when every speculative run with a speed has
        other weights than all quality rows.
    Why it matters:
        The fast recipe with the other recipe's quality is a configuration that nobody ran.
    Example:
        "94.36 tok/s" of NVFP4, beside a perplexity of Q5_K_M.
    Instead:
        A quality row for each quantization whose speed is claimed.
    Sources:
        The field report "DFlashでtok/sの意味が変わる", which gives both for each recipe.
    """
    rows = [row for row in report.quality if row.value is not None]
    if not rows or any(not row.configuration.known for row in rows):
        return
    seen: set[str] = set()
    for claim in report.claims:
        run = claim.of
        if isinstance(run, RunFacts) and is_about_speed(claim):
            configuration = run.configuration
            if configuration.pointer not in seen and _uncovered(configuration, rows):
                seen.add(configuration.pointer)
                yield _quality_elsewhere(claim, run, rows)
    if not any(is_about_speed(claim) for claim in report.claims):
        yield from _quality_of_other_weights(report, rows)


def _quality_of_other_weights(
    report: ReportFacts, rows: Sequence[QualityFacts]
) -> Iterator[Problem]:
    """Where speculation was timed in no quantization that has a quality row."""
    runs = [r for r in report.speculative_runs if _has_speed(r)]
    for run in runs:
        own = run.configuration
        other = all(_other_weights(own, row.configuration) for row in rows)
        if not other or not _uncovered(own, rows):
            return
    if runs:
        yield _unlike_rows(runs[0], rows)


def _unlike_rows(run: RunFacts, rows: Sequence[QualityFacts]) -> Problem:
    weights = _quantization(run.configuration)
    related: _Related = [(row.at("configuration"), str(row)) for row in rows[1:8]]
    if weights is not None:
        related.append((_named_at(weights), f"weights of {run}"))
    names = list(dict.fromkeys(_recipe(row.configuration) for row in rows))
    return Problem(
        rows[0].at("configuration"),
        f"quality was measured of {_some(names)} only, and the speculative runs are of"
        f" {_recipe(run.configuration)}",
        related=related,
        help="measure the quality of the weights that were timed, with the drafter off",
    )


def _recipe(configuration: ConfigurationFacts) -> str:
    weights = _quantization(configuration)
    return "other weights" if weights is None else _named(weights)


def _named(weights: Placed[Quantization]) -> str:
    return weights.model.converted_at_load or weights.model.recipe or "other weights"


def _named_at(weights: Placed[Quantization]) -> str:
    return weights.at("converted_at_load" if weights.model.converted_at_load else "recipe")


def _uncovered(configuration: ConfigurationFacts, rows: Sequence[QualityFacts]) -> bool:
    if any(same_quality(configuration, row.configuration) for row in rows):
        return False
    weights = _quantization(configuration)
    if not configuration.known or weights is None:
        return False
    bits = _bits(weights.model)
    return bits is None or bits < 16


def _quality_elsewhere(claim: ClaimFacts, run: RunFacts, rows: Sequence[QualityFacts]) -> Problem:
    names = list(dict.fromkeys(repr(row.model.configuration) for row in rows))
    own = run.model.configuration
    return Problem(
        claim.at("of"),
        f"{claim} is about the speed of {own!r}, and quality was measured of"
        f" {_some(names)} only, which differs in weights, KV cache or acceptance",
        related=[(row.at("configuration"), str(row)) for row in rows[:8]],
        help=f"measure the same quality of {own!r}, with the drafter off",
        subject=run.configuration.pointer,
    )


def _some(names: Sequence[str]) -> str:
    rest = len(names) - 4
    return ", ".join(names[:4]) + (f" and {rest} more" if rest > 0 else "")


# --- BL503 -----------------------------------------------------------------------------------


@rule("BL503", "difference-within-error", Severity.WARNING, "claim", yields_to=["BL601"])
def difference_within_error(claim: ClaimFacts) -> Iterator[Problem]:
    """A claimed difference in quality that is smaller than the errors of the two figures.

    What it does:
        Compares two quality rows that a claim says differ. Where both state a standard error,
        the difference should be more than their sum; where neither does, an accuracy's error
        follows from its number of items, and two perplexities of one dataset should be more
        than 0.6 % apart. Silent where the claim says that it was paired.
    Why it matters:
        On other text the order may be the other one.
    Example:
        "perplexity improves by 0.26 %": 5.5276 ± 0.033 against 5.5420 ± 0.033.
    Instead:
        A paired figure: llama.cpp's `--kl-divergence` prints ln(PPL ratio) with its error;
        for task scores, McNemar's test on the items that differ.
    Sources:
        llama.cpp `tools/perplexity/README.md`; McNemar 1947.
    """
    if not isinstance(claim.of, QualityFacts):
        return
    if claim.model.relation in (None, "equal", "at_most", "up_to") or _paired(claim):
        return
    statement = claim.statement
    if isinstance(statement, Gap):
        return
    other = _other_row(statement)
    if other is not None and isinstance(statement.subject, QualityFacts):
        yield from _within_error(statement, statement.subject, other)


def _paired(claim: ClaimFacts) -> bool:
    text = (claim.model.text or "").casefold()
    return any(word in text for word in ("paired", "mcnemar", "kl div", "kl-div"))


def _other_row(s: Statement) -> QualityFacts | None:
    rival = s.rival
    other = s.to_subject if rival is None else rival.subject
    return other if isinstance(other, QualityFacts) else None


def _within_error(s: Statement, of: QualityFacts, to: QualityFacts) -> Iterator[Problem]:
    a, b = of.value, to.value
    errors = _errors(of, to)
    if a is None or b is None or errors is None or of.model.dataset != to.model.dataset:
        return
    apart = abs(a.value - b.value)
    if apart >= errors.sum:
        return
    yield Problem(
        s.claim.at("relation"),
        f"{s.claim} says that {a} and {b} differ: they are {shown(apart, 3)} apart, {errors.text}",
        related=[(a, str(of)), (b, str(to)), *errors.related],
        help="compare them in pairs, or say that they are on a par",
    )


@dataclass(frozen=True, slots=True)
class _Errors:
    """What two quality figures may be off by, together, in the metric's own unit."""

    sum: float
    text: str
    related: _Related


def _errors(a: QualityFacts, b: QualityFacts) -> _Errors | None:
    stated = _stated_error(a), _stated_error(b)
    if stated[0] is not None and stated[1] is not None:
        sum_ = stated[0] + stated[1]
        related: _Related = [(_error_pointer(r), "its standard error") for r in (a, b)]
        return _Errors(sum_, f"less than their errors together ({shown(sum_, 3)})", related)
    if stated != (None, None):
        return None
    return _binomial(a, b) or _usual_of_perplexity(a, b)


def _stated_error(row: QualityFacts) -> float | None:
    if row.model.error is not None:
        return abs(row.model.error)
    detail = None if row.value is None else row.value.detail
    return None if detail is None or detail.stdev is None else abs(detail.stdev)


def _error_pointer(row: QualityFacts) -> str:
    return row.at("error") if row.model.error is not None else row.at("value", "stdev")


def _binomial(a: QualityFacts, b: QualityFacts) -> _Errors | None:
    """Of two shares of right answers, from how many items there were."""
    each = _binomial_error(a), _binomial_error(b)
    if each[0] is None or each[1] is None:
        return None
    sum_ = each[0] + each[1]
    items = min(a.model.sample_size or 0, b.model.sample_size or 0)
    related: _Related = [(row.at("sample_size"), "items") for row in (a, b)]
    return _Errors(sum_, f"less than the error of {items} items ({shown(sum_, 3)})", related)


def _binomial_error(row: QualityFacts) -> float | None:
    n, value = row.model.sample_size, row.value
    if not n or n < 0 or value is None or not quality_higher_is_better(row):
        return None
    share = value.value
    return math.sqrt(share * (1 - share) / n) if 0 < share < 1 else None


def _usual_of_perplexity(a: QualityFacts, b: QualityFacts) -> _Errors | None:
    if a.value is None or a.model.dataset is None or not (is_perplexity(a) and is_perplexity(b)):
        return None
    usual = PERPLEXITY_ERROR * abs(a.value.value)
    return _Errors(usual, f"less than the usual unpaired error of 0.6 % ({shown(usual, 2)})", [])


# --- BL504 and BL505 -------------------------------------------------------------------------


@rule("BL504", "match-rate-without-unit", Severity.NOTE, "run", needs=["losslessness.match_rate"])
def match_rate_without_unit(run: RunFacts) -> Iterator[Problem]:
    """A match rate without its unit, or without how many were compared.

    What it does:
        Asks of every losslessness.match_rate what was compared (tokens or whole prompts) and
        how many.
    Why it matters:
        After the first token that differs all later ones may: one early divergence in one of
        ten prompts is 90 % of prompts and may be 60 % of tokens. And 100 % of 3 prompts rules
        out little: with none of n differing, up to 3/n may.
    Example:
        `"match_rate": 0.9962`
    Instead:
        `"match_rate": 0.9962, "compared": "token", "n": 2048`, best with `first_divergence`.
    Sources:
        The rule of three (Hanley and Lippman-Hand 1983).
    """
    block = run.model.losslessness
    if block is None or block.match_rate is None:
        return
    missing = [
        words
        for words, value in (("of what (compared)", block.compared), ("of how many (n)", block.n))
        if value is None
    ]
    rate = run.number("losslessness", "match_rate")
    if missing and rate is not None:
        yield Problem(
            rate,
            f"{run} says that {rate} matched, but not {' nor '.join(missing)}",
            help='add `"compared": "token"` or `"prompt"`, and `n`',
        )


#: Greedy speculation repeats at least this share of tokens unless something is different.
EXPECTED_MATCH = 0.95


@rule(
    "BL505", "match-below-expectation", Severity.WARNING, "run", needs=["losslessness.match_rate"]
)
def match_below_expectation(run: RunFacts) -> Iterator[Problem]:
    """At temperature 0, under 95 % of tokens match the baseline, and nothing says why.

    What it does:
        Looks at match rates of tokens at temperature 0 whose upper end is under 95 %. Silent
        where an `explanation` is given, where acceptance is relaxed or synthetic, and where
        the baseline has other weights.
    Why it matters:
        Speculative decoding is lossless: at temperature 0 it writes what the target alone
        would. Near-ties that fall the other way in a larger batch account for a few tokens in
        a hundred; more is often an error in the acceptance or a cache that was not rolled
        back.
    Example:
        `"compared": "token", "match_rate": 0.71` at temperature 0
    Instead:
        The position and margin of the first divergence, and an `explanation`: "near-tie at
        token 59, logits 0.01 apart; f16 kernels differ by batch size".
    Sources:
        vLLM, speculative decoding, "lossless up to hardware numerics".
    """
    block = run.model.losslessness
    if block is None or block.match_rate is None or block.compared != "token":
        return
    rate = run.number("losslessness", "match_rate")
    if rate is None or rate.span.high >= EXPECTED_MATCH or _expected_to_differ(run, block):
        return
    yield Problem(
        rate,
        f"at temperature 0 only {rate} of tokens match the baseline, under {EXPECTED_MATCH}",
        related=[(_temperature_pointer(run), "temperature 0")],
        help="say in `explanation` why outputs differ, and give `first_divergence`",
    )


def _expected_to_differ(run: RunFacts, block: Losslessness) -> bool:
    configuration = run.configuration
    rule = configuration.acceptance_rule
    if block.explanation or not _greedy(run):
        return True
    if rule is not None and rule.model.kind in ("relaxed", "synthetic"):
        return True
    baseline = run.report.run(block.baseline)
    if baseline is None:
        return False
    return not _greedy(baseline) or not same_quality(configuration, baseline.configuration)


def _greedy(run: RunFacts) -> bool:
    sampler = run.configuration.sampler
    return sampler is not None and sampler.model.temperature == 0


def _temperature_pointer(run: RunFacts) -> str:
    sampler = run.configuration.sampler
    return run.pointer if sampler is None else sampler.at("temperature")


# --- BL506 -----------------------------------------------------------------------------------


@rule("BL506", "determinism-contradiction", Severity.ERROR, "run", needs=["losslessness"])
def determinism_contradiction(run: RunFacts) -> Iterator[Problem]:
    """Repeats are said to be identical, and their hashes, lengths or texts are not.

    What it does:
        Where `repeat_identical` is true, compares the listed hashes (of one length, whatever
        the case), token counts and texts of the repeats with each other. A list in which each
        value stands equally often, and twice at least, may be of several prompts. Repeats said to
        differ may well have the same hash in a list of some of them.
    Why it matters:
        Determinism is a test that anybody can repeat, and the data to fail it are in the
        report.
    Example:
        `"repeat_identical": true, "repeat_tokens": [256, 259]`
    Instead:
        `"repeat_identical": false`, and an explanation.
    Sources:
        A public repository that says "identical" where 6 of 12 stored hashes are the
        baseline's; llama.cpp#27788 (256 and 259 tokens).
    """
    block = run.model.losslessness
    if block is None or not block.repeat_identical:
        return
    for field, values, same in _listed(block):
        if not run.readings.single and _by_prompt(values):
            continue
        other = next((i for i, v in enumerate(values) if not same(v, values[0])), None)
        if other is not None:
            yield _differing(run, field, values, other)
            return


def _by_prompt(values: Sequence[str]) -> bool:
    """Whether each value stands there equally often, and twice at least: repeats by prompt."""
    often = set(Counter(values).values())
    return len(often) == 1 and min(often) > 1


_Same = Callable[[str, str], bool]


def _listed(block: Losslessness) -> Iterator[tuple[str, list[str], _Same]]:
    if block.repeat_tokens:
        yield "repeat_tokens", [str(n) for n in block.repeat_tokens], str.__eq__
    if block.repeat_sha256:
        yield "repeat_sha256", [_hash(h) for h in block.repeat_sha256], _same_hash
    if block.repeat_texts:
        yield "repeat_texts", [" ".join(text.split()) for text in block.repeat_texts], _same_text


def _hash(text: str) -> str:
    return text.strip().casefold().removeprefix("sha256:").removeprefix("0x").strip()


def _same_hash(a: str, b: str) -> bool:
    """Hashes of two lengths are cut, or of two kinds: they prove nothing."""
    return a == b or len(a) != len(b)


def _same_text(a: str, b: str) -> bool:
    """Equal as far as both were written down."""
    for cut, whole in ((a, b), (b, a)):
        if cut.endswith(("…", "...")) and whole.startswith(cut.rstrip("….")):
            return True
    return a == b


def _differing(run: RunFacts, field: str, values: Sequence[str], other: int) -> Problem:
    first, second = (_cut(values[i]) for i in (0, other))
    nouns = {"repeat_tokens": "token counts", "repeat_sha256": "hashes", "repeat_texts": "texts"}
    return Problem(
        run.at("losslessness", "repeat_identical"),
        f"repeats are said to be identical, but their {nouns[field]} differ: {first} ≠ {second}",
        related=[
            (run.at("losslessness", field, 0), "first repeat"),
            (run.at("losslessness", field, other), f"repeat {other + 1}"),
        ],
        help='`"repeat_identical": false`, and say why',
    )


def _cut(text: str) -> str:
    return text if len(text) <= 16 else text[:12] + "…"


# --- BL507 -----------------------------------------------------------------------------------


@rule(
    "BL507", "dominated-choice", Severity.NOTE, "report", needs=["quality.value", "claims.metric"]
)
def dominated_choice(report: ReportFacts) -> Iterator[Problem]:
    """Another configuration of the report is better in both speed and quality.

    What it does:
        For every claim about a speed, looks for a run of the same workload, conditions and
        machine with another configuration that is faster by more than twice the noise and
        whose quality, on the same metric and dataset, is better by more than the errors.
    Why it matters:
        A choice that is slower and worse needs a reason (memory, licence, stability) that the
        two columns do not show.
    Example:
        42.2 tok/s at perplexity 5.65 claimed, beside 47.2 tok/s at 5.54.
    Instead:
        The reason in `notes`, or the claim about the better configuration.
    Sources:
        Pareto dominance; the field report "DFlashでtok/sの意味が変わる", where the fastest and
        the lowest perplexity both lost.
    """
    if len(report.quality) < 2:
        return
    seen: set[str] = set()
    for claim in report.claims:
        run, path = claim.of, claim.model.metric or ""
        if not isinstance(run, RunFacts) or path not in _COMPARED or run.pointer in seen:
            continue
        better = _dominating(run, path)
        if better is not None:
            seen.add(run.pointer)
            yield _dominated(claim, run, better)


_COMPARED = frozenset({"decode.tok_s", "throughput.tok_s"})


def _speed(run: RunFacts, path: str) -> Reported | None:
    return run.decode_tok_s if path == "decode.tok_s" else run.throughput_tok_s


@dataclass(frozen=True, slots=True)
class _Better:
    """A run that is faster than another and whose quality is better."""

    run: RunFacts
    speeds: tuple[Reported, Reported]
    rows: tuple[QualityFacts, QualityFacts]


def _dominating(run: RunFacts, path: str) -> _Better | None:
    a = _speed(run, path)
    if a is None or a.value <= 0:
        return None
    for other in run.report.comparable_runs:
        b = _speed(other, path)
        # The cheapest test comes first: claims are mostly about the fastest run.
        if b is None or b.value <= a.value:
            continue
        if other is run or other.model.configuration == run.model.configuration:
            continue
        speeds = _faster(run, other, path, (a, b))
        rows = _better_rows(run, other) if speeds is not None else None
        if speeds is not None and rows is not None:
            return _Better(other, speeds, rows)
    return None


def _faster(
    run: RunFacts, other: RunFacts, path: str, speeds: tuple[Reported, Reported]
) -> tuple[Reported, Reported] | None:
    """Both speeds where the other run is faster by more than twice the noise."""
    a, b = speeds
    if not comparable(run, other):
        return None
    noise = noise_of(a, run, path), noise_of(b, other, path)
    if noise[0] is None or noise[1] is None:
        return None
    enough = math.log(b.value) - math.log(a.value) > 2 * of_difference(noise[0], noise[1])
    return speeds if enough else None


def _better_rows(run: RunFacts, other: RunFacts) -> tuple[QualityFacts, QualityFacts] | None:
    own, theirs = _rows_of(run), _rows_of(other)
    for row in own:
        for rival in theirs:
            if _same_test(row, rival) and _clearly_better(rival, row):
                return row, rival
    return None


def _rows_of(run: RunFacts) -> list[QualityFacts]:
    rows = (r for r in run.report.quality if r.value is not None and r.configuration.known)
    return [r for r in rows if same_quality(run.configuration, r.configuration)]


def _same_test(a: QualityFacts, b: QualityFacts) -> bool:
    x, y = a.model, b.model
    return (x.metric, x.dataset, x.split, x.context_tokens) == (
        y.metric,
        y.dataset,
        y.split,
        y.context_tokens,
    )


def _clearly_better(rival: QualityFacts, row: QualityFacts) -> bool:
    higher, a, b = quality_higher_is_better(row), row.value, rival.value
    errors = _errors(row, rival)
    if higher is None or a is None or b is None or a.span.meets(b.span) or errors is None:
        return False
    gain = b.value - a.value if higher else a.value - b.value
    return gain > errors.sum


def _dominated(claim: ClaimFacts, run: RunFacts, better: _Better) -> Problem:
    (a, b), (row, rival) = better.speeds, better.rows
    name, other = run.model.configuration, better.run.model.configuration
    return Problem(
        claim.at("of"),
        f"{other!r} is faster than {name!r} ({b} against {a} tok/s) and better in"
        f" {row.model.metric} ({rival.value} against {row.value})",
        related=[
            (a, str(run)),
            (b, str(better.run)),
            *((r.value, str(r)) for r in (row, rival) if r.value is not None),
        ],
        help=f"say why {name!r} is chosen all the same",
        subject=run.configuration.pointer,
    )


# --- BL508 and BL509 -------------------------------------------------------------------------


@rule("BL508", "quality-on-too-few-tokens", Severity.WARNING, "quality", needs=["sample_size"])
def quality_on_too_few_tokens(row: QualityFacts) -> Iterator[Problem]:
    """A perplexity of so little text that its error hides what it is to show.

    What it does:
        Reports perplexities of fewer than 10,000 tokens that do not state their error.
    Why it matters:
        The standard error falls with the square root of the tokens: about 0.6 % on the
        290,000 of WikiText-2, over 3 % on 10,000. Most quantizations cost less than that.
    Example:
        `"metric": "perplexity", "sample_size": 2048, "value": 5.54`
    Instead:
        The whole test text, or the figure with its `error`, best of a paired comparison.
    Sources:
        llama.cpp `tools/perplexity/README.md`.
    """
    tokens = row.model.sample_size
    if tokens is None or not 0 < tokens < ENOUGH_TOKENS or row.value is None:
        return
    if not is_perplexity(row) or _stated_error(row) is not None:
        return
    error = PERPLEXITY_ERROR * math.sqrt(_WIKITEXT_TOKENS / tokens) * 100
    yield Problem(
        row.at("sample_size"),
        f"{row.model.metric} {row.value} is of {tokens} tokens:"
        f" its standard error is some {shown(error, 2)} %",
        related=[(row.value, "the figure")],
        help="use the whole test text, or state the error",
    )


@rule("BL509", "likelihood-with-drafter-on", Severity.WARNING, "quality", needs=["drafter_on"])
def likelihood_with_drafter_on(row: QualityFacts) -> Iterator[Problem]:
    """A perplexity that is said to have been measured while a drafter ran.

    What it does:
        Reports figures made of the probabilities of a given text (perplexity, divergence)
        whose row says `drafter_on`.
    Why it matters:
        Such figures come from one pass over the text; nothing is drafted. At best the drafter
        stood idle; at worst the probabilities are wrong: llama-server gave 0 for every token
        while speculation was on, and vLLM wrong ones for some prompts, without an error.
    Example:
        `"metric": "perplexity", "value": 5.54, "drafter_on": true`
    Instead:
        `"drafter_on": false`, and a task score or a match rate to show that speculation
        changes nothing.
    Sources:
        ggml-org/llama.cpp#27972; vllm-project/vllm#53488.
    """
    if row.model.drafter_on and row.value is not None and is_likelihood(row):
        yield Problem(
            row.at("drafter_on"),
            f"{row.model.metric} {row.value} is of a given text: no drafter has a part in it",
            related=[(row.value, "the figure")],
            help='`"drafter_on": false`; show losslessness by a match rate or a task score',
        )
