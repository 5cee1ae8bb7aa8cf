"""Every engine against an oracle: a dict for each revision, and a list of events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from attractor.store.contract import Compacted, Entry, Event, Stale
from tests.store.engines import Engine, step

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from tests.store.etcdserver import EtcdServer

KEYS = st.sampled_from(["a", "a/b", "a/c", "b", "é"])
PREFIXES = st.sampled_from(["", "a", "a/", "b", "nothing"])


class Oracle:
    """What a store is, said in ten lines."""

    def __init__(self, revision: int) -> None:
        self.states: dict[int, dict[str, Entry]] = {revision: {}}
        self.events: list[Event] = []

    def commit(self, revision: int, puts: dict[str, bytes], deletes: set[str]) -> None:
        state = dict(self.states[max(self.states)])
        for key, value in [*puts.items(), *((key, None) for key in deletes if key in state)]:
            before = state.pop(key, None)
            if value is not None:
                state[key] = Entry(key, value, revision, before.created if before else revision)
            self.events.append(Event(revision, key, value, before))
        self.states[revision] = state


class StoreMachine(RuleBasedStateMachine):
    """Runs one engine beside the oracle."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.engine, self.loop = engine, loop
        self.store = self.run(engine.open())
        self.run(self.store.commit({}, puts={"begin": b""}))
        self.oracle = Oracle(self.run(self.store.commit({}, puts={}, deletes={"begin"})))

    def run(self, awaited: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(awaited)

    def teardown(self) -> None:
        self.run(self.engine.aclose())

    @property
    def newest(self) -> int:
        return max(self.oracle.states)

    def kept(self, place: float) -> int:
        """A revision that the store must still have: 0 is the oldest, 1 the newest."""
        revisions = [revision for revision in self.oracle.states if revision >= self.store.compacted]
        return revisions[round(place * (len(revisions) - 1))]

    @rule(
        wrong=st.dictionaries(KEYS, st.integers(-1, 1), max_size=2),
        puts=st.dictionaries(KEYS, st.binary(max_size=3), max_size=3),
        deletes=st.sets(KEYS, max_size=2),
    )
    def commit(self, wrong: dict[str, int], puts: dict[str, bytes], deletes: set[str]) -> None:
        deletes = deletes - puts.keys()
        state = self.oracle.states[self.newest]
        compares = {key: (state[key].revision if key in state else 0) + error for key, error in wrong.items()}
        changes = bool(puts or deletes & state.keys())
        if stale := {key for key, error in wrong.items() if error}:
            with pytest.raises(Stale) as refused:
                self.run(self.store.commit(compares, puts=puts, deletes=deletes))
            assert refused.value.keys == stale
            return
        revision = self.run(self.store.commit(compares, puts=puts, deletes=deletes))
        assert revision == self.newest + changes * step(self.store)
        if changes:
            self.oracle.commit(revision, puts, deletes)

    @rule(prefix=PREFIXES, place=st.floats(0, 1), after=st.just("") | KEYS, limit=st.integers(0, 3))
    def read(self, prefix: str, place: float, after: str, limit: int) -> None:
        revision = self.kept(place)
        state = self.oracle.states[revision]
        wanted = [state[key] for key in sorted(state) if key.startswith(prefix) and key > after]
        snapshot = self.store.snapshot_at(revision)
        assert list(snapshot.range(prefix, after=after, limit=limit)) == wanted[: limit or None]
        assert snapshot.count(prefix, after=after) == len(wanted)

    @rule(prefix=PREFIXES, place=st.floats(0, 1), limit=st.integers(0, 4))
    def read_events(self, prefix: str, place: float, limit: int) -> None:
        after, seen = self.kept(place), []
        while True:
            batch = self.store.events_after(prefix, after, limit=limit)
            seen += batch.events
            after = batch.revision
            if after == self.newest:
                break
        start = self.kept(place)
        wanted = [event for event in self.oracle.events if event.revision > start and event.key.startswith(prefix)]
        assert sorted(map(repr, seen)) == sorted(map(repr, wanted))
        assert [event.revision for event in seen] == [event.revision for event in wanted]

    @rule(prefix=PREFIXES, place=st.floats(0, 1))
    def watch(self, prefix: str, place: float) -> None:
        start = self.kept(place)
        wanted = [event for event in self.oracle.events if event.revision > start and event.key.startswith(prefix)]

        async def taken() -> list[Event]:
            events: list[Event] = []
            async with self.store.watch(prefix, after=start) as batches:
                while len(events) < len(wanted):
                    events += (await anext(batches)).events
            return events

        assert sorted(map(repr, self.run(taken()))) == sorted(map(repr, wanted))

    @rule(place=st.floats(0, 1))
    def compact(self, place: float) -> None:
        revision = self.kept(place)
        self.run(self.store.compact(revision))
        assert self.store.compacted >= revision

    @precondition(lambda self: self.store.compacted > min(self.oracle.states))
    @rule()
    def ask_for_compacted_history(self) -> None:
        for revision in [revision for revision in self.oracle.states if revision < self.store.compacted]:
            with pytest.raises(Compacted):
                self.store.snapshot_at(revision)
            with pytest.raises(Compacted):
                self.store.events_after("", revision)

    @precondition(lambda self: self.engine.name != "memory")
    @rule()
    def reopen(self) -> None:
        compacted = self.store.compacted
        self.run(self.store.aclose())
        self.store = self.run(self.engine.open())
        if self.engine.name == "sqlite":
            assert self.store.compacted == compacted

    @invariant()
    def the_newest_state_is_that_of_the_oracle(self) -> None:
        self.store.check_invariants()
        snapshot = self.run(self.store.snapshot())
        state = self.oracle.states[self.newest]
        assert (snapshot.revision, list(snapshot.range(""))) == (self.newest, [state[key] for key in sorted(state)])


@pytest_asyncio.fixture(loop_scope="session")
async def loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "examples"), [("memory", 100), ("sqlite", 40), ("etcd", 5)])
def test_the_engine_answers_as_the_oracle_does(
    name: str, examples: int, tmp_path: Path, etcd_server: EtcdServer, loop: asyncio.AbstractEventLoop
) -> None:
    number = iter(range(10**9))

    class Machine(StoreMachine):
        def __init__(self) -> None:
            directory = tmp_path / str(next(number))
            directory.mkdir()
            super().__init__(Engine(name, directory, etcd_server), loop)

    suppressed = list(HealthCheck)
    run_state_machine_as_test(Machine, settings=settings(max_examples=examples, suppress_health_check=suppressed))
