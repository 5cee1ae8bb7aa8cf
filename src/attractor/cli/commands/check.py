"""``attractor check MODULE[:SPEC]``: explore a specification and say what holds."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check import PropertyVerdict, SpecError, Verdict, check, simulate
from attractor.check.engine.record import Record
from attractor.check.report import verdict_text
from attractor.check.report.counterexample import Written, save_artefacts
from attractor.check.report.graph import FORMATS, GraphTooLarge, draw
from attractor.cli.arguments import positive, seconds
from attractor.cli.check.progress import Meter
from attractor.cli.check.targets import close, is_world, load, spelled
from attractor.cli.terminal import Guarded, Paint, ProgressLine, UsageError, complain, json_line, say

if TYPE_CHECKING:
    from attractor.check.api import Checkable
    from attractor.check.engine.model import Bound, Model

SIMULATED_STEPS = 100
MAX_THREADS = 256
"""As in the kernel."""
EXHAUSTIVE = (
    "audit",
    "symmetry",
    "stop_at_first",
    "memory",
    "max_states",
    "max_seconds",
    "save",
    "resume",
    "certificate",
)
EXIT = {"holds": 0, "holds within": 0, "violated": 1, "inconclusive": 3}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

_EXAMPLES = """\
examples:
  attractor check lift.py
      explore the one specification in a file
  attractor check operator_worlds:crashing
      explore a world: real controllers under crashes, stale caches and lost messages
  attractor check operator_worlds:crashing --certificate crashing.cert
      also write what `attractor-verify crashing.cert` checks again, without this checker
  attractor check operator_worlds:crashing --audit
      run it again in a process with other hashes, environment and time zone: does every step do the same?
  attractor check operator_worlds:everything --against run.jsonl
      does the world admit the run that `attractor run my_operator.py --record run.jsonl` wrote?

Exit code: 0 holds, holds within bounds that the verdict names (or admitted), 1 violated (or departs), 2 usage,
3 inconclusive, 70 an error of attractor's own, with a report file.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor check`` takes."""
    parser.description = "Explore every reachable state of a specification or a world, and decide its properties."
    parser.epilog = _EXAMPLES
    add_target(parser)
    parser.add_argument(
        "--property",
        action="append",
        metavar="NAME",
        dest="properties",
        help="decide this property only (again for more; `deadlock` is one)",
    )
    parser.add_argument(
        "--audit",
        action="store_true",
        help="see that code depends on what it is given only: also run the check in another process, and compare",
    )
    parser.add_argument("--no-deadlock", action="store_true", help="accept states without a next step")
    parser.add_argument("--symmetry", action="store_true", help="use declared interchangeability for safety")
    how = parser.add_argument_group("how to search")
    how.add_argument("--engine", choices=("auto", "native", "python"), default="auto", help="default: native if built")
    how.add_argument("--threads", type=_threads, default=1, metavar="N", help="threads of the native engine")
    how.add_argument(
        "--order", choices=("breadth", "depth"), default="breadth", help="breadth (default) finds shortest traces"
    )
    how.add_argument("--simulate", type=positive, metavar="N", help="follow N random runs instead of exploring all")
    how.add_argument("--seed", type=int, default=None, metavar="N", help="which random runs (default: 0)")
    how.add_argument("--stop-at-first", action="store_true", help="stop after the level of the first violation")
    parser.add_argument(
        "--against",
        type=Path,
        action="append",
        metavar="FILE",
        help="follow a run that `attractor run --record FILE` wrote: does this world admit it? (again for each further "
        "process, in the order of the world's hosts)",
    )
    bounds = parser.add_argument_group("bounds (reaching one makes the verdict inconclusive)")
    bounds.add_argument("--depth", type=positive, metavar="N", help="levels of the search, the initial one included")
    bounds.add_argument("--memory", type=_size, metavar="SIZE", help="bytes for states, for example 4G")
    bounds.add_argument("--max-states", type=positive, metavar="N", help="distinct states")
    bounds.add_argument("--max-seconds", type=seconds, metavar="S", help="time")
    bounds.add_argument(
        "--widen", action="store_true", help="raise a world's bounds until none cuts anything off (--max-seconds: 60)"
    )
    bounds.add_argument("--save", type=Path, metavar="FILE", help="keep a search that a bound has stopped")
    bounds.add_argument("--resume", type=Path, metavar="FILE", help="go on with a search that was kept")
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print the verdict as one JSON object")
    output.add_argument("--explain", action="store_true", help="say where the states of a world come from")
    output.add_argument("--coverage", action="store_true", help="show how often each action was taken")
    output.add_argument("--graph", type=_graph_file, metavar="FILE", help="draw a small graph: .svg, .dot or .html")
    output.add_argument("--certificate", type=Path, metavar="FILE", help="write a proof for `attractor-verify FILE`")
    output.add_argument("--trace-dir", type=Path, metavar="DIR", help="where counterexamples go (default: traces)")
    parser.set_defaults(run=run)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every command that takes a specification."""
    parser.add_argument(
        "target", metavar="MODULE[:SPEC]", help="a module's name or a Python file, and the specification in it"
    )
    parser.add_argument(
        "--const",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="constants",
        help="set a constant (again for more)",
    )


def run(args: argparse.Namespace) -> int:
    """Check, print, and answer the exit code."""
    line = ProgressLine()
    with Guarded(SpecError, GraphTooLarge) as guard:
        spec = load(args.target, args.constants)
        if args.against is not None:
            from attractor.cli.check.recorded_runs import validate  # of worlds, which take long to load

            return validate(spec, args)
        model = spec.compile()
        _require_known(model, args.properties or ())
        _require_sense(args)
        if args.graph:
            _draw(spec, args.graph)
        meter = Meter(line)
        try:
            verdict, spec = _widened(spec, args, meter) if args.widen else (_checked(spec, args, meter), spec)
        except KeyboardInterrupt:
            verdict = _interrupted(spec, args, meter)
        finally:
            line.clear()
        _print(verdict, spec, args)
        if args.explain:
            _explain(spec, args)
        return EXIT[verdict.verdict]
    return guard.code


def _checked(spec: Checkable, args: argparse.Namespace, meter: Meter) -> Verdict:
    names = None if args.properties is None else [name for name in args.properties if name != "deadlock"]
    deadlock = not args.no_deadlock and (args.properties is None or "deadlock" in args.properties)
    if args.simulate:
        depth = args.depth or SIMULATED_STEPS
        seed = args.seed or 0
        return simulate(
            spec, runs=args.simulate, depth=depth, seed=seed, properties=names, deadlock=deadlock, on_progress=meter
        )
    record = Record() if args.audit else None
    verdict = check(
        spec,
        properties=names,
        deadlock=deadlock,
        max_seconds=args.max_seconds,
        save=args.save,
        resume=args.resume,
        certificate=args.certificate,
        target=spelled(args.target, args.constants) if args.certificate else "",
        audit=record,
        **_settings(args, meter),
    )
    if record is not None:
        from attractor.cli.check.rerun import compare_with_another_process  # few ask for it

        options = {"properties": names, "deadlock": deadlock, "max_seconds": args.max_seconds}
        options |= {**_settings(args, meter), "on_progress": None}
        compare_with_another_process(args.target, args.constants, options, record)
    return verdict


def _settings(args: argparse.Namespace, meter: Meter) -> dict[str, Any]:
    """Return the search settings, as ``check`` takes them."""
    return {
        "engine": args.engine,
        "threads": args.threads,
        "order": args.order,
        "symmetry": args.symmetry,
        "stop_at_first": args.stop_at_first,
        "max_depth": args.depth,
        "max_states": args.max_states,
        "memory_bytes": args.memory,
        "on_progress": meter,
    }


def _widened(spec: Checkable, args: argparse.Namespace, meter: Meter) -> tuple[Verdict, Checkable]:
    """The verdict with bounds raised; those that were are constants of the counterexample, too."""
    if not is_world(spec):
        raise UsageError("--widen is for worlds of controllers", "a specification says its bounds itself")
    from attractor.check import widen

    def tell(verdict: Verdict, bound: Bound) -> None:
        meter.clear()
        found = f"{verdict.word}: {verdict.distinct:,} states, {verdict.seconds:.2f} s"
        print(f"{found}; next: {bound.raise_hint}", file=sys.stderr)

    names = None if args.properties is None else [name for name in args.properties if name != "deadlock"]
    verdict, wider = widen(
        spec, max_seconds=args.max_seconds, on_widen=tell, properties=names, **_settings(args, meter)
    )
    before = spec.bounds.as_dict()
    raised = {name: value for name, value in wider.bounds.as_dict().items() if value != before[name]}
    kept = [each for each in args.constants if each.partition("=")[0].strip() not in raised]
    args.constants = [*kept, *(f"{name}={value}" for name, value in raised.items())]
    return verdict, wider


def _interrupted(spec: Checkable, args: argparse.Namespace, meter: Meter) -> Verdict:
    """The verdict of a check that was stopped outside the search itself: nothing is decided."""
    wanted = args.properties
    properties = [each for each in spec.compile().properties if wanted is None or each.name in wanted]
    seen = meter.last
    return Verdict(
        spec=repr(spec),
        distinct=seen.distinct if seen else 0,
        generated=seen.generated if seen else 0,
        depth=seen.depth if seen else 0,
        seconds=seen.seconds if seen else 0.0,
        properties=tuple(PropertyVerdict(each.name, each.kind, "inconclusive") for each in properties),
        bound="interrupted",
        engine=args.engine,
        threads=args.threads,
    )


def _print(verdict: Verdict, spec: Checkable, args: argparse.Namespace) -> None:
    if args.json:
        data = verdict.to_json()
        if args.coverage:
            data["coverage"] = [vars(each) for each in verdict.coverage]
        if args.trace_dir:
            _saved(verdict, spec, args.trace_dir, args)
        say([json_line(data)])
        return
    traces = _saved(verdict, spec, args.trace_dir or Path("traces"), args)
    say(verdict_text.lines(verdict, Paint(sys.stdout), traces, coverage=args.coverage))
    if args.save and verdict.bound and args.save.is_file():
        say(["", f"{Paint(sys.stdout)('hint:', 'bold')} go on with `--resume {args.save}`"])


def _explain(spec: Checkable, args: argparse.Namespace) -> None:
    if not is_world(spec):
        raise UsageError("--explain is for worlds of controllers", "for a specification, see --coverage")
    from attractor.check.report.state_counts import explain

    say(["", *explain(spec, max_states=args.max_states, threads=args.threads).lines()])


def _saved(verdict: Verdict, spec: Checkable, folder: Path, args: argparse.Namespace) -> dict[str, Path | Written]:
    """The files of the counterexamples; none where they cannot be written, for the verdict is worth more than they."""
    try:
        checked = replace(verdict, source=spec)
        return save_artefacts(checked, folder, target=args.target, constants=args.constants)
    except OSError as problem:
        complain(f"traces cannot be written to {folder}: {problem.strerror}", "choose another --trace-dir")
        return {}
    except UnicodeEncodeError:  # the names of files are ASCII here, those of properties are not
        complain(f"traces cannot be written to {folder}: names here are ASCII only", "set LC_ALL to a UTF-8 locale")
        return {}


def _require_known(model: Model, names: list[str] | tuple[()]) -> None:
    known = [*(each.name for each in model.properties), "deadlock"]
    for name in names:
        if name not in known:
            raise UsageError(f"{model.name} has no property `{name}`", close(name, known))


def _require_sense(args: argparse.Namespace) -> None:
    if args.seed is not None and not args.simulate:
        raise UsageError("--seed is for random runs", "add `--simulate 1000`")
    given = [f"--{name.replace('_', '-')}" for name in EXHAUSTIVE if getattr(args, name)]
    if args.simulate and given:
        raise UsageError(
            f"{', '.join(given)} cannot be used with --simulate", "random runs take --depth and --seed only"
        )
    if args.audit and (args.widen or args.resume):
        raise UsageError("--audit compares two whole searches", "leave out --widen and --resume")
    if args.widen and (args.simulate or args.save or args.resume):
        raise UsageError("--widen explores a world several times", "leave out --simulate, --save and --resume")
    if args.resume and not args.resume.is_file():
        raise UsageError(f"there is no file {args.resume}", "it is written by --save when a bound stops a search")
    if args.save and not args.save.absolute().parent.is_dir():
        raise UsageError(f"the search cannot be saved to {args.save}", "name a file in a directory that there is")


def _draw(spec: Checkable, path: Path) -> None:
    try:
        path.write_text(draw(spec, path.suffix.lstrip(".")), encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"the graph cannot be written to {path}: {problem.strerror}") from None


def _threads(text: str) -> int:
    if (found := positive(text)) > MAX_THREADS:
        raise argparse.ArgumentTypeError(f"{text} threads are more than the engine takes, which is {MAX_THREADS}")
    return found


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write for example 500M or 4G")
    return int(float(found[1]) * _UNITS[found[2]])


def _graph_file(text: str) -> Path:
    path = Path(text)
    if path.suffix.lstrip(".") not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {' or '.join('.' + each for each in FORMATS)}")
    return path
