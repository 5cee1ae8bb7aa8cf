"""A Reconciler under each predicate: it syncs what it holds, cleans up, and touches nothing that it was not to hear of."""

import pytest

from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.runtime import Context, For, Reconciler, Result, controller
from attractor.runtime.predicates import (
    Change,
    Predicate,
    annotations_changed,
    created,
    generation_changed,
    labels_changed,
    labels_match,
    newly_held,
)
from attractor.runtime.toolkit.finalizers import finalizer_name
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import Thing, passing, thing

A = Key("default", "a")
FINALIZER = finalizer_name(Thing)


class Held(Reconciler[Thing]):
    kind = Thing

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def sync(self, ctx: Context, obj: Thing) -> Result | None:
        self.calls.append(f"sync {obj.metadata.name}")
        obj.status.seen = obj.spec.size
        return None

    async def clean_up(self, ctx: Context, obj: Thing) -> Result | None:
        self.calls.append(f"clean up {obj.metadata.name}")
        return None


@pytest.mark.parametrize(
    "when",
    [
        generation_changed,
        labels_changed,
        annotations_changed,
        created,
        generation_changed & labels_match(mine="yes"),
        ~labels_match(other="yes") & created,
    ],
    ids=repr,
)
async def test_a_reconciler_syncs_and_cleans_up_whatever_else_it_does_not_hear_of(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, when: Predicate
) -> None:
    held = Held()
    async with cluster.running(controller(held, name="held", for_=For(Thing, when=when))):
        made = thing("a")
        made.metadata.labels = {"mine": "yes"}
        await cluster.client.create(made)
        await eventually(lambda: "sync a" in held.calls)
        await cluster.client.delete(Thing, A)

        async def is_gone() -> bool:
            try:
                await cluster.client.get(Thing, A)
            except NotFound:
                return True
            return False

        await eventually(is_gone)
        assert held.calls[-1] == "clean up a"


async def test_an_object_that_the_predicate_leaves_out_is_left_alone_whoever_holds_it(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    held = Held()
    async with cluster.running(controller(held, name="held", for_=For(Thing, when=labels_match(mine="yes")))):
        made = await cluster.client.create(thing("a"))
        changed = made.deep_copy()
        changed.metadata.finalizers = ["example.org/somebody"]
        await cluster.client.patch_from(made, changed)
        await cluster.client.delete(Thing, A)
        await passing(5)
        assert held.calls == []
        assert (await cluster.client.get(Thing, A)).metadata.finalizers == ["example.org/somebody"]


def test_creations_and_deletions_are_not_newly_held() -> None:
    made = thing("a")
    made.metadata.finalizers = [FINALIZER]
    assert not newly_held(FINALIZER)(Change(None, made))
    assert not newly_held(FINALIZER)(Change(made, None))
    assert newly_held(FINALIZER)(Change(thing("a"), made))
    assert not newly_held(FINALIZER)(Change(made, made))
