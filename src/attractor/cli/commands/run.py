"""``attractor run``: run controllers, against an embedded cluster or a real one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.arguments import namespace, object_name, positive, seconds
from attractor.cli.commands import serve
from attractor.cli.log_flags import add_log_flags, begin_log
from attractor.cli.operator.operator_module import HELP, definitions, load, need_controllers, need_externals, opened
from attractor.cli.operator.python_modules import ModuleError
from attractor.cli.operator.stop_signals import Stopping
from attractor.cli.operator.webhook_listener import add_options, require_sense, serving_webhooks
from attractor.runtime.worker.overdue import TIMEOUT_S, WORKERS
from attractor.runtime.worker.running_controller import RESYNC_S

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Sequence

    from attractor.cli.operator.operator_module import OperatorModule
    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime import Controller, Manager

_EXAMPLES = """\
examples:
  attractor run my_operator.py
      run its controllers on a cluster in this process; kubectl can use the kubeconfig that is printed
  attractor run my.operator:pairs --kubeconfig ~/.kube/config --namespace staging
      run one controller against a real cluster, in one namespace
  attractor run my_operator.py --store sqlite:cluster.db --reload
      keep the embedded cluster's state in a file, and start again whenever the code changes
  attractor run my_operator.py --kubeconfig ~/.kube/config --webhooks 192.0.2.7:9443
      run against a real cluster, which calls the module's webhooks at this address
  attractor run my_operator.py --record run.jsonl
      write down what the controllers see and do; `attractor check MODULE:WORLD --against run.jsonl` looks at it
"""
INSTALL_TIMEOUT_S = 30.0
STORE, LISTEN = "memory", "127.0.0.1:0"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor run`` takes."""
    parser.description = "Run the controllers of a module until told to stop."
    parser.epilog = _EXAMPLES
    parser.add_argument("module", metavar="MODULE[:NAME]", help=HELP)
    where = parser.add_argument_group("where")
    which = where.add_mutually_exclusive_group()
    which.add_argument("--embedded", action="store_true", help="on a cluster in this process (default)")
    which.add_argument("--kubeconfig", type=Path, metavar="PATH", help="on the cluster that a kubeconfig names")
    which.add_argument("--in-cluster", action="store_true", help="on the cluster that this pod runs in")
    where.add_argument("--context", default="", metavar="NAME", help="the kubeconfig's context (default: its current)")
    where.add_argument(
        "--namespace", type=namespace, default="", metavar="NAME", help="watch one namespace only (default: all)"
    )
    where.add_argument(
        "--store",
        default=STORE,
        metavar="STORE",
        help="where the embedded cluster keeps its state (default: memory)",
    )
    where.add_argument(
        "--listen",
        default=LISTEN,
        metavar="HOST:PORT",
        help="where the embedded cluster listens (default: a free port)",
    )
    where.add_argument(
        "--install-crds", action="store_true", help="create or update the module's CustomResourceDefinitions first"
    )
    parser.add_argument(
        "--workers", type=positive, metavar="N",
        help="reconcile so many objects at once, in each controller, whatever it declares "
        f"(default: what it declares, or {WORKERS})",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=seconds, default=TIMEOUT_S, metavar="S",
        help="cancel a reconcile, and try it again, after so many seconds, in controllers that do not say so "
        f"themselves; 0 for never (default: {TIMEOUT_S:g})",
    )  # fmt: skip
    parser.add_argument("--health", default="", metavar="HOST:PORT", help="serve /healthz, /readyz and /metrics there")
    _add_election(parser)
    add_options(parser)
    parser.add_argument(
        "--resync", type=seconds, default=RESYNC_S, metavar="S",
        help=f"reconcile everything again after so many seconds, 0 for never (default: {RESYNC_S:g})",
    )  # fmt: skip
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write reconciles, requests and cache events to FILE, as JSON lines, up to 64 MiB, behind what an earlier "
        "start has written there; contents of Secrets, arguments of outside calls and credentials are left out",
    )
    parser.add_argument("--reload", action="store_true", help="start again whenever the code changes")
    add_log_flags(parser)
    parser.set_defaults(run=run)


def _add_election(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("leader election")
    group.add_argument("--leader-elect", action="store_true", help="act only while holding a Lease")
    group.add_argument(
        "--leader-elect-name", type=object_name, default="", metavar="NAME", help="the Lease (default: MODULE-leader)"
    )
    group.add_argument(
        "--leader-elect-namespace", type=namespace, default="default", metavar="NAME", help="(default: default)"
    )
    for name, default, text in (
        ("lease-duration", 15.0, "how long others wait for a leader that is not heard of"),
        ("renew-deadline", 10.0, "how long a leader acts without having renewed; shorter than the lease"),
        ("retry-period", 2.0, "how often a leader renews"),
    ):
        group.add_argument(
            f"--leader-elect-{name}", type=seconds, default=default, metavar="S", help=f"{text} (default: {default:g})"
        )


def run(args: argparse.Namespace) -> int:
    """Run until told to stop; 0 after an orderly end, 1 when leadership was lost, 2 when it cannot start.

    Told twice, it ends at once, with the code of the signal; see ``Stopping``.
    """
    from attractor.client import ConfigError
    from attractor.runtime import BuilderError, LeadershipLost

    if args.reload:
        from attractor.cli.operator.reload import run_reloading

        return run_reloading(args.module)
    begin_log(args)
    try:
        _require_sense(args)
        loaded = load(args.module)
        need_controllers(loaded)
        return asyncio.run(_run(args, loaded))
    except (ModuleError, serve.ServeError) as error:
        return _refuse(str(error), error.hint)
    except (BuilderError, ConfigError) as error:
        return _refuse(str(error), "see `attractor run --help`")
    except BaseExceptionGroup as errors:
        if (refused := _first(errors, BuilderError) or _first(errors, ConfigError)) is not None:
            return _refuse(str(refused), "see `attractor run --help`")
        lost, others = errors.split(LeadershipLost)
        if others is not None or lost is None:
            raise
        print("error: leadership was lost, so nothing may be written any more", file=sys.stderr)
        return 1


def _require_sense(args: argparse.Namespace) -> None:
    """Raise ``ServeError`` for what would be given in vain."""
    if args.context and args.kubeconfig is None:
        raise serve.ServeError("--context names a context of a kubeconfig", "give --kubeconfig PATH as well")
    is_elsewhere = args.kubeconfig is not None or args.in_cluster
    for option, given, default in (("--store", args.store, STORE), ("--listen", args.listen, LISTEN)):
        if is_elsewhere and given != default:
            where = "--in-cluster" if args.in_cluster else "--kubeconfig"
            raise serve.ServeError(f"{option} is for an embedded cluster", f"drop {option}, or {where}")
    require_sense(args)
    if args.leader_elect_name and not args.leader_elect:
        raise serve.ServeError(
            "--leader-elect-name names a Lease, but nobody is elected", "give --leader-elect as well"
        )


def _first(errors: BaseExceptionGroup[BaseException], kind: type[Exception]) -> BaseException | None:
    """An error of a kind, however deep in the group."""
    for error in errors.exceptions:
        found = _first(error, kind) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, kind):
            return found
    return None


def _refuse(message: str, hint: str) -> int:
    print(f"error: {message}\n\nhint: {hint}", file=sys.stderr)
    return 2


async def _run(args: argparse.Namespace, loaded: OperatorModule) -> int:
    from attractor.cli.operator.blocking_watch import BlockingWatch

    with Stopping() as stopping, BlockingWatch():
        await _manage(args, loaded, stopping)
    return stopping.code


async def _manage(args: argparse.Namespace, loaded: OperatorModule, stopping: Stopping) -> None:
    from attractor.runtime import Manager

    health = serve.parse_address(args.health, "--health") if args.health else None
    election = _election(args, loaded)
    need_externals(loaded)
    async with (
        _client(args, loaded) as client,
        opened(loaded.externals) as externals,
        contextlib.AsyncExitStack() as held,
        serving_webhooks(args, loaded, client),
    ):
        manager = Manager(
            client,
            loaded.controllers if args.record is None else _recorded(args.record, client, loaded, held),
            namespace=args.namespace,
            externals=externals,
            election=election,
            health=health,
            workers=args.workers,
            timeout_s=args.timeout or None,
            resync_s=args.resync or None,
        )
        stopping.orderly = manager.stop
        async with asyncio.TaskGroup() as group:
            running = group.create_task(manager.run())
            announcing = group.create_task(_announce(manager, args.namespace))
            await asyncio.wait({running})
            announcing.cancel()


def _recorded(
    path: Path, client: Client, loaded: OperatorModule, held: contextlib.AsyncExitStack
) -> Sequence[Controller]:
    """The controllers, recorded until the process ends; raises ``ServeError`` when the file cannot be written."""
    from attractor.testing.recording import Recorder

    try:
        recorder = held.enter_context(Recorder.resumed(path))
    except OSError as problem:
        raise serve.ServeError(f"{path} cannot be written: {problem.strerror}", "choose another --record") from problem
    client.transport = recorder.listening(client.transport)
    return [recorder.watching(one) for one in loaded.controllers]


async def _announce(manager: Manager, namespace: str) -> None:
    try:
        await manager.wait_running()
    except RuntimeError:
        return  # it was told to stop while it stood by or waited for the server
    names = ", ".join(one.declared.name for one in manager.controllers)
    print(f"running:     {names}", flush=True)
    if namespace and await _is_missing(manager.client, namespace):
        print(f"note: there is no namespace {namespace!r}, so there is nothing to do yet", file=sys.stderr)


async def _is_missing(client: Client, namespace: str) -> bool:
    """Return whether a namespace is certainly not there; whoever may not ask, or cannot, gets no answer."""
    from attractor.k8s.core_v1 import Namespace
    from attractor.objects.errors import ApiError, NotFound
    from attractor.objects.gvk import Key

    try:
        await client.get(Namespace, Key("", namespace))
    except NotFound:
        return True
    except ApiError:
        pass
    return False


@contextlib.asynccontextmanager
async def _client(args: argparse.Namespace, loaded: OperatorModule) -> AsyncIterator[Client]:
    if args.kubeconfig is None and not args.in_cluster:
        async with _embedded(args, loaded) as client:
            await install(client, loaded.kinds, definitions(loaded, in_process=True))
            yield client
        return
    from attractor.client import Client
    from attractor.client.configuration.config import in_cluster_config
    from attractor.client.configuration.kubeconfig import load_kubeconfig
    from attractor.client.http.transport import HttpTransport

    config = in_cluster_config() if args.in_cluster else load_kubeconfig(args.kubeconfig, context=args.context)
    async with Client(HttpTransport(config)) as client:
        if args.install_crds:
            await install(client, loaded.kinds, definitions(loaded))
        yield client


@contextlib.asynccontextmanager
async def _embedded(args: argparse.Namespace, loaded: OperatorModule) -> AsyncIterator[Client]:
    settings = serve.Settings.parse(["--store", args.store, "--listen", args.listen])
    async with serve.serving(settings) as cluster, cluster.client() as client:
        await cluster.register(*loaded.webhooks)
        yield client


async def install(client: Client, kinds: Sequence[type[Resource]], definitions: Sequence[JsonObject]) -> None:
    """Apply the definitions of some kinds, and wait until they are served; raises ``ServeError``."""
    from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
    from attractor.objects.errors import ApiError

    for definition in definitions:
        made = CustomResourceDefinition.from_dict(definition)
        try:
            await client.apply(made, field_manager="attractor-run", force=True)
        except ApiError as error:
            raise serve.ServeError(
                f"CustomResourceDefinition {made.metadata.name} cannot be applied: {error.message}",
                "see that the server answers and that this user may; `attractor crd` prints what is applied",
            ) from error
    deadline = asyncio.get_running_loop().time() + INSTALL_TIMEOUT_S
    for kind in kinds:
        while True:
            try:
                await client.list(kind, limit=1)
                break
            except ApiError as error:
                if asyncio.get_running_loop().time() > deadline:
                    raise serve.ServeError(
                        f"{kind.gvk} is not served: {error.message}",
                        "look at its CustomResourceDefinition's conditions",
                    ) from error
            await asyncio.sleep(0.05)


def _election(args: argparse.Namespace, loaded: OperatorModule) -> Any:
    from attractor.runtime import Election

    if not args.leader_elect:
        return None
    try:
        return Election(
            args.leader_elect_name or f"{loaded.name}-leader",
            args.leader_elect_namespace,
            identity=f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}",
            duration_s=args.leader_elect_lease_duration,
            renew_deadline_s=args.leader_elect_renew_deadline,
            retry_period_s=args.leader_elect_retry_period,
        )
    except ValueError as error:
        raise serve.ServeError(str(error), "see `attractor run --help`") from error
