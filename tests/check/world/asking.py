"""Two processes that talk through objects: one asks, the other answers. A question is lost with the one who took it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from attractor.check import Bounds, Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Watches, controller
from tests.check.world.pairs import KEY, Pair, pair

if TYPE_CHECKING:
    from attractor.check import WorldState

QUESTION, ANSWER = Key("default", "question"), Key("default", "answer")


@dataclass(frozen=True)
class Asked:
    """That this process has asked."""


async def _made(ctx: Context, key: Key) -> None:
    try:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=key.name, namespace=key.namespace)))
    except AlreadyExists:
        return


@controller(for_=Pair, watches=[Watches(ConfigMap, to_keys=lambda _: [KEY])])
async def asker(ctx: Context, key: Key) -> None:
    """Asks once in its life, and counts on an answer."""
    if await ctx.find(ConfigMap, ANSWER) is None and await ctx.recall(Asked) is None:
        await _made(ctx, QUESTION)
        await ctx.remember(Asked())


@controller(for_=ConfigMap)
async def answerer(ctx: Context, key: Key) -> None:
    """Takes a question away before it answers: what it knew of it goes with the process."""
    question = await ctx.find(ConfigMap, key)
    if question is not None and key == QUESTION:
        await ctx.delete(question)
        await _made(ctx, ANSWER)


def is_answered(world: WorldState) -> bool:
    """There is an answer."""
    return world.find(ConfigMap, ANSWER) is not None


def asking(faults: Faults, hosts: Any = None, **options: Any) -> World:
    """The one who asks and the one who answers, each a process of its own unless said otherwise."""
    apart = {"asks": [asker], "answers": [answerer]}
    return World(
        controllers=[asker, answerer] if hosts else (),
        objects=[pair()],
        faults=faults,
        properties=[eventually_stable(is_answered)],
        hosts=hosts or apart,
        workers=1,
        bounds=Bounds(lag=2),
        **options,
    )


class Line(Protocol):
    """A line that a process opens before it speaks."""

    async def open(self) -> bool: ...

    async def speak(self, word: str) -> None: ...


class LineModel:
    """What was said stays; a line that is open goes with the process that opened it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.opened: set[str] = set()

    def seen_by(self, host: str) -> LineOf:
        return LineOf(self, host)

    def host_dies(self, host: str) -> None:
        self.opened.discard(host)


class LineOf:
    """The line of one process."""

    def __init__(self, model: LineModel, host: str) -> None:
        self._model, self._host = model, host

    def open(self) -> bool:
        is_new = self._host not in self._model.opened
        self._model.opened.add(self._host)
        return is_new

    def speak(self, word: str) -> None:
        if self._host in self._model.opened:
            self._model.said.append(f"{self._host}: {word}")


@controller(for_=Pair, externals=[Line])
async def speaker(ctx: Context, key: Key) -> None:
    """Opens its line and says the text of a pair."""
    owner = await ctx.find(Pair, key)
    if owner is not None and await ctx.external(Line).open():
        await ctx.external(Line).speak(owner.spec.text)


class Machine(Protocol):
    """Starts and ends processes."""

    async def start(self, host: str) -> None: ...

    async def leave(self) -> None: ...


class MachineModel:
    """Which processes run; the first one does at the start."""

    def __init__(self) -> None:
        self.running: frozenset[str] = frozenset({"first"})

    def runs(self, host: str) -> bool:
        return host in self.running

    def seen_by(self, host: str) -> MachineOf:
        return MachineOf(self, host)


class MachineOf:
    """The machine, as one process sees it."""

    def __init__(self, model: MachineModel, host: str) -> None:
        self._model, self._host = model, host

    def start(self, host: str) -> None:
        self._model.running |= {host}

    def leave(self) -> None:
        self._model.running -= {self._host}


@controller(for_=Pair, externals=[Machine])
async def starter(ctx: Context, key: Key) -> None:
    """Starts the next process, and goes."""
    await ctx.external(Machine).start("second")
    await ctx.external(Machine).leave()


@controller(for_=Pair)
async def started(ctx: Context, key: Key) -> None:
    """Answers, once it runs."""
    await _made(ctx, ANSWER)


def handed_over(faults: Faults) -> World:
    """A process starts the next one, which answers, and ends itself."""
    return World(
        hosts={"first": [starter], "second": [started]},
        objects=[pair()],
        kinds=[ConfigMap],
        faults=faults,
        externals={Machine: MachineModel()},
        properties=[eventually_stable(is_answered)],
        workers=1,
    )
