"""`benchlint check`: from options to an exit code."""

from __future__ import annotations

import difflib
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TextIO

from benchlint import __version__
from benchlint.checker import baseline as baselines
from benchlint.checker import formats
from benchlint.checker.errors import CannotRunError
from benchlint.checker.files import STDIN, STDIN_NAME, find, relative
from benchlint.checker.finding import FileResult, Severity
from benchlint.checker.formats.base import plural
from benchlint.checker.formats.escape import terminal
from benchlint.checker.parallel import check_files
from benchlint.checker.profiles import Profile
from benchlint.checker.registry import all_rules
from benchlint.checker.runner import Checked, Job, weighed
from benchlint.checker.select import Selection
from benchlint.checker.settings import (
    FAIL_ON,
    NEVER,
    PROFILES,
    Overrides,
    Settings,
    SettingsFinder,
)
from benchlint.checker.suppressions import unused, without_ignored
from benchlint.ending import say
from benchlint.nothing_found import nothing_found
from benchlint.outputs import (
    DEFAULT_FORMAT,
    Output,
    columns_of,
    opened,
    outputs_of,
    wants_color,
)
from benchlint.progress import Progress
from benchlint.read_limits import bytes_of, refuse_overwriting

CLEAN = 0
FOUND = 1


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `benchlint check`; None where one was not given."""

    paths: tuple[str, ...]
    formats: tuple[str, ...] = ()
    output_file: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    profile: str | None = None
    fail_on: str | None = None
    fix: bool = False
    diff: bool = False
    schema: str | None = None
    baseline: str | None = None
    update_baseline: bool = False
    config: str | None = None
    no_config: bool = False
    max_size: float | None = None
    tool: str | None = None
    stdin_filename: str | None = None
    jobs: int = 0
    color: str = "auto"
    quiet: bool = False
    debug: bool = False
    today: date = field(default_factory=date.today)


def run(options: Options) -> int:
    """Check what the options name and write the findings; the exit code, 0 or 1.

    Raises CannotRunError when that cannot be done, OSError when the output cannot be written.
    """
    _refuse_contradictions(options)
    outputs = outputs_of(options.formats, options.output_file)
    _refuse_overwriting(outputs, options)
    job = _job(options, outputs)
    finder = job.settings_finder()
    found = find(options.paths, finder.for_folder)
    results = check_files(found, job, options.jobs)
    if options.diff:
        return _show_diffs(results, options, finder)
    run = _Run(options, finder)
    settings = finder.for_folder(_folder(options.paths[0]))
    if options.update_baseline and not settings.baseline:
        raise CannotRunError("--update-baseline needs --baseline FILE, or one in a configuration")
    with opened(outputs, _format_options(options, settings)) as writers:
        run.write(results, list(zip(outputs, writers, strict=True)))
    run.finish(outputs)
    if run.failed:
        return FOUND
    if not run.checked_any:
        raise CannotRunError("nothing was checked: no file is a benchmark result")
    return CLEAN


def _refuse_contradictions(options: Options) -> None:
    if options.config is not None and options.no_config:
        raise CannotRunError("--config and --no-config contradict each other")
    if options.stdin_filename is not None and STDIN not in options.paths:
        raise CannotRunError("--stdin-filename names standard input: give - instead of other paths")
    if STDIN in options.paths and (options.fix or options.diff):
        raise CannotRunError("--fix and --diff need files; standard input has none")
    if options.fix and options.diff:
        raise CannotRunError("--diff writes nothing and --fix does: choose one")
    if options.diff and (options.formats or options.output_file):
        raise CannotRunError("--diff is a format of its own: leave out --format")
    if options.update_baseline and (options.fix or options.diff):
        raise CannotRunError("--update-baseline takes the findings as they are: leave out --fix")
    if options.select == ():
        raise CannotRunError("--select names no rule; leave it out for all rules")
    if options.max_size is not None:
        bytes_of(options.max_size)


def _refuse_overwriting(outputs: Iterable[Output], options: Options) -> None:
    """No output may take the place of what is read; files of a folder that is searched aside."""
    read = [*options.paths, options.config, options.schema, options.baseline]
    for output in outputs:
        if output.file:
            refuse_overwriting(output.file, output.name, read)


def _job(options: Options, outputs: Iterable[Output]) -> Job:
    return Job(
        overrides=_overrides(options),
        settings_file=options.config,
        search=not options.no_config,
        today=options.today,
        fix="diff" if options.diff else "write" if options.fix else "",
        stdin_name=options.stdin_filename or STDIN_NAME,
        tool=options.tool or "",
        debug=options.debug,
        shown_of_missing=formats.shown_of_missing(output.name for output in outputs),
    )


def _overrides(options: Options) -> Overrides:
    selection = Selection.of(options.select, options.ignore)
    profile = _one_of("--profile", options.profile, PROFILES)
    return Overrides(
        select=selection.select,
        ignore=None if options.ignore is None else selection.ignore,
        profile=None if profile is None else Profile(profile),
        fail_on=_one_of("--fail-on", options.fail_on, FAIL_ON),
        max_size_mb=options.max_size,
        schema=options.schema,
        baseline=options.baseline,
    )


def _one_of(option: str, word: str | None, known: Collection[str]) -> str | None:
    if word is None or word in known:
        return word
    near = difflib.get_close_matches(word, known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise CannotRunError(f"{option} is one of {', '.join(known)}, not {word!r}{hint}")


def _folder(path: str) -> str:
    return path if os.path.isdir(path) else os.path.dirname(path)  # noqa: PTH112, PTH120


def _format_options(options: Options, settings: Settings) -> formats.Options:
    return formats.Options(
        color=wants_color(options.color, sys.stdout),
        show_help=not options.quiet,
        tool_version=__version__,
        fail_on=None if settings.fail_on == NEVER else Severity(settings.fail_on),
        columns=columns_of(sys.stdout),
    )


def _show_diffs(results: Iterable[Checked], options: Options, finder: SettingsFinder) -> int:
    """Write what --fix would change."""
    files = values = 0
    for checked in results:
        _tell(checked.notices, options)
        files += 1
        values += checked.fixed
        _write_diff(checked.diff)
    if not files:
        raise CannotRunError(nothing_found(options.paths, finder.for_folder))
    if not options.quiet:
        say(f"--fix would change {plural(values, 'value') if values else 'nothing'}")
    return FOUND if values else CLEAN


def _write_diff(diff: str) -> None:
    """As `patch` reads it, since it may be piped there; harmless to a terminal and to CI's log."""
    if sys.stdout.isatty():
        sys.stdout.writelines(map(_shown, diff.splitlines(keepends=True)))
    elif diff and os.environ.get("GITHUB_ACTIONS") == "true" and not _goes_to_file(sys.stdout):
        from benchlint.action.job_log import commands_stopped

        with commands_stopped(sys.stdout):  # `patch` skips lines around a diff
            sys.stdout.write(diff)
    else:
        sys.stdout.write(diff)


def _shown(line: str) -> str:
    text = line.rstrip("\r\n")
    return terminal(text, len(text) + 1) + "\n"


def _goes_to_file(stream: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _tell(lines: Iterable[str], options: Options) -> None:
    if not options.quiet:
        for line in lines:
            say(line)


class _Run:
    """What a run adds up while its results are written."""

    def __init__(self, options: Options, finder: SettingsFinder) -> None:
        self.failed = False
        #: Whether some file was a benchmark result, or should have been one.
        self.checked_any = False
        self._options = options
        self._finder = finder
        self._summary = formats.Summary()
        self._fixed = 0
        self._baselines: dict[str, baselines.Baseline] = {}
        self._suppressions: dict[str, tuple[Settings, set[int], set[int]]] = {}
        enabled = sys.stderr.isatty() and not options.quiet and os.environ.get("TERM") != "dumb"
        self._progress = Progress(sys.stderr, enabled=enabled)

    def write(
        self, results: Iterable[Checked], outputs: list[tuple[Output, formats.Format]]
    ) -> None:
        """Write all findings, and the totals. Raises CannotRunError when nothing was checked."""
        for _, writer in outputs:
            writer.begin()
        for result in self._results(results):
            self._summary.add(result)
            if result.findings:
                self._progress.clear()
            for _, writer in outputs:
                writer.add(result)
            self._progress.show(self._summary.files)
        self._progress.clear()
        if not self._summary.files:
            raise CannotRunError(nothing_found(self._options.paths, self._finder.for_folder))
        for output, writer in outputs:
            if output.name != DEFAULT_FORMAT or not self._options.quiet:
                writer.end(self._summary)

    def finish(self, outputs: Iterable[Output]) -> None:
        """Write the baselines, and say what was done besides finding."""
        lines = []
        if self._options.fix:
            lines.append(
                f"fixed {plural(self._fixed, 'value')}" if self._fixed else "fixed nothing"
            )
        lines += [f"wrote {output.file}" for output in outputs if output.file is not None]
        for each in self._baselines.values():
            if self._options.update_baseline:
                lines.append(f"wrote {plural(each.save(), 'finding')} to {each.file}")
            elif each.gone:
                gone = plural(each.gone, "finding")
                lines.append(f"{each.file}: {gone} gone; --update-baseline forgets them")
        _tell(lines, self._options)

    def _results(self, results: Iterable[Checked]) -> Iterator[FileResult]:
        for checked in results:
            _tell(checked.notices, self._options)
            self._fixed += checked.fixed
            self.checked_any |= not checked.is_nothing
            if not checked.only_fixed:
                yield self._result(checked)
        yield from self._unused_suppressions()

    def _result(self, checked: Checked) -> FileResult:
        result = checked.result
        settings = self._finder.for_file(result.path)
        self._note_suppressions(settings, checked)
        if settings.baseline:
            new = self._baseline(settings.baseline).new(result.path, result.findings, checked.names)
            kept = () if self._options.update_baseline else tuple(new)
            known = len(result.findings) - len(kept)
            result = replace(result, findings=kept, suppressed=result.suppressed + known)
        self.failed |= any(map(settings.fails, {f.severity for f in result.findings}))
        return result

    def _baseline(self, file: str) -> baselines.Baseline:
        if file not in self._baselines:
            anew = self._options.update_baseline
            self._baselines[file] = baselines.read(file, anew=anew)
        return self._baselines[file]

    def _note_suppressions(self, settings: Settings, checked: Checked) -> None:
        if checked.asked:
            _, asked, used = self._suppressions.setdefault(settings.file, (settings, set(), set()))
            asked |= checked.asked
            used |= checked.used

    def _unused_suppressions(self) -> Iterator[FileResult]:
        """BL010, once a run, in the configuration files."""
        for file, (settings, asked, used) in self._suppressions.items():
            codes = [r.code for r in all_rules() if settings.selection.wants(r.code)]
            known = without_ignored(settings.suppressions, asked, codes)
            findings = tuple(
                weighed(finding, settings)
                for finding in unused(settings.suppressions, known, used, self._options.today)
                if settings.selection.wants(finding.code)
            )
            if findings:
                self.failed |= any(settings.fails(f.severity) for f in findings)
                yield FileResult(_from_here(file), findings)


def _from_here(file: str) -> str:
    """The path from the current folder where it lies below, else as it is."""
    below = relative(file, "")
    return file if below.startswith("../") else below
