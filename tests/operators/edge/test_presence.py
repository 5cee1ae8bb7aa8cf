"""A cloudlet whose agent gives no sign of life is Offline: what that means, step by step, and what wishes hear then."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from attractor.k8s.coordination_v1 import Lease, LeaseSpec
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import Key
from attractor.objects.resource import MicroTime, ObjectMeta
from attractor.operators.edge.api.states import CloudletState, TrackedState
from attractor.operators.edge.api.types import (
    OVERRIDE,
    AgentInfo,
    Cloudlet,
    CloudletSpec,
    CloudletStatus,
    ClusterInst,
)
from attractor.operators.edge.controllers.presence import Sign, presence
from attractor.runtime import Context, Result
from attractor.runtime.effects import Patch, Remember
from attractor.runtime.steps import Steps
from tests.operators.edge.world import Edge

C = CloudletState
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HERE = Key("berlin", "berlin")


def cloudlet(known: CloudletState, agent: CloudletState | None = C.READY) -> Cloudlet:
    agents = {} if agent is None else {"1": AgentInfo(state=agent)}
    status = CloudletStatus(state=TrackedState.READY, version="1", agents=agents, cloudlet_state=known)
    meta = ObjectMeta(name="berlin", namespace="berlin", resource_version="7")
    return Cloudlet(metadata=meta, spec=CloudletSpec(), status=status)


def lease(renewed: datetime | None) -> Lease:
    spec = LeaseSpec(lease_duration_seconds=40, renew_time=None if renewed is None else MicroTime.of(renewed))
    return Lease(metadata=ObjectMeta(name="agent-1", namespace="berlin"), spec=spec)


def look(obj: Cloudlet, found: Lease | None, now: datetime | None = None, known: Sign | None = None) -> Steps[Any]:
    steps = Steps(presence(Context("presence", HERE), HERE))
    steps.answer(obj)
    steps.answer(found)
    if now is not None:
        steps.answer(now)
        steps.answer(known)
    return steps


def sign(renewed: datetime, at: datetime) -> Sign:
    return Sign((str(MicroTime.of(renewed)),), at)


def said(steps: Steps[Any]) -> str:
    """What it writes."""
    assert isinstance(steps.effect, Patch)
    assert isinstance(steps.effect.body, dict)
    state = steps.effect.body["status"]["cloudletState"]
    assert isinstance(state, str)
    return state


def test_before_an_agent_has_reported_a_cloudlet_is_not_present() -> None:
    assert said(look(cloudlet(C.UNKNOWN, None), lease(None))) == "NotPresent"


def test_an_agent_that_reports_but_gives_no_signs_of_life_is_unknown() -> None:
    assert said(look(cloudlet(C.NOT_PRESENT), None)) == "Unknown"


def test_a_sign_of_life_is_remembered_and_what_the_agent_says_holds() -> None:
    steps = look(cloudlet(C.UNKNOWN, C.UPGRADE_INIT), lease(NOON), NOON, None)
    assert isinstance(steps.effect, Remember)
    steps.answer()
    assert said(steps) == "UpgradeInit"
    steps.answer()
    assert steps.result == Result(requeue_after_s=40)


def test_silence_as_long_as_the_lease_says_means_offline_by_this_clock_alone() -> None:
    years_ago = NOON - timedelta(days=700)
    steps = look(cloudlet(C.READY), lease(years_ago), NOON + timedelta(seconds=40), sign(years_ago, NOON))
    assert said(steps) == "Offline"


def test_silence_that_is_shorter_is_waited_out() -> None:
    steps = look(cloudlet(C.READY), lease(NOON), NOON + timedelta(seconds=10), sign(NOON, NOON))
    assert steps.result == Result(requeue_after_s=30)


def test_a_new_sign_of_life_ends_offline() -> None:
    steps = look(cloudlet(C.OFFLINE), lease(NOON), NOON, sign(NOON - timedelta(minutes=5), NOON))
    steps.answer()
    assert said(steps) == "Ready"


def test_a_coordinator_that_has_just_started_does_not_take_an_old_sign_for_a_new_one() -> None:
    steps = look(cloudlet(C.OFFLINE), lease(NOON), NOON, None)
    assert isinstance(steps.effect, Remember)
    steps.answer()
    assert steps.result == Result(requeue_after_s=40)


async def offline(edge: Edge) -> None:
    """A cloudlet with a cluster, whose agent has gone."""
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")
    await sign_of_life(edge, NOON)
    patch = {"status": {"cloudletState": "Offline"}}
    await edge.admin.patch(Cloudlet, HERE, patch, subresource="status")


async def sign_of_life(edge: Edge, at: datetime) -> None:
    spec = {"renewTime": str(MicroTime.of(at)), "leaseDurationSeconds": 40, "holderIdentity": "1"}
    await edge.admin.patch(Lease, Key("berlin", "agent-1"), {"spec": spec})


async def test_wishes_for_an_offline_cloudlet_are_refused_but_by_an_administrators_word(edge: Edge) -> None:
    await offline(edge)
    with pytest.raises(Forbidden, match="Cloudlet berlin not ready, state is Offline"):
        await edge.create_app()
    with pytest.raises(Forbidden, match="Cloudlet berlin not ready, state is Offline"):
        await edge.admin.patch(ClusterInst, Key("berlin", "one"), {"spec": {"nodes": 2}})
    with pytest.raises(Forbidden, match="Cloudlet berlin not ready, state is Offline"):
        await edge.admin.patch(Cloudlet, HERE, {"spec": {"version": "2"}})
    past = {"metadata": {"annotations": {OVERRIDE: "IgnoreCRM"}}, "spec": {"nodes": 2}}
    await edge.admin.patch(ClusterInst, Key("berlin", "one"), past)


async def test_a_deletion_waits_until_an_offline_cloudlet_is_back(edge: Edge) -> None:
    await offline(edge)
    await edge.admin.delete(ClusterInst, Key("berlin", "one"))
    async with edge.coordinator(), edge.agent():
        await edge.wait_message(ClusterInst, "one", "Cloudlet berlin not ready, state is Offline")
        assert (await edge.status(ClusterInst, "one")).state == "Ready"
        await sign_of_life(edge, NOON + timedelta(seconds=10))
        await edge.wait_gone(ClusterInst, "one")


async def test_an_agent_cannot_say_that_it_is_offline_nor_that_another_is(edge: Edge) -> None:
    await offline(edge)
    async with edge.client(edge.agent_user("berlin")) as agent:
        for patch in ({"agents": {"1": {"state": "Offline"}}}, {"cloudletState": "Ready"}):
            with pytest.raises(Forbidden):
                await agent.patch(Cloudlet, HERE, {"status": patch}, subresource="status")
