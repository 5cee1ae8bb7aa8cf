"""Subscriptions: callbacks by watched prefix.

Telling takes one look-up for each length of prefix that is watched, whatever the number of watchers, and touches only
those concerned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.store.mvcc import Commit

MAX_DIRECTORIES = 10_000
"""Of so many namespaces and kinds the watched prefixes are remembered."""


class Subscriptions:
    """The callbacks of each watched prefix."""

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
