"""What the operator does when AWS does not do what it is asked."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from attractor.k8s.core_v1 import Event
from attractor.operators.irsa.api import IamRoleServiceAccount, Policy, Role
from attractor.operators.irsa.drivers.aws import AwsIam, error_from
from attractor.operators.irsa.drivers.iam import (
    EntityAlreadyExists,
    Forbidden,
    IamError,
    NoSuchEntity,
    Rejected,
    Unavailable,
)
from attractor.operators.irsa.proofs.model import ModelIam
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.operators.irsa.things import NAMES, A, gone, irsa, operating, settled

DENIED = "User: arn:aws:iam::123456789012:user/op is not authorized to perform: iam:CreateRole"


class TroubledIam:
    """Counts calls, and raises what ``trouble`` answers for a method."""

    def __init__(self, trouble: Callable[[str], IamError | None]) -> None:
        self.model = ModelIam()
        self.trouble = trouble
        self.calls: list[str] = []

    def __getattr__(self, method: str) -> Callable[..., Any]:
        async def call(*arguments: str) -> Any:
            self.calls.append(method)
            error = self.trouble(method)
            if error is not None:
                raise error
            return await getattr(self.model, method)(*arguments)

        return call


async def has_event(cluster: ClusterUnderTest, reason: str) -> bool:
    return reason in {event.reason for event in await cluster.client.list(Event, "default")}


async def test_a_missing_permission_is_a_condition_and_no_loop_and_is_noticed_when_granted(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = TroubledIam(lambda method: Forbidden("AccessDenied", DENIED) if method == "create_role" else None)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        blocked = await settled(cluster, "forbidden")
        assert blocked.status.reason == f"Role: AccessDenied: {DENIED}"
        await eventually(lambda: has_event(cluster, "Forbidden"))
        iam.calls.clear()
        now = virtual_time.now()
        await eventually(lambda: (virtual_time.now() - now).total_seconds() > 3000, within_s=4000, interval_s=100)
        assert iam.calls.count("create_role") <= 5
        iam.trouble = lambda _: None
        await eventually(lambda: "attach_role_policy" in iam.calls, within_s=1000, interval_s=10)
        await settled(cluster, "created")
        await eventually(lambda: has_event(cluster, "Created"))


async def test_an_outage_backs_off_and_recovers(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    iam = TroubledIam(lambda _: Unavailable("Throttling", "Rate exceeded"))
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        now = virtual_time.now()
        await eventually(lambda: (virtual_time.now() - now).total_seconds() > 600, within_s=4000, interval_s=50)
        assert 20 <= len(iam.calls) <= 60  # two parts, each later every time, up to a minute
        assert (await cluster.client.get(IamRoleServiceAccount, A)).status.condition == "progressing"
        told = [event.message for event in await cluster.client.list(Event, "default")]
        assert "Throttling: Rate exceeded" in told
        iam.trouble = lambda _: None
        await eventually(lambda: "attach_role_policy" in iam.calls, within_s=200, interval_s=1)
        await settled(cluster, "created")


async def test_what_aws_rejects_is_said_and_a_new_spec_tries_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    rejected = Rejected("MalformedPolicyDocument", "Vendor nope is not valid")
    iam = TroubledIam(lambda method: rejected if method == "create_policy" else None)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        blocked = await settled(cluster, "failed")
        assert blocked.status.reason == "Policy: MalformedPolicyDocument: Vendor nope is not valid"
        assert (await cluster.client.get(Policy, A)).status.condition == "error"
        iam.trouble = lambda _: None
        changed = {"spec": {"policy": {"statement": [{"resource": "*", "action": ["s3:GetObject"]}]}}}
        await cluster.client.patch(IamRoleServiceAccount, A, changed)
        await settled(cluster, "created")


async def test_a_name_that_aws_calls_taken_but_does_not_show_is_asked_for_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    lagging = EntityAlreadyExists("EntityAlreadyExists", "it exists")
    iam = TroubledIam(lambda method: lagging if method == "create_policy" else None)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())

        async def is_progressing() -> bool:
            status = (await cluster.client.get(Policy, A)).status
            return (status.condition, status.reason) == ("progressing", "EntityAlreadyExists: it exists")

        await eventually(is_progressing)
        iam.trouble = lambda _: None
        await settled(cluster, "created")


async def test_what_vanishes_under_our_hands_is_looked_for_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    once = [NoSuchEntity("NoSuchEntity", "gone")] * 2
    iam = TroubledIam(lambda method: once.pop() if once and method in {"attach_role_policy", "delete_role"} else None)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        await cluster.client.delete(IamRoleServiceAccount, A)
        await gone(cluster)
    assert once == []


async def test_a_deletion_that_is_not_permitted_says_so_and_goes_on_when_it_is(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = TroubledIam(lambda method: Forbidden("AccessDenied", DENIED) if method == "delete_role" else None)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        await cluster.client.delete(IamRoleServiceAccount, A)

        async def is_forbidden() -> bool:
            return (await cluster.client.get(Role, A)).status.condition == "forbidden"

        await eventually(is_forbidden)
        iam.trouble = lambda _: None
        await eventually(lambda: not iam.model.state.roles, within_s=1000, interval_s=10)
        await gone(cluster)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("Throttling", 400, Unavailable),
        ("ServiceFailure", 500, Unavailable),
        ("SomethingNew", 503, Unavailable),
        ("AccessDenied", 403, Forbidden),
        ("ExpiredToken", 403, Forbidden),
        ("LimitExceeded", 409, Rejected),
        ("MalformedPolicyDocument", 400, Rejected),
        ("NoSuchEntity", 404, NoSuchEntity),
    ],
)
def test_answers_of_aws_are_told_apart_by_what_to_do(code: str, status: int, kind: type[IamError]) -> None:
    assert type(error_from(code, "text", status)) is kind


KEY_ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "FwoGZXIvYXdzEXAMPLETOKEN"


def test_errors_of_aws_never_carry_credentials() -> None:
    quoted = f"The canonical string should have been x-amz-security-token:{TOKEN} by {KEY_ID}"
    assert TOKEN not in str(error_from("SignatureDoesNotMatch", quoted, 403))
    assert KEY_ID not in str(error_from("AccessDenied", f"user with key {KEY_ID}", 403))


async def test_credentials_never_reach_logs_events_or_conditions(
    cluster: ClusterUnderTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in {"ACCESS_KEY_ID": KEY_ID, "SECRET_ACCESS_KEY": SECRET, "SESSION_TOKEN": TOKEN}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    caplog.set_level(logging.DEBUG)
    async with AwsIam(endpoint_url="http://127.0.0.1:9") as iam, operating(cluster, iam):
        await cluster.client.create(irsa())

        async def is_told() -> bool:
            told = [event.reason for event in await cluster.client.list(Event, "default")]
            return told.count("AwsUnavailable") >= 2

        await eventually(is_told)
        kinds = (IamRoleServiceAccount, Policy, Role, Event)
        stored = json.dumps([one.to_dict() for kind in kinds for one in await cluster.client.list(kind, "default")])
    assert "not reached" in stored
    for secret in (KEY_ID, SECRET, TOKEN):
        assert secret not in stored
        assert secret not in caplog.text


async def test_no_credentials_at_all_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    async with AwsIam(endpoint_url="http://127.0.0.1:9") as iam:
        with pytest.raises(Forbidden, match="no AWS credentials were found"):
            await iam.get_role(NAMES.name)


async def test_a_page_of_a_proxy_is_no_answer_of_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\nConnection: close\r\n\r\n<p>")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, AwsIam(endpoint_url="http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())) as iam:
        with pytest.raises(Unavailable, match="what answered is not AWS"):
            await iam.get_role("a")
