"""The change notifier: one look for all, no change missed, no bell rung for nothing."""

from __future__ import annotations

import asyncio

import orjson
from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.kinds.served_kind import in_order
from attractor.embedded.controllers import ALL_CONTROLLERS, is_of_note
from attractor.embedded.controllers.change_notifier import ChangeNotifier
from attractor.store.contract import Entry, Event
from attractor.store.memory import MemoryStore


async def test_a_change_rings_the_bells_of_those_it_concerns_and_no_other() -> None:
    store = MemoryStore()
    notifier = ChangeNotifier(store)
    a, b = (notifier.bell(lambda event, name=name: event.key == name) for name in "ab")  # type: ignore[misc]
    await store.commit({}, puts={"a": b""})
    await a.wait()
    assert not b.is_set()
    notifier.close()


async def test_many_changes_at_once_are_read_to_the_last() -> None:
    store = MemoryStore()
    notifier = ChangeNotifier(store)
    seen: list[int] = []

    def is_last(event: object) -> bool:
        seen.append(event.revision)  # type: ignore[attr-defined]
        return len(seen) == 2500

    bell = notifier.bell(is_last)
    for number in range(2500):
        await store.commit({}, puts={"k": b"%d" % number})
    await bell.wait()
    assert seen == list(range(1, 2501))
    notifier.close()


async def test_a_change_that_is_compacted_before_anybody_looked_concerns_everybody() -> None:
    store = MemoryStore()
    notifier = ChangeNotifier(store)
    bell = notifier.bell(lambda _: False)
    await store.commit({}, puts={"k": b"1"})
    await store.compact(await store.commit({}, puts={"k": b"2"}))
    await bell.wait()
    notifier.close()


async def test_a_bell_that_was_cleared_rings_again() -> None:
    store = MemoryStore()
    notifier = ChangeNotifier(store)
    bell = notifier.bell(lambda _: True)
    for number in range(3):
        await store.commit({}, puts={"k": b"%d" % number})
        await bell.wait()
        bell.clear()
    async with asyncio.timeout(5):
        await store.commit({}, puts={"k": b"last"})
        await bell.wait()
    notifier.close()


KEYS = st.sampled_from(
    [
        "apiextensions.k8s.io/customresourcedefinitions/a.b", "apps/deployments/a/b", "core/configmaps/a/b",
        "core/configmaps/a/kube-root-ca.crt", "core/namespaces/a", "core/persistentvolumeclaims/a/b",
        "core/persistentvolumes/a", "core/pods/a/b", "core/replicationcontrollers/a/b", "core/resourcequotas/a/b",
        "core/serviceaccounts/a/b", "example.org/doors/a/b", "policy/poddisruptionbudgets/a/b",
        "rbac.authorization.k8s.io/clusterroles/a", "flowcontrol.apiserver.k8s.io/flowschemas/a",
        "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations/a",
    ]
)  # fmt: skip
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "deletionTimestamp": st.just("2026-01-01T00:00:00Z"),
        "labels": st.just({"managedFields": "[]"}),
        "annotations": st.just({"a": '"managedFields":['}),
        "ownerReferences": st.just([{"apiVersion": "v1", "kind": "Door", "name": "d", "uid": "u"}]),
        "managedFields": st.just([{"manager": "m"}]),
    },
)
PARTS: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"spec": st.just({"template": {"metadata": {"managedFields": []}}})},
    optional={"status": st.just({"phase": "Succeeded"})},
)


@given(KEYS, METADATA, METADATA | st.none(), PARTS, st.booleans())
def test_what_is_not_of_note_concerns_no_controller(
    key: str, metadata: dict[str, object], before: dict[str, object] | None, parts: dict[str, object], is_deleted: bool
) -> None:
    def stored(metadata: dict[str, object]) -> bytes:
        return orjson.dumps({"kind": "K", "apiVersion": "v1", "metadata": in_order({"name": "a", **metadata}), **parts})

    previous = None if before is None else Entry(key, stored(before), 1, 1)
    event = Event(2, key, None if is_deleted else stored(metadata), previous)
    if not is_of_note(event):
        store = MemoryStore()
        assert [one.name for one in ALL_CONTROLLERS if one.concerns(store)(event)] == []
