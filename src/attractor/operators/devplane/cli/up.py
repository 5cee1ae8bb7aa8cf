"""``attractor dev up``: a server, the controllers and an application in one process, until it is told to stop.

Told once (Ctrl-C, SIGTERM, or ``attractor dev down``), it takes everything down in order and says what it waits for.
Told twice, it ends at once: what still runs is killed. Either way nothing is left running; what a plane that was itself
killed has left is ended by the next one, or by ``down``.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import select
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.commands import serve
from attractor.cli.commands.run import install
from attractor.cli.operator.operator_module import opened
from attractor.cli.operator.stop_signals import Stopping
from attractor.cli.terminal import Paint, ProgressLine, UsageError, say
from attractor.operators.devplane.cli import view
from attractor.operators.devplane.cli.log_tail import Tails
from attractor.operators.devplane.cli.readiness import exit_code_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from attractor.client import Client
    from attractor.operators.devplane.api.application import Part

SYNC_S = 30.0


@dataclass(frozen=True)
class Place:
    """The directory of a plane: its kubeconfig while it runs, its certificates, and what its processes write."""

    directory: Path

    @property
    def kubeconfig(self) -> Path:
        """There while the plane runs."""
        return self.directory / "kubeconfig"

    @property
    def processes(self) -> Path:
        """Return the directory of the process records."""
        return self.directory.resolve() / "processes"

    def prepare(self) -> None:
        """Make the directory, which is nothing to be shared; raises ``UsageError``."""
        self._require_own()
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            ignore = self.directory / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
        except OSError as error:
            raise UsageError(
                f"{self.directory} cannot be used: {error.strerror}", "give another directory with --state-dir"
            ) from error

    def _require_own(self) -> None:
        """Raise ``UsageError`` for a directory that leads elsewhere: the administrator's credentials are put there.

        It is looked for where the command was started, which may be a directory that somebody else has filled.
        """
        try:
            links = [self.directory] if self.directory.is_symlink() else []
            links += [Path(entry.path) for entry in os.scandir(self.directory) if entry.is_symlink()]
            owner = self.directory.stat().st_uid
        except OSError:
            return  # it is not there, or making it says what is wrong
        if links:
            raise UsageError(
                f"{links[0]} is a symbolic link to {links[0].readlink()}; what is put there might be read by others",
                "remove the link, or name the directory itself with --state-dir",
            )
        if owner != os.geteuid():
            raise UsageError(f"{self.directory} belongs to another user", "give another directory with --state-dir")

    @contextlib.contextmanager
    def watched(self) -> Iterator[Callable[[], None]]:
        """A function that returns when the process that has the plane now is gone, which is soon after it let go."""
        try:
            gone = os.pidfd_open(int((self.directory / "lock").read_text()))
        except (OSError, ValueError):
            yield lambda: None
            return

        def until_gone() -> None:
            select.select([gone], [], [])

        try:
            yield until_gone
        finally:
            os.close(gone)

    @contextlib.contextmanager
    def held(self, *, patiently: bool = False) -> Iterator[None]:
        """Have it alone, for as long as the block lasts or the process lives; raises ``UsageError`` if another has."""
        with (self.directory / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if patiently else fcntl.LOCK_NB))
            except BlockingIOError:
                file.seek(0)
                raise UsageError(
                    f"a developer control plane runs in {self.directory} already, as process {file.read().strip()}",
                    "stop it with `attractor dev down`, or give this one another --state-dir",
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield


@dataclass(frozen=True)
class Wanted:
    """The arguments of ``attractor dev up``, checked."""

    place: Place
    parts: Sequence[Part]
    doubts: Sequence[str]
    store: str
    listen: str
    logs: bool
    exit_with: str = ""
    """The Executable or Container whose end is the end of all, and whose exit code is that of the command."""
    ready_fd: int | None = None
    """Where to write, as soon as all objects are stored and the kubeconfig is there."""


class Ending:
    """The Executable or Container with which a plane ends, and how it did."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.code = 0

    def is_reached(self, found: Mapping[str, Sequence[Any]]) -> bool:
        """Return whether it is over; from then on its code is known."""
        for one in [*found["Executable"], *found["Container"]]:
            if one.metadata.name == self._name and (code := exit_code_of(one)) is not None:
                self.code = code
                return True
        return False


class Screen:
    """The terminal of ``attractor dev up``: changes and output on stdout, progress on stderr."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._paint = Paint(sys.stdout)
        self._progress = ProgressLine()
        self._known: dict[tuple[str, str], view.Line] = {}
        self._widths = view.widths_of([view.Line("", f"{name}-0", "") for name in names])
        self._styles: dict[str, tuple[str, ...]] = {}

    def fact(self, name: str, text: str) -> None:
        """Something that a person needs once."""
        self._say(f"{self._paint(f'{name}:', 'bold')}{' ' * max(1, 12 - len(name))}{text}")

    def objects(self, lines: Sequence[view.Line]) -> None:
        """Tell what has changed since the last time."""
        self._widths = [max(pair) for pair in zip(self._widths, view.widths_of(lines), strict=True)]
        now = self._paint(datetime.now().astimezone().strftime("%H:%M:%S"), "dim")
        for line in view.news(self._known, lines):
            if not line.is_told:
                continue
            self._say(f"{now}  {view.text_of(line, self._widths, self._paint)}")
        self._known = {line.about: line for line in lines}

    def output(self, name: str, text: str) -> None:
        """A line that a process has written."""
        style = self._styles.setdefault(name, view.NAME_STYLES[len(self._styles) % len(view.NAME_STYLES)])
        processes = [known for kind, known in self._known if kind == view.SHORT["Executable"]]
        width = max(map(len, [name, *processes]))
        self._say(f"{self._paint(f'{name:<{width}} |', *style)} {text}")

    def waiting(self, text: str) -> None:
        """Show what is waited for, in place."""
        self._progress.show(text)

    def _say(self, text: str) -> None:
        self._progress.clear()
        with contextlib.suppress(UsageError):
            say([text])


async def up(wanted: Wanted) -> int:
    """Run a plane until it is told to stop; answers the exit code. Raises ``UsageError``, ``ServeError``."""
    place, stopping, code = wanted.place, Stopping(), 0
    place.prepare()
    with place.held():
        try:
            with stopping:
                if wanted.store == "memory":
                    await clear(place)  # what is written down belongs to a plane whose objects are gone
                code = await _live(wanted, stopping)
        finally:
            if wanted.store == "memory" or stopping.code:
                await clear(place)
    return stopping.code or code


async def clear(place: Place) -> int:
    """End all processes that are written down and all containers of the session, and answer how many they were."""
    from attractor.operators.devplane.controllers.declarations import containers_of
    from attractor.operators.devplane.drivers.local.sweep import sweep, sweep_containers

    runtime = containers_of(place.processes, os.environ)
    return len(await sweep(place.processes)) + await sweep_containers(runtime)


async def _live(wanted: Wanted, stopping: Stopping) -> int:
    """Run the plane until it is told to stop; answers the exit code of the Executable with which it ends, or 0."""
    from attractor.client import Client
    from attractor.operators.devplane.cli import session
    from attractor.operators.devplane.controllers.declarations import containers_of, controllers_of, externals_of
    from attractor.operators.devplane.drivers.local.processes import LocalProcesses
    from attractor.runtime import Manager
    from attractor.webhooks import WebhookSet

    screen, stop = Screen([part.name for part in wanted.parts]), asyncio.Event()
    ending = Ending(wanted.exit_with) if wanted.exit_with else None
    async with _server(wanted) as client:
        await install(client, session.KINDS, WebhookSet().definitions(session.KINDS))
        machine = LocalProcesses(wanted.place.processes)
        runtime = containers_of(wanted.place.processes, os.environ)
        own = Client(client.transport)  # the manager counts its requests and follows its writes, not the screen's
        async with opened(externals_of(machine, runtime)) as externals:
            await session.open_session(client, str(os.getpid()))
            async with Manager(own, controllers_of(machine, runtime), externals=externals).running():
                await _apply(client, wanted.parts)
                screen.fact("kubeconfig", str(wanted.place.kubeconfig))
                for doubt in wanted.doubts:
                    screen.fact("note", doubt)
                _announce(wanted.ready_fd)
                stopping.orderly = stop.set
                async with _followed(client, screen, stop, ending, logs=wanted.logs):
                    await stop.wait()
                    screen.fact("stopping", "processes and containers, then services; Ctrl-C again ends at once")
                    await session.take_down(client, screen.waiting)
                screen.objects([])  # all are gone, also where the follower was not told yet
                screen.fact("stopped", "nothing is left running")
    return 0 if ending is None else ending.code


def _announce(descriptor: int | None) -> None:
    """Tell whoever started this plane in the background that it is there; who has gone meanwhile is not told."""
    if descriptor is not None:
        with contextlib.suppress(BrokenPipeError):
            os.write(descriptor, str(os.getpid()).encode())
        os.close(descriptor)


@contextlib.asynccontextmanager
async def _server(wanted: Wanted) -> AsyncIterator[Client]:
    where = ["--kubeconfig", str(wanted.place.kubeconfig), "--state-dir", str(wanted.place.directory)]
    settings = serve.Settings.parse(["--store", wanted.store, "--listen", wanted.listen, *where])
    async with serve.serving(settings, is_announced=False) as cluster, cluster.client() as client:
        yield client


async def _apply(client: Client, parts: Sequence[Part]) -> None:
    from attractor.operators.devplane.cli import session

    try:
        await session.apply(client, parts)
    except session.Refused as error:
        raise UsageError(str(error), "mend that in the file, and start again; nothing was started") from error


@contextlib.asynccontextmanager
async def _followed(
    client: Client, screen: Screen, stop: asyncio.Event, ending: Ending | None, *, logs: bool
) -> AsyncIterator[None]:
    """Tell what happens, and stop when somebody asks for it, while the block lasts."""
    tails = Tails(screen.output)
    async with asyncio.TaskGroup() as group:
        following = [group.create_task(_follow(client, screen, stop, tails if logs else None, ending))]
        if logs:
            following.append(group.create_task(tails.run()))
        try:
            yield
        finally:
            for task in following:
                task.cancel()


async def _follow(
    client: Client, screen: Screen, stop: asyncio.Event, tails: Tails | None, ending: Ending | None = None
) -> None:
    from attractor.operators.devplane.cli import session

    async with session.followed(client) as views:
        async for found in views:
            screen.objects(view.lines_of(found))
            if tails is not None:
                _follow_output(tails, found["Executable"])
            is_asked = not any(one.key == session.LEASE for one in found["Lease"])
            if is_asked or (ending is not None and ending.is_reached(found)):
                stop.set()


def _follow_output(tails: Tails, executables: Sequence[Any]) -> None:
    for one in executables:
        tails.follow(one.metadata.name, (one.status.stdout_file, one.status.stderr_file))
    tails.look()  # files are open before anybody is told to go
    tails.forget(tails.names - {one.metadata.name for one in executables})
