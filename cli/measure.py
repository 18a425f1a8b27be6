"""`benchlint measure`: the options. What they do is in `measure_run`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from benchlint.completion import PLACEMENTS, WORKLOADS, completes
from benchlint.ending import Debug, stopped_like_ctrl_c
from benchlint.engine_options import EngineOptions, with_engine_options

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = """\b
Examples:
  benchlint measure --target-model 8b.gguf --draft-model 1b.gguf --draft-max 2,4,8 --out run1
  benchlint measure --target-model 8b.gguf --method prompt_lookup --workload rag,code --out run2
  benchlint measure --target-model 8b.gguf --draft-model 1b.gguf --filled 0,8192,32768 --out run3
  benchlint measure --endpoint http://127.0.0.1:8080 --method mtp --draft-max 3 \\
      --baseline-endpoint http://127.0.0.1:8081 --out run4
  benchlint measure --resume --out run1 --set target.name=Qwen3-8B \\
      --set 'workloads.*.thinking=false'

\b
Exit codes:
  0  the report is written
  2  could not run, or an engine failed on the way (what was measured is in the report)
130  interrupted (what was measured is in the report)
"""


def _number(name: str, metavar: str, text: str, least: float = 0, most: float | None = None) -> Any:
    return typer.Option(name, metavar=metavar, min=least, max=most, show_default=False, help=text)


@app.command(
    short_help="Measure arms with and without a drafter and write a report.", epilog=_EXAMPLES
)
@with_engine_options
def measure(
    engine: EngineOptions,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="METHOD",
            show_default=False,
            help="How drafts are made: draft_model (the default with --draft-model), "
            "prompt_lookup, ngram, mtp, eagle3, dflash, …; several with commas.",
        ),
    ] = None,
    draft_max: Annotated[
        list[str] | None,
        typer.Option(
            "--draft-max",
            metavar="K,…",
            show_default=False,
            help="Draft lengths to compare, as 2,4,8 (4). Of an endpoint: the one it has.",
        ),
    ] = None,
    p_min: Annotated[
        float, _number("--p-min", "P", "Drafting stops below this probability (0).", 0, 1)
    ] = 0.0,
    argmax: Annotated[
        list[str] | None,
        typer.Option(
            "--argmax",
            metavar="WHERE,…",
            show_default=False,
            autocompletion=completes(*PLACEMENTS),
            help="Where draft tokens are selected, gpu or cpu or both to compare them; left to "
            "the engine otherwise.",
        ),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline/--no-baseline", help="Measure an arm without a drafter beside the others."
        ),
    ] = True,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            metavar="SET,…",
            show_default=False,
            autocompletion=completes(*WORKLOADS),
            help="Bundled sets of prompts: code, prose, planning, chat, tool_call, infra, rag "
            "(code,prose,tool_call).",
        ),
    ] = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option(
            "--prompts",
            metavar="FILE",
            show_default=False,
            help="Prompts of your own instead, JSON Lines with `prompt`; repeat it. A copy is "
            "kept beside the report.",
        ),
    ] = None,
    prompts_per_set: Annotated[
        int | None,
        typer.Option(
            "--prompts-per-set",
            metavar="N",
            min=1,
            show_default=False,
            help="Only the first N prompts of each set.",
        ),
    ] = None,
    filled: Annotated[
        list[str] | None,
        typer.Option(
            "--filled",
            metavar="TOKENS,…",
            show_default=False,
            help="Fill the KV cache up to here before each prompt, as 0,8192; 0 is the prompt "
            "alone.",
        ),
    ] = None,
    max_tokens: Annotated[
        int,
        typer.Option("--max-tokens", metavar="N", min=1, max=32768, help="Longest answer."),
    ] = 256,
    ignore_eos: Annotated[
        bool, typer.Option("--ignore-eos", help="Go on after an end token.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Send prompts as they are, without the chat template.")
    ] = False,
    temperature: Annotated[
        float, _number("--temperature", "T", "0, the default, is greedy.", 0, 100)
    ] = 0.0,
    top_p: Annotated[float | None, _number("--top-p", "P", "Left to the engine.", 0, 1)] = None,
    top_k: Annotated[int | None, _number("--top-k", "N", "Left to the engine.", -1)] = None,
    min_p: Annotated[float | None, _number("--min-p", "P", "Left to the engine.", 0, 1)] = None,
    repetition_penalty: Annotated[
        float | None, _number("--repetition-penalty", "X", "Left to the engine.", 0, 100)
    ] = None,
    presence_penalty: Annotated[
        float | None, _number("--presence-penalty", "X", "Left to the engine.", -10, 10)
    ] = None,
    frequency_penalty: Annotated[
        float | None, _number("--frequency-penalty", "X", "Left to the engine.", -10, 10)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, show_default=False, help="Of the sampler (1 where it draws)."
        ),
    ] = None,
    kv_type: Annotated[
        str | None,
        typer.Option(
            "--kv-type",
            metavar="TYPE",
            show_default=False,
            help="Type of the target's KV cache, as q8_0, or of keys/values, as q8_0/q4_0 (f16).",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="FILE",
            help="Text of your own for perplexity, which --engine llama-cpp measures; a bundled "
            "essay otherwise. A copy is kept beside the report.",
        ),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(
            "--pairs",
            metavar="N",
            min=1,
            max=20,
            help="Rounds, in each of which every arm answers all prompts; multiples of 4 cancel "
            "drift.",
        ),
    ] = 8,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Stop measuring after 90s, 10m or 1h30m and write the report."
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print what would be measured and stop; nothing is contacted."),
    ] = False,
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Where to write.")] = "measured",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the run in that folder; without an engine only its report is "
            "written again, with what --set tells.",
        ),
    ] = False,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            show_default=False,
            help="What only you know, for the report, as target.name=Qwen3-8B; the value is JSON "
            "or a text. Repeat it.",
        ),
    ] = None,
    no_input: Annotated[
        bool,
        typer.Option(
            "--no-input",
            help="Never ask for what is missing; otherwise that is done on a terminal.",
        ),
    ] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Measure arms with and without a drafter and write a complete report.

    Arms take turns in every round on the same prompts. Writes samples.jsonl while it measures,
    then report.json beside it, asks on a terminal for what nothing tells but you, and says what
    `check --profile publish` still misses.
    Ctrl-C or SIGTERM ends it early with the report of what there is.
    """
    from benchlint.reproducers.engine_choice import require

    require("reproduce", "measuring")
    from benchlint.asking import can_ask
    from benchlint.measure_run import Options
    from benchlint.measure_run import run as run_command

    options = Options(
        engine=engine,
        methods=_listed(method),
        draft_lengths=_listed(draft_max),
        p_min=p_min,
        placements=_listed(argmax),
        baseline=baseline,
        workloads=_listed(workload),
        prompts=tuple(prompts or ()),
        prompts_per_set=prompts_per_set,
        filled=_listed(filled),
        max_tokens=max_tokens,
        ignore_eos=ignore_eos,
        raw=raw,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        presence_penalty=presence_penalty,
        frequency_penalty=frequency_penalty,
        seed=seed,
        kv_type=kv_type,
        text=text,
        pairs=pairs,
        budget=budget,
        plan=plan,
        out=out,
        resume=resume,
        values=tuple(values or ()),
        ask=not no_input and can_ask(),
    )
    with stopped_like_ctrl_c():
        raise typer.Exit(run_command(options))


def _listed(values: list[str] | None) -> tuple[str, ...]:
    """Words out of repeated options with commas in them."""
    words = (word.strip() for value in values or () for word in value.split(","))
    return tuple(word for word in words if word)
