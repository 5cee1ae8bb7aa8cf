"""Which changes the garbage collector is woken for: never too few, and not those that controllers make all day."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.controllers.garbage import plan_garbage
from attractor.embedded.controllers import kinds_in
from attractor.embedded.controllers.ownership import OwnershipChanges
from attractor.store.contract import Event, Snapshot
from attractor.store.memory import MemoryStore

PLACES = ("core/configmaps/a/x", "core/configmaps/b/x", "core/secrets/a/x", "core/nodes/x")
KINDS = {"configmaps": "ConfigMap", "secrets": "Secret", "nodes": "Node"}


def stored(key: str, uid: str, owners: list[dict[str, Any]], deletion: str | None = None, *held: str) -> bytes:
    _, resource, *rest = key.split("/")
    metadata: dict[str, Any] = {"name": rest[-1], "uid": uid}
    if len(rest) > 1:
        metadata["namespace"] = rest[0]
    if owners:
        metadata["ownerReferences"] = owners
    if deletion:
        metadata["deletionTimestamp"] = deletion
    if held:
        metadata["finalizers"] = list(held)
    return orjson.dumps({"kind": KINDS[resource], "apiVersion": "v1", "metadata": metadata})


def reference(key: str, uid: str, *, blocks: bool = False) -> dict[str, Any]:
    _, resource, *rest = key.split("/")
    found = {"apiVersion": "v1", "kind": KINDS[resource], "name": rest[-1], "uid": uid}
    return {**found, "blockOwnerDeletion": True} if blocks else found


def planned(snapshot: Snapshot) -> list[Any]:
    return list(plan_garbage(snapshot, {kind.group_kind: kind for kind in kinds_in(snapshot).values()}))


async def settle(store: MemoryStore) -> None:
    """Do what the collector plans, until it plans nothing."""
    while operations := planned(store.snapshot_nowait()):
        for op in operations:
            key = "/".join(part for part in ("core", op.resource, op.namespace, op.name) if part)
            entry = store.snapshot_nowait().get(key)
            if op.verb == "delete":
                await committed(store, key, None)
            elif entry is not None:
                obj = orjson.loads(entry.value)
                await committed(
                    store, key, orjson.dumps({**obj, "metadata": {**obj["metadata"], **op.body["metadata"]}})
                )


async def committed(store: MemoryStore, key: str, value: bytes | None) -> Event:
    before = store.revision
    await store.commit({}, puts={} if value is None else {key: value}, deletes=[key] if value is None else [])
    return store.events_after("", before).events[0]


incarnations = st.sampled_from((0, 0, 0, 1))
owners_of = st.lists(
    st.tuples(st.sampled_from(PLACES), incarnations, st.booleans()), max_size=2, unique_by=lambda one: one[:2]
)
writes = st.tuples(
    st.sampled_from(PLACES),
    incarnations,
    owners_of,
    st.sampled_from((None, None, "2026-01-01T00:00:00Z")),
    st.sampled_from(((), ("foregroundDeletion",), ("orphan",), ("other",))),
)
removals = st.tuples(st.sampled_from(PLACES))


async def changed(store: MemoryStore, step: tuple[Any, ...]) -> list[Event]:
    """Take a step; an object of another uid comes only after the end of the one before it."""
    key, entry = step[0], store.snapshot_nowait().get(step[0])
    if len(step) == 1:
        return [] if entry is None else [await committed(store, key, None)]
    _, number, owners, deletion, held = step
    uid = f"{key}-{number}"
    ended = entry is not None and orjson.loads(entry.value)["metadata"]["uid"] != uid
    references = [reference(at, f"{at}-{which}", blocks=blocks) for at, which, blocks in owners]
    end = [await committed(store, key, None)] if ended else []
    return [*end, await committed(store, key, stored(key, uid, references, deletion, *held))]


@given(st.lists(st.lists(writes | removals, min_size=1, max_size=3), max_size=12))
def test_whenever_there_is_something_to_do_that_was_not_before_one_of_the_changes_concerns(
    groups: list[list[tuple[Any, ...]]],
) -> None:
    async def run() -> None:
        store = MemoryStore()
        changes = OwnershipChanges(store, kinds_in)
        for group in groups:
            events = [event for step in group for event in await changed(store, step)]
            if not any(changes.concern(event) for event in events):
                assert not planned(store.snapshot_nowait())
            await settle(store)

    asyncio.run(run())


async def test_a_child_whose_owner_is_there_is_created_and_changed_without_waking_the_collector() -> None:
    store = MemoryStore()
    changes = OwnershipChanges(store, kinds_in)
    owner, child = "core/configmaps/a/x", "core/configmaps/a/y"
    assert not changes.concern(await committed(store, owner, stored(owner, "u1", [])))
    for _ in range(2):
        event = await committed(store, child, stored(child, "u2", [reference(owner, "u1")]))
        assert not changes.concern(event)


async def test_a_child_of_nobody_or_of_an_earlier_incarnation_concerns() -> None:
    store = MemoryStore()
    changes = OwnershipChanges(store, kinds_in)
    owner, child = "core/configmaps/a/x", "core/configmaps/a/y"
    assert changes.concern(await committed(store, child, stored(child, "u2", [reference(owner, "u1")])))
    await committed(store, owner, stored(owner, "u3", []))
    assert changes.concern(await committed(store, child, stored(child, "u2", [reference(owner, "u1")])))


async def test_letting_go_of_an_owner_concerns() -> None:
    store = MemoryStore()
    changes = OwnershipChanges(store, kinds_in)
    owner, child = "core/nodes/x", "core/configmaps/a/y"
    await committed(store, owner, stored(owner, "u1", [], "2026-01-01T00:00:00Z", "foregroundDeletion"))
    await committed(store, child, stored(child, "u2", [reference(owner, "u1", blocks=True)]))
    event = await committed(store, child, stored(child, "u2", []))
    assert changes.concern(event)


async def test_a_new_child_of_an_owner_that_is_to_be_deleted_concerns() -> None:
    store = MemoryStore()
    changes = OwnershipChanges(store, kinds_in)
    owner, child = "core/nodes/x", "core/configmaps/a/y"
    await committed(store, owner, stored(owner, "u1", [], "2026-01-01T00:00:00Z", "foregroundDeletion"))
    assert changes.concern(await committed(store, child, stored(child, "u2", [reference(owner, "u1")])))
