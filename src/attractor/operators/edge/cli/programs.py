"""The two programs of the edge operator: the coordinator, and the agent of one cloudlet."""

from __future__ import annotations

import asyncio
import secrets
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attractor.cache import Scope
from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.coordination_v1 import Lease
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.operators.edge.api.access import LABEL
from attractor.operators.edge.api.types import KINDS, AppInst, ClusterInst
from attractor.operators.edge.controllers.agent import worker
from attractor.operators.edge.controllers.declarations import CONTROLLERS
from attractor.operators.edge.controllers.progress import ProgressTeller
from attractor.operators.edge.controllers.reporter import Agent, Reporter
from attractor.operators.edge.controllers.sessions import Reports, Sessions, SessionTransport
from attractor.operators.edge.controllers.takeover import takeover
from attractor.operators.edge.drivers import DriverSettings, make_driver
from attractor.operators.edge.drivers.process_launcher import (
    NOT_WANTED,
    AgentLock,
    ProcessLauncher,
    agent_command,
    kubeconfig_of,
    with_token,
)
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, Driver, Launcher
from attractor.operators.edge.drivers.token_renewal import Renewal, renewable
from attractor.runtime import Manager

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
    from pathlib import Path

    from attractor.objects.resource import Resource
    from attractor.runtime import Election

INSTALL_S = 30.0


@dataclass(frozen=True)
class AgentSettings:
    """Settings of an agent."""

    namespace: str
    version: str
    kubeconfig: Path
    state_dir: Path
    driver: str = "process"
    driver_options: tuple[str, ...] = ()
    """The arguments about the driver, to be given to the next agent as they are."""
    driver_settings: DriverSettings | None = None
    heartbeat_s: float = 10.0
    """How often it gives a sign of life."""
    upgrade_command: tuple[str, ...] = ()
    """How to start the next agent; ``{version}`` in it is replaced. Empty means: as this one was."""

    def command(self, version: str) -> Sequence[str]:
        """The command line of this cloudlet's agent of another version."""
        if self.upgrade_command:
            return [part.replace("{version}", version) for part in self.upgrade_command]
        own = ["--namespace", self.namespace, "--version", version, "--state-dir", str(self.state_dir)]
        kubeconfig = str(kubeconfig_of(self.state_dir, version))
        return agent_command([*own, "--kubeconfig", kubeconfig, "--driver", self.driver, *self.driver_options])

    def credentials(self, token: str) -> bytes:
        """This agent's kubeconfig, with another token."""
        return with_token(self.kubeconfig, token)


async def run_agent(settings: AgentSettings, announce: Callable[[str], None]) -> int:
    """Run until told to stop (0), or until the cloudlet does not want this version (3). Raises ``AlreadyRunning``."""
    lock = AgentLock(settings.state_dir, settings.version)
    lock.acquire()
    told: list[str] = []
    config, token = renewable(load_kubeconfig(settings.kubeconfig), settings.kubeconfig)
    sessions = Sessions(f"{settings.version}-{secrets.token_hex(4)}")
    reports = Reports(sessions.wake)
    async with Client(SessionTransport(HttpTransport(config), sessions)) as client:
        progress = ProgressTeller(client)
        made_from = settings.driver_settings or DriverSettings(settings.state_dir)
        driver = make_driver(settings.driver, replace(made_from, tell=progress.tell))
        agent = Agent(settings.namespace, settings.version, settings.heartbeat_s)
        reporter = Reporter(client, agent, driver, sessions, reports)
        beside: list[Coroutine[Any, Any, None]] = [reporter.run(), progress.run()]
        if token is not None:
            beside.append(Renewal(client, agent.lease, token).run())

        def source(kind: str) -> tuple[Any, ...]:
            return (*_keys(driver, kind), reporter.keys[kind])

        controllers = [
            takeover(settings.version),
            worker(ClusterInst, settings.version, source(CLUSTER), reports=reports),
            worker(AppInst, settings.version, source(APP), reports=reports),
        ]

        def leave(why: str) -> None:
            told.append(why)
            manager.stop()

        launcher = ProcessLauncher(
            client,
            settings.state_dir,
            settings.namespace,
            settings.version,
            settings.command,
            settings.credentials,
            leave,
        )
        manager = Manager(
            client, controllers, namespace=settings.namespace, externals={Driver: driver, Launcher: launcher}
        )
        announce(f"agent {settings.version} of {settings.namespace}: {settings.driver} driver")
        await run_until_stopped(manager, beside)
    for why in told:
        announce(why)
    return NOT_WANTED if told else 0


def _keys(driver: Any, kind: str) -> tuple[Any, ...]:
    """Return a source of keys that change on the platform; nothing where the driver cannot tell."""
    if not hasattr(driver, "changes"):
        return ()
    return (_KeysOf(driver, kind),)


class _KeysOf:
    def __init__(self, driver: Any, kind: str) -> None:
        self._driver = driver
        self._kind = kind

    async def __aiter__(self) -> AsyncIterator[Key]:
        async for ref in self._driver.changes(self._kind):
            yield Key(ref.namespace, ref.name)


async def run_coordinator(
    client: Client,
    announce: Callable[[str], None],
    *,
    install: bool = True,
    election: Election | None = None,
    health: tuple[str, int] | None = None,
) -> None:
    """Run the coordinator until told to stop; raises ``ApiError`` when the kinds cannot be installed."""
    if install:
        await install_kinds(client)
    scopes: dict[type[Resource], Scope] = {Lease: Scope(label_selector=LABEL)}
    manager = Manager(client, CONTROLLERS, scopes=scopes, election=election, health=health)
    announce("coordinator: " + ", ".join(one.name for one in CONTROLLERS))
    await run_until_stopped(manager)


async def install_kinds(client: Client) -> None:
    """Create or update the kinds, and wait until they are served; raises ``ApiError``."""
    for kind in KINDS:
        definition = CustomResourceDefinition.from_dict(kind.crd())
        await client.apply(definition, field_manager="attractor-edge", force=True)
    deadline = asyncio.get_running_loop().time() + INSTALL_S
    for kind in KINDS:
        while True:
            try:
                await client.list(kind, limit=1)
                break
            except ApiError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(0.05)


async def run_until_stopped(manager: Manager, beside: Iterable[Coroutine[Any, Any, None]] = ()) -> None:
    """Run a manager, and what belongs beside it, until SIGTERM, SIGINT or its own end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, manager.stop)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in beside]
        await manager.run()
        for task in tasks:
            task.cancel()
