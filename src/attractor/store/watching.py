"""Watchers: cursors into the one history that a store keeps.

Nothing is queued for a watcher and no event is copied: a watcher is a prefix and a revision, and reads on from there
when it is told that something matches. Telling takes one look-up for each length of prefix that is watched, whatever
the number of watchers, and touches only those concerned.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from attractor.store.contract import Batch
    from attractor.store.local import LocalStore
    from attractor.store.mvcc import Commit

MAX_DIRECTORIES = 10_000
"""Of so many namespaces and kinds the watched prefixes are remembered."""
BATCH_EVENTS = 1000
"""A watcher that catches up gets about so many events at a time, and the event loop can breathe in between."""


class Subscriptions:
    """Who wants to hear of which prefix."""

    def __init__(self) -> None:
        # Length of prefix -> prefix -> callbacks (a dict for its order: first come, first told).
        # No inner dict is empty, so that what nobody watches costs nothing.
        self._by_length: dict[int, dict[str, dict[object, Callable[[int], None]]]] = {}
        # Directory of a key (up to and including its last slash) -> the callbacks of each watched prefix of the keys in
        # it. Right only while no watched prefix is longer than the directory, and forgotten whenever a prefix is new
        # or gone.
        self._of_directory: dict[str, tuple[dict[object, Callable[[int], None]], ...]] = {}
        self._longest = 0

    def add(self, prefix: str, heard: Callable[[int], None]) -> Callable[[], None]:
        """Call ``heard`` for each publication that has an event under the prefix; the answer ends it."""
        token = object()
        self._by_length.setdefault(len(prefix), {}).setdefault(prefix, {})[token] = heard
        self._changed()

        def end() -> None:
            prefixes = self._by_length.get(len(prefix), {})
            callbacks = prefixes.get(prefix, {})
            if callbacks.pop(token, None) and not callbacks:
                del prefixes[prefix]
                if not prefixes:
                    del self._by_length[len(prefix)]
                self._changed()

        return end

    def _changed(self) -> None:
        self._of_directory.clear()
        self._longest = max(self._by_length, default=0)

    def _watched(self, key: str) -> tuple[dict[object, Callable[[int], None]], ...]:
        """The callbacks of each prefix of a key that somebody watches."""
        end = key.rfind("/") + 1
        if self._longest > end:
            return self._look_up(key)
        directory = key[:end]
        found = self._of_directory.get(directory)
        if found is None:
            if len(self._of_directory) >= MAX_DIRECTORIES:
                self._of_directory.clear()
            found = self._of_directory[directory] = self._look_up(directory)
        return found

    def _look_up(self, key: str) -> tuple[dict[object, Callable[[int], None]], ...]:
        found = (prefixes.get(key[:length]) for length, prefixes in self._by_length.items())
        return tuple(callbacks for callbacks in found if callbacks is not None)

    def publish(self, commits: Sequence[Commit]) -> None:
        """Tell each subscriber once, with the first revision that has an event for it."""
        if len(commits) == 1 and len(commits[0].events) == 1:  # nearly always, where nothing is written in groups
            (event,) = commits[0].events
            for callbacks in self._watched(event.key):
                for heard in tuple(callbacks.values()):
                    heard(event.revision)
            return
        told: dict[int, tuple[dict[object, Callable[[int], None]], int]] = {}
        for commit in commits:
            for event in commit.events:
                for callbacks in self._watched(event.key):
                    told.setdefault(id(callbacks), (callbacks, event.revision))
        for callbacks, revision in told.values():
            for heard in tuple(callbacks.values()):
                heard(revision)

    def tell_all(self) -> None:
        """Tell everybody to look again, though there may be nothing."""
        for prefixes in tuple(self._by_length.values()):
            for callbacks in tuple(prefixes.values()):
                for heard in tuple(callbacks.values()):
                    heard(0)

    def check_invariants(self) -> None:
        """Nothing is left behind by those who went."""
        for length, prefixes in self._by_length.items():
            assert prefixes, "a length without prefixes"
            for prefix, callbacks in prefixes.items():
                assert len(prefix) == length, "a prefix is filed under another length"
                assert callbacks, "a prefix without subscribers"
        assert self._longest == max(self._by_length, default=0), "a longer prefix is watched than is known"
        for directory, watched in self._of_directory.items():
            assert watched == self._look_up(directory), "a directory's watched prefixes are out of date"


class Watcher:
    """One watch: a context manager and an iterator of batches."""

    def __init__(self, store: LocalStore, prefix: str, after: int) -> None:
        self._store = store
        self._prefix = prefix
        self._read = after
        """Everything up to here was handed out."""
        self._parked: asyncio.Future[None] | None = None
        """Set while waiting. Nothing that matches has come since, so the watcher is as new as the store."""
        self._end: Callable[[], None] | None = None

    @property
    def revision(self) -> int:
        """Every matching event up to here has been handed out; it moves on while others write elsewhere."""
        return self._store.revision if self._parked is not None and not self._parked.done() else self._read

    async def __aenter__(self) -> Self:
        if self._read > self._store.revision:
            await self._store.snapshot()  # on a shared engine, another server may have written it
        self._store.check_kept(self._read)
        self._end = self._store.subscribe(self._prefix, self._heard)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._end is not None:
            self._end()
            self._end = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        while self._end is not None and not self._store.is_closed:
            batch = self._store.events_after(self._prefix, self._read, limit=BATCH_EVENTS)
            self._read = batch.revision
            if batch.events:
                return batch
            if batch.revision == self._store.revision:
                self._parked = asyncio.get_running_loop().create_future()
                try:
                    await self._parked
                finally:
                    self._parked = None
        raise StopAsyncIteration

    def _heard(self, revision: int) -> None:
        if self._parked is not None and not self._parked.done():
            # Skip what did not match while parked: it may be compacted by now, and that would be no loss.
            self._read = max(self._read, revision - 1)
            self._parked.set_result(None)
