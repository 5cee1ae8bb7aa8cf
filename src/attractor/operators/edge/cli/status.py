"""``attractor edge status``: what every cloudlet, cluster and app is, and how far the agents have come.

``--watch`` goes on: a line for everything as it is, then one for each change, until it is told to stop.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.client import Client
    from attractor.operators.edge.api.types import Cloudlet, Instance, Progress

HEADINGS = ("CLOUDLET", "KIND", "NAME", "STATE", "STEP", "DOING")
WIDTHS = (10, 11, 10, 22, 4, 0)
"""How wide the columns are at least where lines come one by one."""


class Line(NamedTuple):
    """One line of the view, cell by cell."""

    cloudlet: str
    kind: str
    name: str
    state: str
    step: str = ""
    doing: str = ""

    @property
    def about(self) -> tuple[str, str, str]:
        """Return the object that it is a line about."""
        return self.cloudlet, self.kind, self.name


def cloudlet_line(cloudlet: Cloudlet) -> Line:
    """A cloudlet: the upgrade's state, and the agent's beside it where they differ."""
    from attractor.operators.edge.controllers.upgrades import cloudlet_status

    status, name = cloudlet_status(cloudlet), cloudlet.metadata.name
    state, agent = str(status.state), str(status.cloudlet_state)
    if agent != state:
        state += f" ({agent})"
    return Line(cloudlet.metadata.namespace, "Cloudlet", name, state, "", status.message)


def instance_line(obj: Instance, progress: Progress | None) -> Line:
    """An instance: how far its agent has come, while it is at work on it; else what is said of it."""
    from attractor.operators.edge.api.intents import lifecycle_of, status_of

    status = status_of(obj)
    said = status.message if status.message != status.state else ""
    line = Line(obj.metadata.namespace, obj.kind, obj.metadata.name, str(status.state), "", said)
    if progress is None or status.state not in lifecycle_of(obj).busy or progress.operation != status.operation:
        return line
    return line._replace(step=f"{progress.step}/{progress.steps}", doing=progress.message)


def lines_of(found: Mapping[str, Sequence[Any]]) -> list[Line]:
    """The whole view, from the objects of each kind."""
    from attractor.operators.edge.controllers.progress import progress_name
    from attractor.operators.edge.drivers.protocols import Ref

    progresses = {(one.metadata.namespace, one.metadata.name): one for one in found["Progress"]}
    lines = [cloudlet_line(one) for one in found["Cloudlet"]]
    for kind in ("ClusterInst", "AppInst"):
        for obj in found[kind]:
            named = progress_name(Ref(kind, *obj.key))
            lines.append(instance_line(obj, progresses.get((obj.metadata.namespace, named))))
    order = {"Cloudlet": 0, "ClusterInst": 1, "AppInst": 2}
    return sorted(lines, key=lambda line: (line.cloudlet, order[line.kind], line.name))


def columns(lines: Sequence[Line]) -> list[int]:
    """Return the widths of the columns."""
    return [max(len(cells[at]) for cells in (HEADINGS, *lines)) for at in range(len(HEADINGS))]


def text_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line as it is printed."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def table(lines: Sequence[Line]) -> str:
    """The view with its headings."""
    widths = columns(lines)
    return "\n".join(text_of(cells, widths) for cells in (HEADINGS, *lines))


async def objects_of(client: Client, cloudlet: str) -> dict[str, Sequence[Any]]:
    """Return the objects of the view, by kind; raises ``ApiError``."""
    from attractor.operators.edge.api.types import KINDS

    found: dict[str, Sequence[Any]] = {}
    for kind in KINDS:
        found[kind.__name__] = await client.list(kind, cloudlet)
    return found


async def show(client: Client, cloudlet: str) -> str:
    """The view now; raises ``ApiError``."""
    return table(lines_of(await objects_of(client, cloudlet)))


async def follow(client: Client, cloudlet: str, say: Callable[[str], None]) -> None:
    """Say what there is, then each change, until SIGTERM or SIGINT; raises ``ApiError`` when it cannot begin."""
    from attractor.operators.edge.api.types import Cloudlet

    await client.list(Cloudlet, cloudlet, limit=1)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        following = group.create_task(_follow(client, cloudlet, say))
        await stop.wait()
        following.cancel()


async def _follow(client: Client, cloudlet: str, say: Callable[[str], None]) -> None:
    from attractor.cache import Cache
    from attractor.operators.edge.api.types import KINDS

    cache, changed = Cache(client, namespace=cloudlet, own_writes=False), asyncio.Event()
    for kind in KINDS:
        cache.informer(kind).add_handler(lambda _: changed.set())
    async with asyncio.TaskGroup() as group:
        group.create_task(cache.run())
        await cache.wait_synced()
        known: dict[tuple[str, str, str], Line] = {}
        widths = list(WIDTHS)
        say(text_of(HEADINGS, widths))
        while True:
            changed.clear()
            lines = lines_of({kind.__name__: await cache.list(kind) for kind in KINDS})
            widths = [max(pair) for pair in zip(widths, columns(lines), strict=True)]
            for text in news(known, lines, widths):
                say(text)
            known = {line.about: line for line in lines}
            await changed.wait()


def news(known: Mapping[tuple[str, str, str], Line], lines: Sequence[Line], widths: Sequence[int]) -> list[str]:
    """The lines that are new or changed, and those that are gone."""
    told = [line for line in lines if known.get(line.about) != line]
    there = {line.about for line in lines}
    told += [Line(*about, "gone") for about in known if about not in there]
    return [text_of(line, widths) for line in told]
