"""``attractor dev``: the parts of an application as processes of this machine, while it is worked on."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.cli.arguments import object_name, positive, seconds
from attractor.cli.parser import CommandParser, add_part
from attractor.cli.terminal import Paint, UsageError, complain, json_line, say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from attractor.client import Client
    from attractor.operators.devplane.cli.readiness import Outcome
    from attractor.operators.devplane.cli.up import Place

T = TypeVar("T")
STATE_DIR = Path(".attractor")
LISTEN = "127.0.0.1:0"
_EXAMPLES = """\
examples:
  attractor dev up app.yaml --logs
      run an application, and show what its processes write; Ctrl-C stops it
  attractor dev up --detach && attractor dev wait
      run what compose.yaml, Procfile or app.yaml says, in the background, until it is ready
  attractor dev ps
      what runs, and where
  attractor dev logs api -f --grep error
      what processes have written, and what they go on to write
  attractor dev restart api
      end a process, and start it again
  attractor dev down
      stop it from another terminal
  kubectl --kubeconfig .attractor/kubeconfig get executables
      use it as what it is: a Kubernetes API
"""
_UP = """\
examples:
  attractor dev up app.yaml
      run what the file says, and tell of each change
  attractor dev up services.yaml processes.yaml --logs
      several files, and the processes' output
  attractor dev up app.yaml --exit-with tests
      stop when the Executable tests ends, with its exit code
  attractor dev up app.yaml --store sqlite:dev.db
      find objects and processes again after this program was killed
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor dev`` takes."""
    parser.description = (
        "A developer control plane: processes, containers and services as objects of a Kubernetes API, run here."
    )
    parser.epilog = _EXAMPLES
    parts = parser.add_subparsers(dest="part", metavar="COMMAND", required=True)
    _add_up(parts)
    convert = add_part(
        parts, "convert", "Show compose files or a Procfile as objects", "attractor dev convert compose.yaml"
    )
    convert.add_argument("files", nargs="*", metavar="FILE", help="what `attractor dev up` takes")
    _add_profiles(convert)
    _add_json(convert)
    convert.set_defaults(run=_run_convert)
    for name in ("status", "ps"):
        status = _part(parts, name, "Show what runs, and where", f"attractor dev {name}")
        _add_json(status)
        status.set_defaults(run=_run_status)
    _add_logs(parts)
    history = _part(parts, "history", "Show how the last runs of a process went", "attractor dev history api-0")
    history.add_argument("name", metavar="NAME", type=object_name, help="an Executable")
    _add_json(history)
    history.set_defaults(run=_run_history)
    _add_wait(parts)
    restart = _part(parts, "restart", "End processes, and start them again", "attractor dev restart api")
    restart.add_argument("names", nargs="+", metavar="NAME", type=object_name, help="Executables or replica sets")
    restart.add_argument("--no-wait", action="store_true", help="do not wait until they are ready again")
    _add_timeout(restart)
    _add_json(restart)
    restart.set_defaults(run=_run_restart)
    mcp = _part(
        parts, "mcp", "Serve coding assistants, on stdin and stdout", "attractor dev mcp --state-dir .attractor"
    )
    mcp.set_defaults(run=_run_mcp)
    down = _part(parts, "down", "Stop it, and wait until nothing is left", "attractor dev down")
    _add_json(down)
    down.set_defaults(run=_run_down)


def _part(parts: Any, name: str, text: str, example: str) -> CommandParser:
    part = add_part(parts, name, text, example)
    _add_state_dir(part)
    return part


def _add_state_dir(part: Any) -> None:
    part.add_argument(
        "--state-dir",
        type=Path,
        default=STATE_DIR,
        metavar="DIR",
        help=f"where the kubeconfig and the processes' output are (default: {STATE_DIR})",
    )


def _add_json(part: Any) -> None:
    part.add_argument("--json", action="store_true", help="print JSON, for programs")


def _add_profiles(part: Any) -> None:
    part.add_argument(
        "--profile", action="append", default=[], dest="profiles", metavar="NAME", help="a profile of compose files"
    )


def _add_timeout(part: Any) -> None:
    part.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long to wait (default: for ever)")


def _add_logs(parts: Any) -> None:
    logs = _part(parts, "logs", "Show what processes have written", "attractor dev logs api-0 -f")
    logs.add_argument(
        "names", nargs="*", metavar="NAME", type=object_name, help="Executables or replica sets (default: all)"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what they write")
    logs.add_argument("--stdout", action="store_true", help="only what they wrote to stdout")
    logs.add_argument("--stderr", action="store_true", help="only what they wrote to stderr")
    logs.add_argument("--grep", metavar="REGEX", help="only lines in which a regular expression is found")
    logs.add_argument("--since", metavar="TIME", help="only lines since then: 90s, 5m, 2h, 1d ago, or a date")
    logs.add_argument("--tail", type=positive, metavar="N", help="only the last lines")
    logs.add_argument(
        "--run", dest="number", type=int, metavar="N", help="only what run N wrote; -1 is the one before the latest"
    )
    _add_json(logs)
    logs.set_defaults(run=_run_logs)


def _add_wait(parts: Any) -> None:
    wait = _part(parts, "wait", "Wait until an application is ready", "attractor dev wait --timeout 60")
    wait.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        type=object_name,
        help="Executables, replica sets or Services (default: all)",
    )
    wait.add_argument(
        "--for",
        dest="goal",
        choices=("ready", "completed"),
        default="ready",
        help="until they run and are healthy, or until they have ended with exit code 0 (default: ready)",
    )
    _add_timeout(wait)
    _add_json(wait)
    wait.set_defaults(run=_run_wait)


def _add_up(parts: Any) -> None:
    part = parts.add_parser(
        "up",
        help="Run an application until told to stop",
        description="Run what YAML files or a Procfile say, until told to stop.",
        epilog=_UP,
    )
    part.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="YAML files, compose files or a Procfile; - for standard input "
        "(default: app.yaml, compose.yaml or Procfile, whichever is there)",
    )
    _add_profiles(part)
    part.add_argument("--logs", action="store_true", help="show what the processes write")
    part.add_argument("-d", "--detach", action="store_true", help="run in the background, and return when it is up")
    part.add_argument("--exit-with", metavar="NAME", type=object_name, default="", help="end when this program does")
    part.add_argument(
        "--store", default="memory", metavar="STORE", help="memory or sqlite:PATH, to survive a kill (default: memory)"
    )
    part.add_argument(
        "--listen", default=LISTEN, metavar="HOST:PORT", help="where the API server listens (default: a free port)"
    )
    _add_state_dir(part)
    part.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="error",
        help="what the control plane itself logs, on stderr (default: error)",
    )
    part.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    part.set_defaults(run=_run_up)


def _place(args: argparse.Namespace) -> Place:
    from attractor.operators.devplane.cli.up import Place as Made

    return Made(args.state_dir)


def _run_up(args: argparse.Namespace) -> int:
    """0 after an orderly end, 2 when it cannot start, the signal's code when told twice, or the code of --exit-with."""
    from attractor.cli.commands import serve
    from attractor.operators.devplane.api.application import ApplicationError, doubts
    from attractor.operators.devplane.cli import up
    from attractor.operators.devplane.cli.application_files import parts_of
    from attractor.runtime.observability.field_logger import log_to_stderr

    log_to_stderr(getattr(logging, args.log_level.upper()))
    try:
        parts, notes = parts_of(args.files, args.profiles)
        _check_exit_with(args.exit_with, [part.name for part in parts if part.kind in {"Executable", "Container"}])
        if args.detach:
            return _run_detached(args)
        place, doubted = _place(args), [*notes, *doubts(parts)]
        wanted = up.Wanted(place, parts, doubted, args.store, args.listen, args.logs, args.exit_with, args.ready_fd)
        return asyncio.run(up.up(wanted))
    except (ApplicationError, serve.ServeError) as error:
        raise UsageError(str(error), error.hint) from error
    except BaseExceptionGroup as errors:
        refused = errors.subgroup((UsageError, serve.ServeError))
        if refused is None or refused.exceptions == ():
            raise
        first = _first(refused)
        raise UsageError(str(first), getattr(first, "hint", "")) from errors


def _run_convert(args: argparse.Namespace) -> int:
    import yaml

    from attractor.operators.devplane.api.application import ApplicationError
    from attractor.operators.devplane.cli.application_files import parts_of

    try:
        parts, notes = parts_of(args.files, args.profiles)
    except ApplicationError as error:
        raise UsageError(str(error), error.hint) from error
    objects = [part.object for part in parts]
    text = json_line(objects) if args.json else yaml.safe_dump_all(objects, sort_keys=False).rstrip()
    say([text])
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _check_exit_with(name: str, known: Sequence[str]) -> None:
    if name and name not in known:
        raise UsageError(
            f"--exit-with names {name}, which is no Executable or Container of the files",
            f"name one of: {', '.join(known) or 'none'}",
        )


def _run_detached(args: argparse.Namespace) -> int:
    from attractor.operators.devplane.cli.detached import LOG, start

    if "-" in args.files or args.exit_with:
        what = "--exit-with" if args.exit_with else "standard input"
        raise UsageError(f"--detach does not go with {what}", "leave --detach out, or give files")
    profiles = [word for profile in args.profiles for word in ("--profile", profile)]
    words = [*args.files, *profiles, "--store", args.store, "--listen", args.listen, "--state-dir", str(args.state_dir)]
    place = _place(args)
    pid = start(place, [*words, "--log-level", args.log_level, *(["--logs"] if args.logs else [])])
    say(
        [
            f"up:          process {pid}; what it says is in {place.directory / LOG}",
            f"kubeconfig:  {place.kubeconfig}",
            "next:        attractor dev wait, ps, logs, down",
        ]
    )
    return 0


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    """An error that is no group."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _asked(args: argparse.Namespace, question: Callable[[Client], Awaitable[T]]) -> T:
    """What a question to the plane that runs is answered; raises ``UsageError`` when none does."""
    from attractor.operators.devplane.cli.plane_client import client_of

    async def run() -> T:
        async with client_of(_place(args)) as client:
            return await question(client)

    return asyncio.run(run())


def _run_status(args: argparse.Namespace) -> int:
    from attractor.operators.devplane.cli import view
    from attractor.operators.devplane.cli.plane_client import everything

    lines = view.lines_of(_asked(args, everything))
    say([json_line([line._asdict() for line in lines])] if args.json else view.table(lines, Paint(sys.stdout)))
    return 0


def _run_logs(args: argparse.Namespace) -> int:
    from attractor.cli.operator.stop_signals import Stopping
    from attractor.operators.devplane.cli import logs
    from attractor.operators.devplane.drivers.local.output import STREAMS

    asked = logs.Question(
        names=args.names,
        streams=[stream for stream in STREAMS if getattr(args, stream)] or STREAMS,
        pattern=logs.pattern(args.grep),
        since=0.0 if args.since is None else logs.since(args.since),
        tail=args.tail,
        run=args.number,
        follow=args.follow,
    )

    async def shown(client: Client) -> None:
        with Stopping():
            await logs.show(client, asked, as_json=args.json)

    _asked(args, shown)
    return 0


def _run_history(args: argparse.Namespace) -> int:
    from attractor.operators.devplane.cli import logs
    from attractor.operators.devplane.cli.plane_client import everything, executables_named

    found = executables_named(_asked(args, everything), [args.name])
    if args.json:
        say([json_line({one.metadata.name: logs.history(one) for one in found})])
        return 0
    for one in found:
        say([*([f"{one.metadata.name}:"] if len(found) > 1 else []), *logs.history_table(one)])
    return 0


def _run_wait(args: argparse.Namespace) -> int:
    """0 when all is there, 1 when something has failed, 3 when the time is over."""
    from attractor.operators.devplane.cli import readiness

    def chosen(found: Mapping[str, Sequence[Any]]) -> list[Any]:
        everyone = [one for kind, ones in found.items() if kind != "Lease" for one in ones]
        known = [one.metadata.name for one in everyone]
        for name in args.names:
            if name not in known:
                raise UsageError(f"there is no {name}", f"name one of: {', '.join(known) or 'none'}")
        return [one for one in everyone if one.metadata.name in args.names or not args.names]

    outcome = _asked(args, lambda client: readiness.wait(client, chosen, args.goal, args.timeout))
    return _told(args, outcome, f"{', '.join(args.names) or 'all'}: {args.goal}")


def _told(args: argparse.Namespace, outcome: Outcome, text: str) -> int:
    """Print what came of waiting."""
    if args.json:
        say([json_line({"code": outcome.code, "problems": outcome.said})])
    elif outcome.code == 0:
        say([text])
    for line in outcome.said if not args.json else []:
        complain(line)
    return outcome.code


def _run_restart(args: argparse.Namespace) -> int:
    """0 when all are ready again, 1 when one has failed, 3 when the time is over."""
    from attractor.operators.devplane.cli.restarts import restart

    outcome = _asked(args, lambda client: restart(client, args.names, args.timeout, is_awaited=not args.no_wait))
    return _told(args, outcome, f"{', '.join(args.names)}: restarted")


def _run_mcp(args: argparse.Namespace) -> int:
    from attractor.operators.devplane.cli.mcp import serve

    asyncio.run(serve(_place(args)))
    return 0


def _run_down(args: argparse.Namespace) -> int:
    """0 when nothing is left, 2 when nothing runs."""
    from attractor.cli.terminal import ProgressLine
    from attractor.operators.devplane.cli.plane_client import nothing_runs
    from attractor.operators.devplane.cli.up import clear

    place = _place(args)
    if not (place.directory / "lock").exists():
        raise nothing_runs(place)
    progress = ProgressLine()

    async def run() -> int:
        try:
            with place.held():
                return await clear(place)
        except UsageError:  # it is held, so one runs
            pass
        with place.watched() as until_gone:
            await _ask(place)
            progress.show("waiting until all processes have ended")
            with place.held(patiently=True):
                until_gone()
                progress.clear()
                return await clear(place)

    was_running = place.kubeconfig.exists()
    left = asyncio.run(run())
    if args.json and (left or was_running):
        say([json_line({"cleared": left})])
    elif left:
        say([f"cleared up: what a killed plane had left of {left} Executables and Containers was ended"])
    elif not was_running:
        raise nothing_runs(place)
    else:
        say(["stopped: nothing is left running"])
    place.kubeconfig.unlink(missing_ok=True)
    return 0


async def _ask(place: Place) -> None:
    """Ask the plane to end; one that is just starting or ending has no kubeconfig, and is waited for."""
    from attractor.objects.errors import ApiError
    from attractor.operators.devplane.cli.plane_client import client_of
    from attractor.operators.devplane.cli.session import ask_to_end

    try:
        async with client_of(place) as client:
            await ask_to_end(client)
    except ApiError as error:
        complain(f"it does not take the request to end: {error.message}", "stop it with Ctrl-C where it runs")
        raise UsageError("it goes on") from error
