"""Background work that waits for its turn: each piece before it begins, and before each of its effects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from attractor.testing.directed.gates import Departed, Worker
from attractor.testing.directed.reconciles import stepwise

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.runtime.effects import Effect, Start
    from attractor.testing.directed.gates import Workers
    from attractor.testing.directed.reconciles import Told

FIRST = 1000
"""The number of the worker that stands for the first place of background work."""


class GatedBackground:
    """The background work of one host. A piece takes a place when it begins, the oldest that waits first."""

    def __init__(self, workers: Workers, turn: Callable[[Effect[Any] | None], Awaitable[None]], told: Told) -> None:
        self._workers, self._turn, self._told = workers, turn, told
        self._waiting: dict[str, list[asyncio.Future[Worker]]] = {}
        self._started: dict[str, int] = {}
        self._places: set[Worker] = set()

    def is_idle(self, controller: str) -> bool:
        """Return whether a controller has no background work that waits or runs."""
        return not self._started.get(controller)

    def is_still(self, controller: str) -> bool:
        """Return whether no work of a controller runs, though some may wait."""
        return not any(each.controller == controller for each in self._places)

    def is_at(self, place: Worker) -> bool:
        """Return whether a piece of work is at a place."""
        return place in self._places

    def is_at_place(self, controller: str, place: int) -> bool:
        """Return whether a piece of work of a controller is at a place."""
        return Worker(controller, FIRST + place) in self._places

    def directed(self, controller: str, effect: Start) -> Start:
        """The same start of work that waits for its turn."""
        work = effect.work
        self._started[controller] = self._started.get(controller, 0) + 1

        async def run(*args: Any) -> None:
            turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(controller, []).append(turn)
            place = await turn
            self._workers.settle_in(place)
            try:
                await stepwise(work(*args), self._turn, self._told)  # type: ignore[arg-type]
            finally:
                self._places.discard(place)
                self._started[controller] -= 1

        return msgspec.structs.replace(effect, work=run)

    def begin(self, controller: str, place: int) -> Worker | None:
        """Let the oldest piece of work begin at a place; None when one runs there. Raises ``Departed``."""
        worker = Worker(controller, FIRST + place)
        if worker in self._places:
            return None
        waiting = self._waiting.get(controller)
        if not waiting:
            raise Departed(f"no background work of {controller} waits to begin")
        self._places.add(worker)
        self._workers.admit(worker)
        waiting.pop(0).set_result(worker)
        return worker
