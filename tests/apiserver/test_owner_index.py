"""The garbage collector that follows changes plans what the one that looks at everything plans."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.controllers import garbage, owner_index
from attractor.apiserver.controllers.garbage import Collector, plan_garbage
from attractor.apiserver.controllers.owner_index import OwnerIndex
from attractor.apiserver.kinds.registry import builtin_kind
from attractor.apiserver.request.operation import Operation
from attractor.store.contract import Entry
from attractor.store.mvcc import Mvcc

FOUND = (builtin_kind("", "v1", "configmaps"), builtin_kind("", "v1", "namespaces"))
KINDS = {kind.group_kind: kind for kind in FOUND if kind is not None}
NAMES = "abcd"


def key_of(kind: str, name: str) -> str:
    return f"core/configmaps/default/{name}" if kind == "ConfigMap" else f"core/namespaces/{name}"


def random_object(draw: random.Random, kind: str, name: str, number: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"{kind}-{name}-{number}"}
    if kind == "ConfigMap":
        metadata["namespace"] = "default"
    if draw.random() < 0.5:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        metadata["finalizers"] = draw.choice([["foregroundDeletion"], ["orphan"], ["other"]])
    owners = []
    for _ in range(draw.choice([0, 1, 1, 2])):
        owner, called = draw.choice(["ConfigMap", "Namespace"]), draw.choice(NAMES)
        reference: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": owner,
            "name": called,
            "uid": f"{owner}-{called}-{draw.randint(0, 1)}",
        }
        if draw.random() < 0.7:
            reference["blockOwnerDeletion"] = True
        owners.append(reference)
    if owners:
        metadata["ownerReferences"] = owners
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata}


def like_before(made: dict[str, Any], before: Entry | None) -> dict[str, Any]:
    """As the API has it: an object keeps its uid, and what is being deleted stays so."""
    if before is not None:
        metadata = json.loads(before.value)["metadata"]
        made["metadata"] |= {name: metadata[name] for name in ("uid", "deletionTimestamp") if name in metadata}
    return made


def described(operations: list[Operation]) -> list[str]:
    return sorted(
        f"{op.verb} {op.resource}/{op.name} {op.delete.propagation} {json.dumps(op.body, sort_keys=True)}"
        for op in operations
    )


@given(st.integers(0, 2**32), st.integers(1, 25))
def test_what_is_planned_from_changes_is_what_is_planned_from_everything(seed: int, steps: int) -> None:
    draw = random.Random(seed)
    mvcc, collector = Mvcc(), Collector()
    list(collector.plan(mvcc.head, KINDS))
    for _ in range(steps):
        for _ in range(draw.choice([1, 1, 2])):
            kind, name = draw.choice(["ConfigMap", "Namespace"]), draw.choice(NAMES)
            key = key_of(kind, name)
            if mvcc.head.get(key) is not None and draw.random() < 0.3:
                commit = mvcc.head.planned({}, {key})
            else:
                made = like_before(random_object(draw, kind, name, draw.randint(0, 1)), mvcc.head.get(key))
                commit = mvcc.head.planned({key: json.dumps(made, separators=(",", ":")).encode()})
            mvcc.append(commit)
            collector.take(commit.events)
        planned = described(list(collector.plan(mvcc.head, KINDS)))
        wanted = described(list(plan_garbage(mvcc.head, KINDS)))
        assert set(planned) <= set(wanted)
        # Of a circle it is enough to begin at the place that closed it.
        assert all('"blockOwnerDeletion": false' in one for one in set(wanted) - set(planned))
        assert bool(planned) == bool(wanted)
        assert collector._index is not None
        collector._index.check_invariants()
        fresh = OwnerIndex.of(mvcc.head, KINDS.values())
        uids = {f"{kind}-{name}-{n}" for kind in ("ConfigMap", "Namespace") for name in NAMES for n in (0, 1)}
        assert all(set(collector._index.dependents(uid)) == set(fresh.dependents(uid)) for uid in uids)


def put(mvcc: Mvcc, collector: Collector, number: int, **metadata: Any) -> None:
    key = f"core/configmaps/default/o{number}"
    whole = {"name": f"o{number}", "namespace": "default", "uid": f"u{number}", **metadata}
    value = json.dumps({"kind": "ConfigMap", "metadata": whole}).encode()
    commit = mvcc.head.planned({key: value})
    mvcc.append(commit)
    collector.take(commit.events)


def test_collecting_looks_at_the_children_and_not_at_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure that growth depends on: objects decoded for one owner's deletion, among many others."""
    mvcc, collector = Mvcc(), Collector()
    for n in range(2000):
        put(mvcc, collector, n)
    for n in range(2000, 2020):
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o7", "uid": "u7"}
        put(mvcc, collector, n, ownerReferences=[owner])
    assert not list(collector.plan(mvcc.head, KINDS))
    commit = mvcc.head.planned({}, {"core/configmaps/default/o7"})
    mvcc.append(commit)
    looked: list[int] = []

    def counted(value: bytes) -> Any:
        looked.append(len(value))
        return real(value)

    real = owner_index.metadata_of
    monkeypatch.setattr(garbage, "metadata_of", counted)
    collector.take(commit.events)
    assert len(list(collector.plan(mvcc.head, KINDS))) == 20
    assert len(looked) <= 20


def test_changes_that_were_missed_are_made_up_for_by_looking_at_everything() -> None:
    mvcc, collector = Mvcc(), Collector()
    list(collector.plan(mvcc.head, KINDS))
    gone = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o1", "uid": "u1"}
    put(mvcc, Collector(), 2, ownerReferences=[gone])
    collector.take(None)
    assert [op.name for op in collector.plan(mvcc.head, KINDS)] == ["o2"]


def test_records_that_servers_keep_of_themselves_are_no_objects() -> None:
    """Two servers on one store tell each other their addresses there, in plain text; one leaves."""
    index, mvcc = OwnerIndex(), Mvcc()
    for puts, deletes in (({"masterleases/10.0.0.1": b"10.0.0.1:6443"}, ()), ({}, ("masterleases/10.0.0.1",))):
        commit = mvcc.head.plan({}, puts, deletes)
        mvcc.append(commit)
        index.take(commit.events)
    assert not index.due
