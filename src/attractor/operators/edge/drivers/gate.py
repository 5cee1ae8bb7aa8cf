"""``Gate``: what a driver has in progress, and whether it may begin more; and how it tells what changes."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attractor.operators.edge.drivers.protocols import Drained

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from attractor.operators.edge.drivers.protocols import Found, Ref

LOOK_S = 0.5


class Gate:
    """Counts work in progress; closed, it lets nothing new in."""

    def __init__(self) -> None:
        self._active = 0
        self._is_closed = False

    @contextmanager
    def working(self) -> Iterator[None]:
        """One piece of work; raises ``Drained`` when the gate is closed."""
        if self._is_closed:
            raise Drained("the agent is being replaced")
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1

    def close(self) -> bool:
        """Let nothing new in; whether nothing is in progress either."""
        self._is_closed = True
        return self._active == 0

    def open(self) -> None:
        """Let work in again."""
        self._is_closed = False


async def changes(
    kind: str, inventory: Callable[[], Awaitable[Mapping[Ref, Found | None]]], every_s: float = LOOK_S
) -> AsyncIterator[Ref]:
    """Every instance of a kind that is there, then every one that changes or goes, looked for at intervals."""
    known: dict[Ref, Found | None] = {}
    while True:
        there = {ref: found for ref, found in (await inventory()).items() if ref.kind == kind}
        for ref in sorted(known.keys() | there.keys()):
            if ref not in known or known[ref] != there.get(ref):
                yield ref
        known = there
        await asyncio.sleep(every_s)
