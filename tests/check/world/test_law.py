"""The law: whatever the real runtime can do, the world admits. Random runs are recorded and followed in the world.

That this would notice is shown by mutants: the world with one mistake in it, each of which must depart from some run.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check.errors import Disabled
from attractor.check.world.simulation import fault_actions, in_flight_faults, model
from attractor.check.world.simulation.process import activity, background, host, informer, worker, workqueue
from attractor.check.world.simulation.server import generated_names
from attractor.runtime.worker.outcome import after_error
from attractor.testing.random_runs import wander, wander_only
from attractor.testing.recording import Recording
from attractor.testing.recording.admission import follow
from tests.check.world.everything import everything
from tests.check.world.random_instructions import random_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check import World

WORLDS = everything()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def must_admit(world: World, seeds: range, steps: int = 40) -> None:
    for seed in seeds:
        found = asyncio.run(wander(world, seed=seed, steps=steps))
        assert found.is_admitted, str(found)


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_admits_what_the_runtime_does(name: str) -> None:
    must_admit(WORLDS[name], range(6))


@pytest.mark.parametrize("seed", range(25))
def test_a_world_of_a_random_controller_admits_what_the_runtime_does(seed: int) -> None:
    must_admit(random_world(seed), range(seed, seed + 2))


@pytest.mark.nightly
@pytest.mark.parametrize("name", WORLDS)
def test_a_world_admits_many_runs(name: str) -> None:
    must_admit(WORLDS[name], range(6, 300), steps=60)


@pytest.mark.nightly
def test_worlds_of_many_random_controllers_admit_what_the_runtime_does() -> None:
    for seed in range(25, 800):
        must_admit(random_world(seed), range(seed, seed + 2), steps=60)


# Mutants: mistakes in the world, each of which some run shows.


def _disabled(*_: Any, **__: Any) -> None:
    raise Disabled


def faults_spare_background_work(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(worker.Worker, "activities", property(lambda self: list(self.reconciles.values())))


def cache_merges_events_of_an_object(patch: pytest.MonkeyPatch) -> None:
    real = informer.WatchSlots.tell

    def tell(self: Any, told: Any) -> None:
        count = self.watch.get()
        if isinstance(count, int) and count and self.events[count - 1].get().key == told.key:
            self.events[count - 1].set(told)
        else:
            real(self, told)

    patch.setattr(informer.WatchSlots, "tell", tell)


def cache_drops_deletions(patch: pytest.MonkeyPatch) -> None:
    real = informer.WatchSlots.tell
    patch.setattr(informer.WatchSlots, "tell", lambda self, told: told.type == "DELETED" or real(self, told))


def cache_does_not_see_own_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(informer.WorldInformer, "wrote", lambda *_, **__: None)


def cache_is_never_unsure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(informer.SlotView, "unsure", lambda *_, **__: None)


def queue_forgets_what_comes_while_its_key_runs(patch: pytest.MonkeyPatch) -> None:
    real = workqueue._Add.__call__
    patch.setattr(
        workqueue._Add, "__call__", lambda self, state: state if self.key in state.processing else real(self, state)
    )


def queue_forgets_who_failed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(workqueue.WorldQueue, "later", lambda *_, **__: None)


def queue_forgets_what_was_scheduled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(workqueue.WorldQueue, "schedule", lambda *_: None)


def timers_fire_together(patch: pytest.MonkeyPatch) -> None:
    def fire(self: Any, key: Any) -> None:
        timers = self.timers.get()
        if not any(each.key == key for each in timers):
            raise Disabled
        self.timers.set(frozenset(each for each in timers if each.key != key))
        self.add(key)

    patch.setattr(workqueue.WorldQueue, "fire", fire)


def one_worker_only(patch: pytest.MonkeyPatch) -> None:
    real = workqueue.WorldQueue.take
    patch.setattr(workqueue.WorldQueue, "take", lambda self, key, _, told: real(self, key, 1, told))


def one_piece_of_work_at_once(patch: pytest.MonkeyPatch) -> None:
    real = background.Background.__init__

    def init(self: Any, stage: Any, of: Any) -> None:
        real(self, stage, of)
        del self.places[1:]

    patch.setattr(background.Background, "__init__", init)


def lost_answers_were_never_carried_out(patch: pytest.MonkeyPatch) -> None:
    real = host.WorldTransport.send

    async def send(self: Any, request: Any) -> Any:
        self.trouble = "request lost" if self.trouble == "answer lost" else self.trouble
        return await real(self, request)

    patch.setattr(host.WorldTransport, "send", send)


def late_requests_never_arrive(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_flight_faults, "_arrive", _disabled)


def repeated_requests_arrive_once(patch: pytest.MonkeyPatch) -> None:
    real = host.WorldTransport.send

    async def send(self: Any, request: Any) -> Any:
        self.trouble = None if self.trouble == "repeated" else self.trouble
        return await real(self, request)

    patch.setattr(host.WorldTransport, "send", send)


def servers_refuse_in_one_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_flight_faults, "REFUSALS", {403: "Forbidden"})


def silent_systems_did_nothing(patch: pytest.MonkeyPatch) -> None:
    strikes = {"call unanswered": functools.partial(in_flight_faults._fail, "call failed")}
    patch.setitem(in_flight_faults.STRIKES, "external_silence", strikes)


def nobody_is_timed_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(activity.Activity, "cancel", _disabled)


def cancelled_reconciles_end_at_once(patch: pytest.MonkeyPatch) -> None:
    def cancel(self: Any, *_: Any) -> None:
        pending = self.pending()
        self.cell.set(None)
        if "key" in dict(self.arguments):
            self.worker.queue.finish(self.key(pending), after_error(RuntimeError()), pending.priority)

    patch.setattr(activity.Activity, "cancel", cancel)


def cancelled_requests_were_never_sent(patch: pytest.MonkeyPatch) -> None:
    def abandon(self: Any, effect: Any, *_: Any, **__: Any) -> None:
        self.host.transport.trouble = "cancelled"
        self.answer(effect)
        self.host.transport.trouble = None

    patch.setattr(activity.Activity, "_abandon", abandon)


def names_sort_by_creation(patch: pytest.MonkeyPatch) -> None:
    real = generated_names.Generated.after
    patch.setattr(generated_names.Generated, "after", lambda self, bounds: real(self, bounds)[-1:])


def crashes_keep_the_memory(patch: pytest.MonkeyPatch) -> None:
    real = worker.Worker.forget

    def forget(self: Any) -> None:
        memory = self.memory.get()
        real(self)
        self.memory.set(memory)

    patch.setattr(worker.Worker, "forget", forget)


def garbage_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(model.Universe, "_collect_garbage", _disabled)


def namespaces_never_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(model.Universe, "_end_namespaces", _disabled)


def watches_are_never_closed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host.Host, "close_watch", _disabled)


def late_calls_never_take_effect(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_flight_faults, "_take_effect", _disabled)


def who_is_cut_off_is_never_timed_out(patch: pytest.MonkeyPatch) -> None:
    real = activity.Activity.cancel

    def cancel(self: Any, *args: Any) -> None:
        if self.host.transport.is_cut_off():
            raise Disabled
        real(self, *args)

    patch.setattr(activity.Activity, "cancel", cancel)


def nobody_takes_the_lead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fault_actions, "_leading", lambda *_: _disabled)


def nothing_is_reconciled_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(worker.Worker, "resync", _disabled)


MUTANTS: dict[Any, tuple[str, ...]] = {
    faults_spare_background_work: ("work",),
    cache_merges_events_of_an_object: ("pairs", "crowd"),
    cache_drops_deletions: ("pairs", "services"),
    cache_does_not_see_own_writes: ("pairs", "services"),
    cache_is_never_unsure: ("pairs",),
    queue_forgets_what_comes_while_its_key_runs: ("pairs", "crowd"),
    queue_forgets_who_failed: ("pairs", "crowd"),
    queue_forgets_what_was_scheduled: ("work",),
    timers_fire_together: ("work",),
    one_worker_only: ("crowd",),
    one_piece_of_work_at_once: ("work",),
    lost_answers_were_never_carried_out: ("pairs", "timeout"),
    late_requests_never_arrive: ("pairs", "gathered"),
    repeated_requests_arrive_once: ("pairs",),
    servers_refuse_in_one_way: ("work", "pairs"),
    silent_systems_did_nothing: ("work",),
    nobody_is_timed_out: ("timeout",),
    cancelled_reconciles_end_at_once: ("timeout", "stop"),
    cancelled_requests_were_never_sent: ("timeout",),
    names_sort_by_creation: ("names",),
    crashes_keep_the_memory: ("work",),
    garbage_stays: ("pairs",),
    namespaces_never_end: ("rooms",),
    watches_are_never_closed: ("pairs",),
    late_calls_never_take_effect: ("late calls",),
    who_is_cut_off_is_never_timed_out: ("cut off",),
    nobody_takes_the_lead: ("leaders",),
    nothing_is_reconciled_again: ("resync",),
}
"""What is wrong with the world, and whose runs show it."""
RUNS = 40


@functools.cache
def recorded(name: str, seed: int) -> Recording:
    """A run of the runtime, which no mutant touches."""
    _, files = asyncio.run(wander_only(everything()[name], seed=seed))
    return Recording.read(*(data.splitlines(keepends=True) for data in files))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__)
def test_a_world_with_a_mistake_is_found_out(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(RUNS):
        for name in MUTANTS[mutant]:
            run = recorded(name, seed)
            with monkeypatch.context() as patch:
                mutant(patch)
                if not follow(everything()[name], run, is_alone=True).is_admitted:
                    return
    pytest.fail(f"no run shows that {mutant.__name__.replace('_', ' ')}")
