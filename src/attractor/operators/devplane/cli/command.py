"""``attractor dev``: the parts of an application as processes of this machine, while it is worked on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.arguments import object_name
from attractor.cli.parser import CommandParser, add_part
from attractor.cli.terminal import Paint, UsageError, complain, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Sequence

    from attractor.client import Client
    from attractor.operators.devplane.cli.up import Place

STATE_DIR = Path(".attractor")
LISTEN = "127.0.0.1:0"
_EXAMPLES = """\
examples:
  attractor dev up app.yaml --logs
      run an application, and show what its processes write; Ctrl-C stops it
  attractor dev status
      what runs, and where
  attractor dev logs api-0 -f
      what a process has written, and what it goes on to write
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
    status = _part(parts, "status", "Show what runs, and where", "attractor dev status")
    status.set_defaults(run=_run_status)
    logs = _part(parts, "logs", "Show what a process has written", "attractor dev logs api-0 -f")
    logs.add_argument("name", metavar="NAME", type=object_name, help="an Executable, or a replica set for all of its")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what it writes")
    logs.add_argument("--stderr", action="store_true", help="what it wrote to stderr (default: to stdout)")
    logs.set_defaults(run=_run_logs)
    down = _part(parts, "down", "Stop it, and wait until nothing is left", "attractor dev down")
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


def _add_up(parts: Any) -> None:
    part = parts.add_parser(
        "up",
        help="Run an application until told to stop",
        description="Run the Executables, Containers and Services of YAML files, until told to stop.",
        epilog=_UP,
    )
    part.add_argument("files", nargs="+", metavar="FILE", help="YAML files; - for standard input")
    part.add_argument("--logs", action="store_true", help="show what the processes write")
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
    part.set_defaults(run=_run_up)


def _place(args: argparse.Namespace) -> Place:
    from attractor.operators.devplane.cli.up import Place as Made

    return Made(args.state_dir)


def _run_up(args: argparse.Namespace) -> int:
    """0 after an orderly end, 2 when it cannot start, and the signal's code when told twice."""
    from attractor.cli.commands import serve
    from attractor.operators.devplane.api.application import ApplicationError, doubts, read
    from attractor.operators.devplane.cli import up
    from attractor.runtime.observability.field_logger import log_to_stderr

    log_to_stderr(getattr(logging, args.log_level.upper()))
    try:
        parts = read([_content(name) for name in args.files])
        wanted = up.Wanted(_place(args), parts, doubts(parts), args.store, args.listen, args.logs)
        return asyncio.run(up.up(wanted))
    except (ApplicationError, serve.ServeError) as error:
        raise UsageError(str(error), error.hint) from error
    except BaseExceptionGroup as errors:
        refused = errors.subgroup((UsageError, serve.ServeError))
        if refused is None or refused.exceptions == ():
            raise
        first = _first(refused)
        raise UsageError(str(first), getattr(first, "hint", "")) from errors


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    """An error that is no group."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _content(name: str) -> tuple[str, str]:
    """A file's name and what is in it; raises ``UsageError``."""
    if name == "-":
        return "stdin", sys.stdin.read()
    try:
        return name, Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}", "give a YAML file with the application") from error
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text", "give a YAML file with the application") from None


@contextlib.asynccontextmanager
async def _client(place: Place) -> AsyncIterator[Client]:
    """A client of the plane that runs; raises ``UsageError`` when none does."""
    from attractor.client import Client as Made
    from attractor.client import ConfigError, load_kubeconfig
    from attractor.client.errors import ServerUnreachable
    from attractor.client.http.transport import HttpTransport

    if not place.kubeconfig.exists():
        raise _nothing_runs(place)
    try:
        async with Made(HttpTransport(load_kubeconfig(place.kubeconfig))) as client:
            yield client
    except ServerUnreachable:
        raise UsageError(
            f"the developer control plane of {place.directory} does not answer",
            "it was killed, or is just ending; `attractor dev down` clears up after it",
        ) from None
    except ConfigError as error:
        raise UsageError(str(error), f"delete {place.kubeconfig}, and start again with `attractor dev up`") from None


def _nothing_runs(place: Place) -> UsageError:
    return UsageError(
        f"no developer control plane runs in {place.directory}",
        "start one with `attractor dev up FILE`, or name its directory with --state-dir",
    )


def _run_status(args: argparse.Namespace) -> int:
    from attractor.operators.devplane.cli import view
    from attractor.operators.devplane.cli.session import ORDER

    async def found() -> list[view.Line]:
        async with _client(_place(args)) as client:
            return view.lines_of({kind.__name__: await client.list(kind) for kind in ORDER})

    say(view.table(asyncio.run(found()), Paint(sys.stdout)))
    return 0


def _run_logs(args: argparse.Namespace) -> int:
    from attractor.cli.operator.stop_signals import Stopping

    async def run() -> None:
        with Stopping():
            async with _client(_place(args)) as client:
                await _logs(client, args)

    asyncio.run(run())
    return 0


async def _logs(client: Client, args: argparse.Namespace) -> None:
    """Print what is there, and what follows until all of them are over."""
    from attractor.operators.devplane.api.executables import FINAL
    from attractor.operators.devplane.cli.log_tail import LOOK_S, Tails

    shown = await _named(client, args.name)
    is_alone = len(shown) == 1 and shown[0].metadata.name == args.name
    said = 0

    def tell(name: str, line: str) -> None:
        nonlocal said
        said += 1
        say([line if is_alone else f"{name} | {line}"])

    tails = Tails(tell)
    while True:
        for one in shown:
            tails.follow(one.metadata.name, [one.status.stderr_file if args.stderr else one.status.stdout_file])
        tails.look()
        if not args.follow or all(one.status.phase in FINAL for one in shown):
            break
        await asyncio.sleep(LOOK_S)
        shown = await _named(client, args.name, is_needed=False)
    tails.forget(tails.names)
    if not said and not args.stderr and not args.follow:
        print(f"note: {args.name} has written nothing to stdout; see --stderr", file=sys.stderr)


async def _named(client: Client, name: str, *, is_needed: bool = True) -> Sequence[Any]:
    """The Executable of a name, or those of a replica set; raises ``UsageError`` when there must be one."""
    from attractor.operators.devplane.api.executables import REPLICA_SET, Executable

    everyone = await client.list(Executable)
    found = [one for one in everyone if one.metadata.name == name]
    found = found or [one for one in everyone if one.metadata.labels.get(REPLICA_SET) == name]
    if not found and is_needed:
        known = ", ".join(one.metadata.name for one in everyone) or "none"
        raise UsageError(f"there is no Executable or replica set {name}", f"name one of: {known}")
    return found


def _run_down(args: argparse.Namespace) -> int:
    """0 when nothing is left, 2 when nothing runs."""
    from attractor.cli.terminal import ProgressLine
    from attractor.operators.devplane.cli.up import clear

    place = _place(args)
    if not (place.directory / "lock").exists():
        raise _nothing_runs(place)
    progress = ProgressLine()

    async def run() -> int:
        try:
            with place.held():
                return await clear(place)
        except UsageError:  # it is held, so one runs
            pass
        await _ask(place)
        progress.show("waiting until all processes have ended")
        with place.held(patiently=True):
            progress.clear()
            return await clear(place)

    was_running = place.kubeconfig.exists()
    left = asyncio.run(run())
    if left:
        say([f"cleared up: what a killed plane had left of {left} Executables and Containers was ended"])
    elif not was_running:
        raise _nothing_runs(place)
    else:
        say(["stopped: nothing is left running"])
    place.kubeconfig.unlink(missing_ok=True)
    return 0


async def _ask(place: Place) -> None:
    """Ask the plane to end; one that is just starting or ending has no kubeconfig, and is waited for."""
    from attractor.objects.errors import ApiError
    from attractor.operators.devplane.cli.session import ask_to_end

    try:
        async with _client(place) as client:
            await ask_to_end(client)
    except ApiError as error:
        complain(f"it does not take the request to end: {error.message}", "stop it with Ctrl-C where it runs")
        raise UsageError("it goes on") from error
