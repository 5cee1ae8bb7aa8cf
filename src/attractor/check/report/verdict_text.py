"""A verdict for a person: what was seen, one line for each property, warnings with reasons, then the traces."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.check.report.counterexample import Written, save_artefacts
from attractor.check.report.run_text import lines as run_lines
from attractor.check.report.run_text import steps_of
from attractor.check.report.table import because, plain
from attractor.check.report.table import lines as table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attractor.check.report.counterexample import Counterexample
    from attractor.check.report.table import Paint
    from attractor.check.verdict import PropertyVerdict, Verdict

COLOURS = {"holds": "green", "holds within": "green", "violated": "red", "inconclusive": "yellow"}


def lines(
    verdict: Verdict, paint: Paint, traces: Mapping[str, Path | Written], *, coverage: bool = False
) -> Iterator[str]:
    """The whole report; ``traces`` are the files that hold the counterexamples, by property."""
    threads = f"{verdict.threads} thread{'' if verdict.threads == 1 else 's'}"
    yield f"{paint(verdict.spec, 'bold')}  {paint(f'({verdict.engine} engine, {threads})', 'dim')}"
    yield ""
    yield from _table(verdict, paint)
    yield ""
    yield (
        f"  {verdict.distinct:,} distinct states, {verdict.generated:,} generated, depth {verdict.depth}, "
        f"{verdict.seconds:.2f} s"
    )
    for bound in verdict.within:
        yield f"  {paint('within:', 'dim')} {bound}"
    yield from _binding(verdict, paint)
    if coverage:
        yield ""
        yield from _coverage(verdict)
    yield from _warnings(verdict, paint)
    shown: dict[tuple[str, ...], str] = {}
    for each in verdict.violations():
        yield from _violation(each, paint, traces.get(each.name), shown)
    if verdict.bound and not verdict.violations():
        yield ""
        yield f"{paint('inconclusive:', 'yellow', 'bold')} {_stopped(verdict.bound)}"


def _binding(verdict: Verdict, paint: Paint) -> Iterator[str]:
    within = paint("within", "yellow", "bold")
    for each in verdict.binding:
        yield f"  {within} {each.text}; beyond it there is more: {each.raise_hint}, or --widen"


def _stopped(bound: str) -> str:
    where = bound if bound.startswith("interrupted") else f"stopped at {bound}"
    return f"{where}; what lies beyond was not seen"


def _table(verdict: Verdict, paint: Paint) -> Iterator[str]:
    widest = max((len(each.name) for each in verdict.properties), default=0)
    for each in verdict.properties:
        note = each.kind if each.name != each.kind else ""
        if each.vacuous:
            note += f"{', ' if note else ''}vacuous"
        elif each.trace and each.kind == "sometimes":
            note += f", reached {steps_of(each.trace)}"
        yield f"  {paint(f'{each.verdict:<12}', COLOURS[each.verdict])}  {each.name:<{widest}}  {note}".rstrip()


def _coverage(verdict: Verdict) -> Iterator[str]:
    widest = max((len(each.name) for each in verdict.coverage), default=0)
    yield f"  {'action':<{widest}}  {'taken':>14}  {'Python runs':>11}  {'slots read':>10}"
    for each in verdict.coverage:
        yield f"  {each.name:<{widest}}  {each.taken:>14,}  {each.executed:>11,}  {each.widest:>10}"


def _warnings(verdict: Verdict, paint: Paint) -> Iterator[str]:
    vacuous = [f"`{each.name}` says little: {each.vacuous}" for each in verdict.properties if each.vacuous]
    found = [*vacuous, *verdict.warnings]
    if verdict.bound and verdict.violations():
        found.append(_stopped(verdict.bound))
    if found or verdict.advice:
        yield ""
    yield from (f"{paint('warning:', 'yellow', 'bold')} {each}" for each in found)
    yield from (f"{paint('advice:', 'bold')} {each}" for each in verdict.advice)


def _violation(
    found: PropertyVerdict, paint: Paint, path: Path | Written | None, shown: dict[tuple[str, ...], str]
) -> Iterator[str]:
    yield ""
    error = paint("error:", "red", "bold")
    if found.trace is None:
        yield f"{error} property `{found.name}` is violated: no reachable state makes it true"
        return
    yield f"{error} property `{found.name}` is violated {steps_of(found.trace)}{_faults(found)}"
    yield ""
    known = shown.setdefault(found.trace.actions, found.name)
    if known == found.name:
        yield from run_lines(found.trace, paint) if not isinstance(path, Written) else story_lines(path.found, paint)
    else:
        yield f"  the same steps as for `{known}`"
        if isinstance(path, Written):
            yield from because(path.found.story, paint)
    if isinstance(path, Written):
        yield ""
        yield from hints(path, paint)
    elif path:
        yield ""
        yield f"{paint('hint:', 'bold')} see it again with `attractor replay {path}`"


def _faults(found: PropertyVerdict) -> str:
    """How many faults the run has, and whether it takes so many."""
    match found.faults:
        case None:
            return ""
        case 0:
            return ", without any fault"
        case count:
            known = "none is known with fewer" if not found.is_fewest else "there is none with fewer"
            return f", with {count} fault{'' if count == 1 else 's'}; {known}"


TRACES = Path("traces")
"""Where counterexamples go, from the command line and from tests."""


def failure(verdict: Verdict) -> str:
    """The report of a violated world for a failing test; what was found is saved as the command line saves it."""
    try:
        saved = save_artefacts(verdict, TRACES)
    except (OSError, UnicodeEncodeError) as problem:
        return f"{verdict.word}; the counterexamples cannot be written to {TRACES}: {problem}\n{verdict.text()}"
    return "\n".join(lines(verdict, plain, saved))


def story_lines(found: Counterexample, paint: Paint, *, full: bool = False) -> Iterator[str]:
    """The story as a table, as wide as the terminal is."""
    return table(found.story, width=shutil.get_terminal_size((100, 24)).columns, paint=paint, full=full)


def hints(files: Written, paint: Paint) -> Iterator[str]:
    """What can be done with a counterexample."""
    json: Path = files.json
    yield f"{paint('hint:', 'bold')} look at it          attractor replay {json} --open"
    if files.found.target:
        yield f"      run it for real     attractor replay {json} --runtime"
        yield f"      keep it as a test   attractor trace-to-test {json}"
    yield f"      the diagram is in   {files.html}"
