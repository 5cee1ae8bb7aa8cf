"""Follow outside events: a Probe shows the reading of a device that has news whenever it likes.

Shows: a topic that never waits for its subscribers, a raw source of keys, retries that end at a permanent error,
terminal errors, a watch of nothing but metadata.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from attractor import Context, Index, Key, Resource, Result, Struct, TerminalError, Watches, controller
from attractor.k8s import Namespace
from attractor.toolkit import Permanent, Retrying, Topic, retry


class Line(Protocol):
    """A bad line to devices: any call may fail, and no device is ever there whose name is unknown."""

    async def read(self, device: str) -> float:
        """The device's reading; ``LookupError`` for a name that is unknown."""


class PatientLine:
    """The same line, tried again for a while, unless that is of no use."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def read(self, device: str) -> float:
        """The device's reading."""
        return await retry(lambda: self._read(device), Retrying(first_s=0.1, total_s=10))

    async def _read(self, device: str) -> float:
        try:
            return await self._line.read(device)
        except LookupError as error:
            raise Permanent from error


class ProbeStatus(Struct):
    """What was last read."""

    reading: float | None = None


class Probe(Resource, group="examples.attractor.dev", version="v1"):
    """A device of the same name."""

    status: ProbeStatus = ProbeStatus()


news: Topic[Key] = Topic()
"""Whoever hears from a device publishes its key; the publisher never waits."""


class News:
    """Keys with news, from when somebody listens."""

    async def __aiter__(self) -> AsyncIterator[Key]:
        with news.subscribe() as keys:
            async for key in keys:
                yield key


@controller(
    for_=Probe,
    sources=[News()],
    indexes=[Index(Probe, "namespace", lambda probe: [probe.metadata.namespace])],
    watches=[Watches(Namespace, index="namespace", only_metadata=True)],
    externals=[Line],
)
async def probes(ctx: Context, key: Key) -> Result | None:
    """Show what the device says now."""
    probe = await ctx.find(Probe, key)
    if probe is None:
        return None
    changed = probe.deep_copy()
    try:
        changed.status.reading = await ctx.external(Line).read(key.name)
    except LookupError as error:
        raise TerminalError(f"there is no device {key.name!r}") from error
    if changed != probe:
        await ctx.patch_from(probe, changed, subresource="status")
    return None
