"""``attractor replay TRACE``: print a counterexample step by step, with only what changed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check import SpecError, Trace
from attractor.cli.runs import lines
from attractor.cli.specs import close
from attractor.cli.terminal import Guarded, Paint, UsageError, say

if TYPE_CHECKING:
    import argparse


def register(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "replay",
        help="Print a counterexample step by step",
        description="Print a counterexample step by step, with only what changed.",
    )
    parser.add_argument(
        "trace", metavar="TRACE", help="a trace, or the output of `attractor check --json`; - reads it from stdin"
    )
    parser.add_argument("--property", metavar="NAME", dest="claim", help="which trace, if there are several")
    parser.add_argument("--full", action="store_true", help="print every variable at every step")
    parser.add_argument("--step", type=int, metavar="N", help="print one step only; 0 is the initial state")
    parser.add_argument("--json", action="store_true", help="print the states of the run as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the run; answer the exit code."""
    with Guarded(SpecError) as guard:
        trace = read(args.trace, args.claim)
        if args.step is not None and not 0 <= args.step <= len(trace):
            raise UsageError(f"there is no step {args.step}", f"the run has steps 0 to {len(trace)}")
        if args.json:
            say([json.dumps(_as_states(trace, args.step), ensure_ascii=False)])
            return 0
        paint = Paint(sys.stdout)
        run = lines(trace, paint, full=args.full or args.step is not None, only=args.step)
        say([f"{paint(trace.claim, 'bold')} of {trace.spec}", "", *run])
        return 0
    return guard.code


def read(source: str, claim: str | None = None) -> Trace:
    """The trace in a file, or the trace of a property in the output of ``check --json``."""
    try:
        data = json.loads(sys.stdin.read() if source == "-" else Path(source).read_bytes())
    except FileNotFoundError:
        near = close(source, map(str, Path("traces").glob("*.json"))) if Path("traces").is_dir() else ""
        raise UsageError(f"there is no file {source}", near) from None
    except OSError as problem:
        raise UsageError(f"{source} cannot be read: {problem.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise UsageError(
            f"{source} is not JSON: {problem}", "traces are written by `attractor check` when a property is violated"
        ) from None
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
