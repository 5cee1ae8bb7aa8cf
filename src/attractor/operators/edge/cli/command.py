"""``attractor edge``: the programs of the edge operator, and what an administrator needs around them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.commands import serve
from attractor.cli.log_flags import add_log_flags, begin_log
from attractor.cli.parser import add_part
from attractor.cli.terminal import UsageError
from attractor.testing.python_files import make_importable

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from attractor.client import Client

_EXAMPLES = """\
examples:
  attractor edge serve --kubeconfig ./admin
      an API server that refuses moves which the tables do not have
  attractor edge coordinator --kubeconfig ./admin
      run the coordinator; start a second one and either may be killed
  attractor edge credentials berlin --kubeconfig ./admin > ./agent
      what the agent of cloudlet berlin connects with
  attractor edge agent --namespace berlin --kubeconfig ./agent --state-dir ./berlin
      run that agent; it starts clusters and apps as processes of this machine
  attractor edge status --kubeconfig ./admin --watch
      what everything is, and how far the agents have come, as it changes
  attractor edge tables
      print the tables that all of them follow
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor edge`` takes."""
    parser.description = "Two actors and a coordinator: clusters and apps on cloudlets, by agents that may crash."
    parser.epilog = _EXAMPLES
    parts = parser.add_subparsers(dest="part", metavar="COMMAND", required=True)
    _add_serve(parts)
    _add_coordinator(parts)
    _add_agent(parts)
    _add_credentials(parts)
    _add_repair(parts)
    _add_status(parts)
    tables = add_part(parts, "tables", "Print the tables of the lifecycles", "attractor edge tables --svg ./pictures")
    tables.add_argument("--svg", type=Path, metavar="DIR", help="draw them into this directory too")
    tables.set_defaults(run=_run_tables)


def _add_serve(parts: Any) -> None:
    """As ``attractor serve``, with the kinds' admission."""
    part = parts.add_parser("serve", help="Serve a Kubernetes API with the operator's admission")
    serve.configure(part)
    part.description = "As `attractor serve`, with the admission of the edge operator."
    part.epilog = "example:\n  attractor edge serve --store sqlite:edge.db --kubeconfig ./admin"
    part.set_defaults(run=_run_serve)


def _kubeconfig(part: Any) -> None:
    part.add_argument("--kubeconfig", type=Path, required=True, metavar="PATH", help="the API server, and who to be")


def _add_coordinator(parts: Any) -> None:
    example = "attractor edge coordinator --kubeconfig ./admin --health 127.0.0.1:8080"
    part = add_part(parts, "coordinator", "Run the coordinator", example)
    _kubeconfig(part)
    part.add_argument("--no-install", action="store_true", help="do not create or update the kinds first")
    part.add_argument(
        "--leader-elect", action="store_true", help="act only while holding a Lease (not needed for safety)"
    )
    part.add_argument("--health", default="", metavar="HOST:PORT", help="serve /healthz, /readyz and /metrics there")
    add_log_flags(part)
    part.set_defaults(run=_run_coordinator)


def _add_agent(parts: Any) -> None:
    example = "attractor edge agent --namespace berlin --kubeconfig ./agent --state-dir ./berlin"
    part = add_part(parts, "agent", "Run the agent of one cloudlet", example)
    _kubeconfig(part)
    part.add_argument("--namespace", required=True, metavar="NAME", help="the cloudlet, which is a namespace")
    part.add_argument("--state-dir", type=Path, required=True, metavar="DIR", help="what it must find again")
    part.add_argument("--version", default="", help="(default: the one that last took over here, or 1)")
    part.add_argument(
        "--driver", default="process", metavar="NAME", help="process, kubernetes or MODULE:FACTORY (default: process)"
    )
    part.add_argument(
        "--capacity", type=int, default=100, metavar="N", help="nodes of all clusters together (default: 100)"
    )
    part.add_argument("--driver-kubeconfig", type=Path, metavar="PATH", help="with kubernetes: the cluster to work in")
    part.add_argument("--no-wait", action="store_true", help="with kubernetes: do not wait until apps are available")
    part.add_argument(
        "--heartbeat",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="how often to give a sign of life; after four that are missing the cloudlet is Offline (default: 10)",
    )
    part.add_argument(
        "--upgrade-command", default="", metavar="COMMAND", help="how to start the next agent; {version} is replaced"
    )
    add_log_flags(part)
    part.set_defaults(run=_run_agent)


def _add_credentials(parts: Any) -> None:
    example = "attractor edge credentials berlin --kubeconfig ./admin > ./agent"
    part = add_part(parts, "credentials", "Print the kubeconfig of a cloudlet's agent", example)
    part.add_argument("cloudlet", metavar="NAME", help="the cloudlet")
    _kubeconfig(part)
    part.add_argument("--version", default="", help="(default: the one that serves, or is wanted)")
    part.set_defaults(run=_run_credentials)


def _add_repair(parts: Any) -> None:
    example = "attractor edge repair berlin --kubeconfig ./admin"
    part = add_part(parts, "repair", "After a failed upgrade, go back to the version that serves", example)
    part.add_argument("cloudlet", metavar="NAME", help="the cloudlet")
    _kubeconfig(part)
    part.set_defaults(run=_run_repair)


def _add_status(parts: Any) -> None:
    example = "attractor edge status --kubeconfig ./admin --watch"
    part = add_part(parts, "status", "Show what everything is, and how far the agents have come", example)
    part.add_argument("cloudlet", metavar="NAME", nargs="?", default="", help="(default: all of them)")
    _kubeconfig(part)
    part.add_argument("--watch", action="store_true", help="go on with a line for each change")
    part.set_defaults(run=_run_status)


def _refuse(error: Exception, hint: str) -> int:
    print(f"error: {getattr(error, 'message', error)}\n\nhint: {hint}", file=sys.stderr)
    return 2


def _announce(text: str) -> None:
    print(text, flush=True)


@contextlib.asynccontextmanager
async def _client(path: Path) -> AsyncIterator[Client]:
    from attractor.client import Client, load_kubeconfig
    from attractor.client.http.transport import HttpTransport

    async with Client(HttpTransport(load_kubeconfig(path))) as client:
        yield client


def _run_serve(args: argparse.Namespace) -> int:
    """``attractor serve`` with the operator's kinds and plug-ins."""
    from attractor.operators.edge.admission import PLUGINS

    begin_log(args)
    try:
        asyncio.run(serve.serve(serve.Settings.of(args), admission=PLUGINS))
    except serve.ServeError as error:
        return _refuse(error, error.hint)
    return 0


def _run_coordinator(args: argparse.Namespace) -> int:
    from attractor.client import ConfigError
    from attractor.objects.errors import ApiError
    from attractor.operators.edge.cli.programs import run_coordinator
    from attractor.runtime import Election

    begin_log(args)
    identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
    election = Election("edge-coordinator", "default", identity) if args.leader_elect else None

    async def run() -> None:
        async with _client(args.kubeconfig) as client:
            health = serve.parse_address(args.health) if args.health else None
            await run_coordinator(client, _announce, install=not args.no_install, election=election, health=health)

    try:
        asyncio.run(run())
    except (ConfigError, ApiError, serve.ServeError) as error:
        return _refuse(error, "give the kubeconfig of an API server that answers, and of a user who may do this")
    return 0


def _run_agent(args: argparse.Namespace) -> int:
    """0 after an orderly end, 2 when it cannot start, 3 when the cloudlet does not want this version."""
    from attractor.client import ConfigError
    from attractor.operators.edge.cli.programs import AgentSettings, run_agent
    from attractor.operators.edge.drivers import DriverSettings, UnknownDriver
    from attractor.operators.edge.drivers.process_launcher import AlreadyRunning

    begin_log(args)
    options = [
        "--capacity",
        str(args.capacity),
        "--log-level",
        args.log_level,
        "--log-format",
        args.log_format,
        "--heartbeat",
        str(args.heartbeat),
    ]
    if args.driver_kubeconfig is not None:
        options += ["--driver-kubeconfig", str(args.driver_kubeconfig)]
    if args.no_wait:
        options.append("--no-wait")
    args.state_dir.mkdir(parents=True, exist_ok=True)
    make_importable(Path.cwd())  # a driver of one's own, for the agent of the next version too, which starts with -P
    settings = AgentSettings(
        namespace=args.namespace,
        version=args.version or _last_version(args.state_dir),
        kubeconfig=args.kubeconfig,
        state_dir=args.state_dir.resolve(),
        driver=args.driver,
        driver_options=tuple(options),
        heartbeat_s=args.heartbeat,
        driver_settings=DriverSettings(
            args.state_dir.resolve(), args.capacity, args.driver_kubeconfig, not args.no_wait
        ),
        upgrade_command=tuple(args.upgrade_command.split()),
    )
    try:
        return asyncio.run(run_agent(settings, _announce))
    except (ConfigError, UnknownDriver, AlreadyRunning) as error:
        return _refuse(error, "see `attractor edge agent --help`")


def _last_version(state_dir: Path) -> str:
    path = state_dir / "version"
    return path.read_text().strip() if path.exists() else "1"


def _run_credentials(args: argparse.Namespace) -> int:
    from attractor.client import ConfigError
    from attractor.objects.errors import ApiError
    from attractor.operators.edge.cli.credentials import agent_kubeconfig

    async def run() -> bytes:
        async with _client(args.kubeconfig) as client:
            return await agent_kubeconfig(client, args.kubeconfig, args.cloudlet, args.version)

    try:
        sys.stdout.write(asyncio.run(run()).decode())
    except (ConfigError, ApiError) as error:
        return _refuse(error, "create the Cloudlet and run the coordinator first: it makes the agent's account")
    return 0


def _run_repair(args: argparse.Namespace) -> int:
    from attractor.client import ConfigError
    from attractor.objects.errors import ApiError
    from attractor.operators.edge.cli.credentials import NothingToRepair, repair

    async def run() -> str:
        async with _client(args.kubeconfig) as client:
            return await repair(client, args.cloudlet)

    try:
        print(asyncio.run(run()))
    except (ConfigError, ApiError, NothingToRepair) as error:
        return _refuse(error, "see `kubectl get cloudlets --all-namespaces`")
    return 0


def _run_status(args: argparse.Namespace) -> int:
    from attractor.client import ConfigError
    from attractor.client.errors import ServerUnreachable
    from attractor.objects.errors import ApiError
    from attractor.operators.edge.cli import status
    from attractor.runtime.observability.field_logger import log_to_stderr

    log_to_stderr(logging.WARNING)  # such as why nothing is shown

    async def run() -> None:
        async with _client(args.kubeconfig) as client:
            if args.watch:
                await status.follow(client, args.cloudlet, _announce)
            else:
                shown = await status.show(client, args.cloudlet)
                if args.cloudlet and "\n" not in shown:
                    raise UsageError(
                        f"there is nothing of a cloudlet {args.cloudlet}",
                        "see `kubectl get cloudlets --all-namespaces`",
                    )
                _announce(shown)

    try:
        asyncio.run(run())
    except (ConfigError, ApiError) as error:
        answers = isinstance(error, ApiError) and not isinstance(error, ServerUnreachable)
        first = "start `attractor edge coordinator` first: it installs the kinds"
        return _refuse(error, first if answers else "give the kubeconfig of an API server that answers")
    return 0


def _run_tables(args: argparse.Namespace) -> int:
    from attractor.lifecycle import svg, text_table
    from attractor.operators.edge.api.states import AGENT, CLOUDLET, CLUSTER_INST

    for table in (CLUSTER_INST, CLOUDLET, AGENT):
        print(f"{table.name}\n\n{text_table(table)}")
        if args.svg is not None:
            args.svg.mkdir(parents=True, exist_ok=True)
            (args.svg / f"{table.name.lower()}.svg").write_text(svg(table))
    return 0
