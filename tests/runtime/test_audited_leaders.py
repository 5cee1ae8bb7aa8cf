"""Two operators as processes, one Lease, and the server's audit log as the judge: never two writers at once."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually
from tests.anycluster import PATIENCE_S
from tests.runtime.gated_operator import STEPS
from tests.runtime.operatorprocess import Times, operator
from tests.serving import Serving, serving

pytestmark = pytest.mark.slow
OPERATOR = Path(__file__).parent / "gated_operator.py"
TIMES = Times(lease_s=4.0, renew_s=3.0, retry_s=2.0)
SPACE = "shared"
OPERATORS = ("one", "two")
LEASE = Key(SPACE, "gated-operator-leader")
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Write(NamedTuple):
    """One request to change something, as the server wrote it down."""

    who: str
    resource: str
    code: int
    version: int
    """The resulting one; 0 when it was refused."""
    received: datetime
    done: datetime

    @property
    def is_done(self) -> bool:
        return 200 <= self.code < 300

    @property
    def is_lease(self) -> bool:
        return self.resource == "leases"


def write_of(event: dict[str, Any]) -> Write:
    return Write(
        event["user"]["username"],
        event["objectRef"]["resource"],
        event["responseStatus"]["code"],
        int(event["annotations"].get("attractor.dev/resource-version", 0)),
        datetime.fromisoformat(event["requestReceivedTimestamp"]),
        datetime.fromisoformat(event["stageTimestamp"]),
    )


class Audit:
    """What the log says of the two operators' writes."""

    def __init__(self, path: Path) -> None:
        events = [json.loads(line) for line in path.read_text().splitlines()]
        asked = [event for event in events if event["verb"] in WRITES and event["user"]["username"] in OPERATORS]
        self.writes = [write_of(event) for event in asked if event["stage"] == "ResponseComplete"]

    def of(self, who: str, *, is_lease: bool) -> list[Write]:
        """What somebody has written, in the order in which it was stored."""
        found = [one for one in self.writes if one.who == who and one.is_lease == is_lease and one.is_done]
        return sorted(found, key=lambda write: write.version)

    @property
    def takeover(self) -> Write:
        """The write with which the second became the leader."""
        return self.of("two", is_lease=True)[0]

    def check_one_writer_at_a_time(self) -> None:
        """By the versions that the server gave out: one wrote, then two took the Lease, then two wrote."""
        assert all(0 < write.version < self.takeover.version for write in self.of("one", is_lease=True))
        assert all(0 < write.version < self.takeover.version for write in self.of("one", is_lease=False))
        assert all(write.version > self.takeover.version for write in self.of("two", is_lease=False))
        late = [one for one in self.writes if one.who == "one" and one.received > self.takeover.done]
        assert [one for one in late if not one.is_lease] == [], "it did not even try"


class Pair:
    """Two operators with names of their own at one server, and the gates at which they wait."""

    def __init__(self, server: Serving, client: Client, directory: Path) -> None:
        self.server, self.client, self._directory = server, client, directory
        self._pipes: dict[str, int] = {}
        for name in OPERATORS:
            os.mkfifo(directory / name)
            self._pipes[name] = os.open(directory / name, os.O_RDWR | os.O_NONBLOCK)

    def operator(self, name: str) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
        """An operator that the server knows by its name."""
        kubeconfig = self._directory / f"kubeconfig-{name}"
        kubeconfig.write_text(self.server.kubeconfig.read_text().replace(self.server.token, f"token-{name}"))
        return operator(OPERATOR, kubeconfig, SPACE, TIMES, OPERATOR=name, GATES=str(self._directory))

    def open_gate(self, name: str) -> None:
        """Let somebody's reconciles pass."""
        os.write(self._pipes[name], b"open")

    def close(self) -> None:
        """Take the gates away."""
        for pipe in self._pipes.values():
            os.close(pipe)

    async def stored(self, number: int) -> None:
        """Wait until a step is there."""
        await eventually(lambda: self.client.get(ConfigMap, Key(SPACE, f"task-{number}")), within_s=PATIENCE_S)

    async def taken_over(self) -> Lease:
        """Wait until the second leads."""

        async def found() -> Lease | None:
            lease = await self.client.get(Lease, LEASE)
            return lease if lease.spec.lease_transitions == 1 else None

        lease = await eventually(found, within_s=PATIENCE_S)
        assert lease is not None
        return lease

    def audit(self) -> Audit:
        """The log, complete: the server has ended."""
        assert self.server.stop() == 0
        return Audit(self._directory / "audit.log")


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("".join(f'token-{name},{name},{name},"system:masters"\n' for name in OPERATORS))
    options = ["--audit-log", str(tmp_path / "audit.log"), "--token-file", str(tokens)]
    with serving(tmp_path / "server", *options) as server:
        async with Client.connect(load_kubeconfig(server.kubeconfig)) as client:
            await client.create(Namespace(metadata=ObjectMeta(name=SPACE)))
            made = Pair(server, client, tmp_path)
            yield made
            made.close()


@asynccontextmanager
async def held_leader(pair: Pair) -> AsyncIterator[asyncio.subprocess.Process]:
    """One leads and is held in the middle of a reconcile: a step is stored, others are not. Two stands by."""
    pair.open_gate("two")
    async with pair.operator("one") as one:
        await eventually(lambda: pair.client.get(Lease, LEASE), within_s=PATIENCE_S)
        async with pair.operator("two"):
            meta = ObjectMeta(name="task", namespace=SPACE, labels={"role": "task"})
            await pair.client.create(ConfigMap(metadata=meta))
            await pair.stored(0)
            with pytest.raises(NotFound):
                await pair.client.get(ConfigMap, Key(SPACE, "task-1"))
            yield one


def seconds(later: datetime, sooner: datetime) -> float:
    return (later - sooner).total_seconds()


async def test_a_leader_that_is_killed_in_the_middle_is_followed_within_the_lease_and_never_overlapped(
    pair: Pair,
) -> None:
    async with held_leader(pair) as one:
        one.send_signal(signal.SIGKILL)
        lease = await pair.taken_over()
        await pair.stored(STEPS - 1)
    audit = pair.audit()
    audit.check_one_writer_at_a_time()
    assert len(audit.of("one", is_lease=False)) == 1
    assert len(audit.of("two", is_lease=False)) == STEPS - 1
    waited_s = seconds(audit.takeover.done, audit.of("one", is_lease=True)[-1].received)
    assert TIMES.lease_s <= waited_s <= TIMES.lease_s + TIMES.retry_s, "not sooner than the lease says, and not later"
    assert lease.spec.acquire_time is not None
    assert audit.of("one", is_lease=True)[-1].done < lease.spec.acquire_time <= audit.takeover.done


async def test_a_leader_that_stops_finishes_its_reconcile_releases_the_lease_and_is_followed_at_once(
    pair: Pair,
) -> None:
    async with held_leader(pair) as one:
        one.send_signal(signal.SIGTERM)
        pair.open_gate("one")
        async with asyncio.timeout(PATIENCE_S):
            assert await one.wait() == 0
        await pair.taken_over()
        await pair.client.delete(ConfigMap, Key(SPACE, "task-1"))
        await pair.client.patch(ConfigMap, Key(SPACE, "task"), {"data": {"again": "please"}})
        await pair.stored(1)
    audit = pair.audit()
    audit.check_one_writer_at_a_time()
    assert len(audit.of("one", is_lease=False)) == STEPS, "what was begun was finished"
    assert len(audit.of("two", is_lease=False)) == 1
    release = audit.of("one", is_lease=True)[-1]
    assert release.version > audit.of("one", is_lease=False)[-1].version, "the lease is released after the last write"
    assert seconds(audit.takeover.received, release.done) < TIMES.lease_s, "nobody waited for the lease to expire"


async def test_a_leader_that_is_suspended_past_its_lease_writes_nothing_when_it_wakes_up_and_ends(pair: Pair) -> None:
    async with held_leader(pair) as one:
        one.send_signal(signal.SIGSTOP)
        await pair.taken_over()
        await pair.stored(STEPS - 1)
        pair.open_gate("one")
        await pair.client.delete(ConfigMap, Key(SPACE, "task-1"))
        await pair.client.delete(ConfigMap, Key(SPACE, "task-2"))
        one.send_signal(signal.SIGCONT)
        async with asyncio.timeout(PATIENCE_S):
            assert await one.wait() == 1
    audit = pair.audit()
    audit.check_one_writer_at_a_time()
    assert len(audit.of("one", is_lease=False)) == 1
    assert len(audit.of("two", is_lease=False)) == STEPS - 1


def test_the_judge_sees_two_writers_that_overlap(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"

    def told(who: str, resource: str, version: int) -> str:
        event = {
            "verb": "update",
            "stage": "ResponseComplete",
            "user": {"username": who},
            "objectRef": {"resource": resource},
            "responseStatus": {"code": 200},
            "annotations": {"attractor.dev/resource-version": str(version)},
            "requestReceivedTimestamp": f"2026-01-01T00:00:{version:02d}.000000Z",
            "stageTimestamp": f"2026-01-01T00:00:{version:02d}.500000Z",
        }
        return json.dumps(event) + "\n"

    good = [told("one", "leases", 1), told("one", "configmaps", 2), told("two", "leases", 3)]
    log.write_text("".join([*good, told("two", "configmaps", 4)]))
    Audit(log).check_one_writer_at_a_time()
    for bad in (told("one", "configmaps", 5), told("one", "leases", 5)):
        log.write_text("".join([*good, told("two", "configmaps", 4), bad]))
        with pytest.raises(AssertionError):
            Audit(log).check_one_writer_at_a_time()
    early = [told("one", "leases", 1), told("two", "configmaps", 2), told("two", "leases", 3)]
    log.write_text("".join(early))
    with pytest.raises(AssertionError):
        Audit(log).check_one_writer_at_a_time()
