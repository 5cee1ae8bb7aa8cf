"""``attractor replay TRACE``: print a counterexample, draw it, or run it on the production runtime."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check import SpecError, Trace
from attractor.check.report.run_text import lines
from attractor.check.report.verdict_text import story_lines
from attractor.cli.check.counterexamples import found_in, is_counterexample, world_of
from attractor.cli.check.targets import close
from attractor.cli.terminal import Guarded, Paint, UsageError, json_line, say

if TYPE_CHECKING:
    import argparse

    from attractor.check.report.counterexample import Counterexample
    from attractor.check.report.story import Step

_EXAMPLES = """\
examples:
  attractor replay traces/lift-never-open.json
      print the run step by step, with only what changed
  attractor replay traces/world-of-pairs-eventually-stable.json --open
      draw the run of a world as a space-time diagram and look at it in a browser
  attractor replay traces/world-of-pairs-eventually-stable.json --runtime
      run the same steps on the production runtime: confirmed, or refuted at some step

Exit code of --runtime: 0 confirmed, 1 refuted (a bug of attractor, please report it), 2 usage.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor replay`` takes."""
    parser.description = (
        "Print a counterexample step by step, with only what changed. A counterexample of a world can also "
        "be drawn, and carried out by the production runtime."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "trace", metavar="TRACE", help="a trace, or the output of `attractor check --json`; - reads it from stdin"
    )
    parser.add_argument("--property", metavar="NAME", dest="claim", help="which trace, if there are several")
    parser.add_argument("--full", action="store_true", help="print every variable at every step")
    parser.add_argument("--step", type=int, metavar="N", help="print one step only; 0 is the initial state")
    parser.add_argument("--json", action="store_true", help="print the states of the run as one JSON object")
    world = parser.add_argument_group("counterexamples of worlds")
    world.add_argument("--html", type=Path, metavar="OUT", help="draw a space-time diagram into one HTML file")
    world.add_argument("--open", action="store_true", help="look at the diagram in a browser")
    world.add_argument("--runtime", action="store_true", help="run the steps on the production runtime and compare")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the run; answer the exit code."""
    with Guarded(SpecError) as guard:
        data = read_json(args.trace)
        if is_counterexample(data) and args.step is None and not args.json:
            return _show_story(args, found_in(args.trace, data))
        if args.html or args.open or args.runtime:
            raise UsageError(
                f"{args.trace} is not a counterexample of a world, which alone can be drawn and run",
                "write one with `attractor check MODULE:WORLD`; --step and --json go without these options",
            )
        trace = trace_in(args.trace, data, args.claim)
        if args.step is not None and not 0 <= args.step <= len(trace):
            raise UsageError(f"there is no step {args.step}", f"the run has steps 0 to {len(trace)}")
        if args.json:
            say([json_line(_as_states(trace, args.step))])
            return 0
        paint = Paint(sys.stdout)
        run = lines(trace, paint, full=args.full or args.step is not None, only=args.step)
        say([f"{paint(trace.claim, 'bold')} of {trace.spec}", "", *run])
        return 0
    return guard.code


def _show_story(args: argparse.Namespace, found: Counterexample) -> int:
    paint = Paint(sys.stdout)
    if args.html or args.open:
        _draw(found, args)
    if args.runtime:
        return _run_for_real(found, paint)
    if not (args.html or args.open):
        say(story_lines(found, paint, full=args.full))
    return 0


def _draw(found: Counterexample, args: argparse.Namespace) -> None:
    from attractor.check.report.diagram import page

    beside = Path("trace.html") if args.trace == "-" else Path(args.trace).with_suffix(".html")
    target: Path = args.html or beside
    try:
        target.write_text(page(found.story), encoding="utf-8")
    except OSError as problem:
        reason = f"the diagram cannot be written to {target}: {problem.strerror}"
        raise UsageError(reason, "choose another file with --html") from None
    say([str(target)])
    if args.open and not webbrowser.open(target.resolve().as_uri()):
        raise UsageError("no browser can be started here", f"open {target} yourself; it needs no network")


def _run_for_real(found: Counterexample, paint: Paint) -> int:
    from attractor.testing.replay import CannotReplay, replay

    width = len(str(len(found.trace)))
    logging.getLogger("attractor").addHandler(logging.NullHandler())

    def show(number: int, step: Step) -> None:
        print(f"  {paint(f'{number:>{width}}', 'dim')}  {step.title}")

    try:
        done = asyncio.run(replay(world_of(found), found.trace, on_step=show))
    except CannotReplay as problem:
        raise UsageError(str(problem)) from None
    colour = "green" if done.is_confirmed else "red"
    word, _, rest = str(done).partition(":")
    say(["", f"{paint(word + ':', colour, 'bold')}{rest}"])
    if not done.is_confirmed:
        print("\nThe checker and the runtime disagree: that is a bug of attractor. Please report it with the file.")
    return 0 if done.is_confirmed else 1


def read_json(source: str) -> Any:
    """The JSON in a file, or on stdin; raises ``UsageError``."""
    try:
        return json.loads(sys.stdin.read() if source == "-" else Path(source).read_bytes())
    except FileNotFoundError:
        near = close(source, map(str, Path("traces").glob("*.json"))) if Path("traces").is_dir() else ""
        raise UsageError(f"there is no file {source}", near) from None
    except OSError as problem:
        raise UsageError(f"{source} cannot be read: {problem.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise UsageError(
            f"{source} is not JSON: {problem}", "traces are written by `attractor check` when a property is violated"
        ) from None


def trace_in(source: str, data: Any, claim: str | None = None) -> Trace:
    """The trace in the JSON of a file, or the trace of a property in the output of ``check --json``."""
    if isinstance(data, dict) and isinstance(data.get("properties"), list):
        data = _chosen(source, data["properties"], claim)
    if not isinstance(data, dict):
        raise UsageError(f"{source} is not a trace", "traces are written by `attractor check`")
    try:
        return Trace.from_json(data)
    except (SpecError, AttributeError, ValueError) as problem:
        raise UsageError(f"{source}: {problem}") from None


def _chosen(source: str, properties: list[Any], claim: str | None) -> Any:
    shown = {each["name"]: each for each in properties if isinstance(each, dict) and each.get("trace")}
    if claim is not None and claim not in shown:
        raise UsageError(f"{source} has no trace of `{claim}`", close(claim, shown))
    violated = [name for name, each in shown.items() if each.get("verdict") == "violated"]
    if claim is None and not violated:
        raise UsageError(f"{source} has no counterexample: nothing is violated", "choose one with --property")
    return shown[claim or violated[0]]["trace"]


def _as_states(trace: Trace, only: int | None) -> dict[str, Any]:
    states = [
        {"step": number, "action": trace.steps[number - 1].label if number else None, "state": state}
        for number, state in enumerate(trace.states())
        if only is None or number == only
    ]
    return {"spec": trace.spec, "property": trace.claim, "states": states, "loop": trace.loop}
