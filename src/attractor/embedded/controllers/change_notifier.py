"""Change notifier: reads each change of the store once, for all who wait for certain changes.

Waking every waiter for every write would cost more than the write. So nothing happens on a write but a timer being set,
if none is; when it goes off, what has come since is read in one go and the bells of those concerned are rung.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.store.contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.store.contract import Event, Store

SETTLE_S = 0.005
"""Changes within this time of the first are looked at together."""
BATCH_EVENTS = 1000


class ChangeNotifier:
    """Rings the bell of whoever a change concerns; whatever the history no longer tells concerns everybody."""

    def __init__(self, store: Store, is_of_note: Callable[[Event], bool] | None = None) -> None:
        self._store = store
        self._is_of_note = is_of_note
        """One question in place of one for each bell: what is not of note concerns nobody. None where all is."""
        self._loop = asyncio.get_running_loop()
        self._read = store.revision
        """Every change up to here has been looked at."""
        self._look: asyncio.TimerHandle | asyncio.Handle | None = None
        self._bells: list[tuple[Callable[[Event], bool], asyncio.Event]] = []
        self._followers: list[Callable[[Sequence[Event] | None], None]] = []
        self._end = store.subscribe("", self._heard)

    def bell(self, concerns: Callable[[Event], bool]) -> asyncio.Event:
        """An event that is set for every change after now that concerns its owner, who clears it before looking."""
        bell = asyncio.Event()
        self._bells.append((concerns, bell))
        return bell

    def follow(self, take: Callable[[Sequence[Event] | None], None]) -> None:
        """Hand over every change of note, in order, before any bell rings for it; None where some were missed."""
        self._followers.append(take)

    def catch_up(self) -> None:
        """Look at everything that there is now, without waiting."""
        while self._read < self._store.revision:
            self._read_on()

    def close(self) -> None:
        """Look no more."""
        self._end()
        if self._look is not None:
            self._look.cancel()

    def _heard(self, _revision: int) -> None:
        if self._look is None:
            self._look = self._loop.call_later(SETTLE_S, self._look_now)

    def _look_now(self) -> None:
        self._look = None
        self._read_on()
        if self._read < self._store.revision and self._look is None:
            self._look = self._loop.call_soon(self._look_now)

    def _read_on(self) -> None:
        try:
            batch = self._store.events_after("", self._read, limit=BATCH_EVENTS)
        except Compacted:
            self._read = self._store.revision
            for take in self._followers:
                take(None)
            for _, bell in self._bells:
                bell.set()
            return
        self._read = batch.revision
        events = batch.events if self._is_of_note is None else tuple(filter(self._is_of_note, batch.events))
        if not events:
            return
        for take in self._followers:
            take(events)
        for concerns, bell in self._bells:
            if not bell.is_set() and any(map(concerns, events)):
                bell.set()
