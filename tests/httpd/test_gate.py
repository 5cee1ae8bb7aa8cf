"""Who may not ask is told so by the head of the request; the body is not read."""

import json

import pytest

from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.connection import Peer
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.parser import HttpRequest, RequestParser
from tests.httpd.api import CONFIGMAPS, HttpApi, config_map
from tests.httpd.auditlines import Lines
from tests.httpd.conftest import TOKENS
from tests.httpd.wire import Wire, connected

BODY = json.dumps(config_map("a", filling="x" * 500_000)).encode()


def send_head(wire: Wire, token: str, *lines: str, length: int = len(BODY)) -> None:
    head = [f"POST {CONFIGMAPS} HTTP/1.1", "Host: test", "Content-Type: application/json", f"Content-Length: {length}"]
    head += [f"Authorization: Bearer {token}"] if token else []
    wire.send("\r\n".join([*head, *lines]).encode() + b"\r\n\r\n")


@pytest.mark.parametrize("sent", [0, 1, 200_000])
@pytest.mark.parametrize(("token", "code"), [("wrong", 401), ("", 403), ("reader-token", 403)])
async def test_a_client_that_sends_on_is_refused_before_its_body_is_there(
    api: HttpApi, token: str, code: int, sent: int
) -> None:
    async with connected(api.port) as wire:
        send_head(wire, token)
        wire.send(BODY[:sent])
        answer = await wire.answer()
        assert (answer.code, answer.headers["connection"]) == (code, "close")
        assert answer.json["kind"] == "Status"
        wire.send(BODY[sent:])
        assert await wire.rest() == b"", "the rest of the body was taken for a request"


@pytest.mark.parametrize(("token", "code"), [("wrong", 401), ("", 403)])
async def test_a_client_that_waits_to_be_told_to_go_on_is_refused_instead(api: HttpApi, token: str, code: int) -> None:
    async with connected(api.port) as wire:
        send_head(wire, token, "Expect: 100-continue")
        answer = await wire.answer()
        assert (answer.code, answer.headers["connection"]) == (code, "close")
        assert await wire.rest() == b""


async def test_a_client_that_may_write_is_told_to_go_on_and_keeps_its_connection(api: HttpApi) -> None:
    async with connected(api.port) as wire:
        send_head(wire, "admin-token", "Expect: 100-continue")
        assert (await wire.answer()).code == 100
        for start in range(0, len(BODY), 100_000):
            wire.send(BODY[start : start + 100_000])
        assert (await wire.answer()).code == 201
        wire.request("GET", f"{CONFIGMAPS}/a", Authorization="Bearer admin-token")
        assert (await wire.answer()).code == 200


async def test_a_chunked_body_is_not_read_either(api: HttpApi) -> None:
    async with connected(api.port) as wire:
        wire.send(b"POST %b HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n" % CONFIGMAPS.encode())
        wire.send(b'Authorization: Bearer wrong\r\n\r\n5\r\n{"a":\r\n')
        assert (await wire.answer()).code == 401


async def test_a_refused_request_behind_others_waits_for_its_turn(api: HttpApi) -> None:
    async with connected(api.port) as wire:
        wire.request("GET", "/healthz")
        wire.request("GET", "/version")
        send_head(wire, "wrong")
        assert [(await wire.answer()).code for _ in range(3)] == [200, 200, 401]


async def test_a_request_that_comes_whole_is_refused_and_its_connection_stays(api: HttpApi) -> None:
    async with connected(api.port) as wire:
        wire.request("POST", CONFIGMAPS, b"{}", Authorization="Bearer wrong")
        assert (await wire.answer()).code == 401
        wire.request("GET", "/healthz")
        assert (await wire.answer()).code == 200


async def test_credentials_are_looked_at_once_while_the_body_comes_in_pieces(
    api: HttpApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[HttpRequest] = []
    authenticate = Authenticator.authenticate

    def counted(authenticator: Authenticator, request: HttpRequest, peer: Peer) -> User:
        asked.append(request)
        return authenticate(authenticator, request, peer)

    monkeypatch.setattr(Authenticator, "authenticate", counted)
    async with connected(api.port) as wire:
        send_head(wire, "admin-token")
        for start in range(0, len(BODY), 50_000):
            wire.send(BODY[start : start + 50_000])
            await wire.writer.drain()
        assert (await wire.answer()).code == 201
    assert len(asked) == 1, "by the head, or by the whole request where that came at once"


async def test_trouble_with_credentials_is_a_500_with_a_reference(
    api: HttpApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Authenticator, "authenticate", lambda *_: 1 / 0)
    async with connected(api.port) as wire:
        send_head(wire, "any-token")
        answer = await wire.answer()
    assert answer.code == 500
    assert caplog.records[0].message == "internal error"
    assert "any-token" not in caplog.text


@pytest.mark.parametrize(
    ("token", "stage", "decision"), [("wrong", "ResponseStarted", None), ("reader-token", "ResponseComplete", "forbid")]
)
async def test_who_is_turned_away_is_in_the_audit_log_once(token: str, stage: str, decision: str | None) -> None:
    log = Lines()
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS), audit=log) as cluster:
        port = (await cluster.listen()).port
        async with connected(port) as wire:
            send_head(wire, token, "Expect: 100-continue")
            answer = await wire.answer()
    [event] = log.events
    assert (event["stage"], event["auditID"]) == (stage, answer.headers["audit-id"])
    assert event["responseStatus"]["code"] == answer.code
    assert event.get("annotations", {}).get("authorization.k8s.io/decision") == decision


async def test_who_is_let_in_by_the_head_is_in_the_audit_log_once() -> None:
    log = Lines()
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS), audit=log) as cluster:
        port = (await cluster.listen()).port
        async with connected(port) as wire:
            send_head(wire, "admin-token", "Expect: 100-continue")
            assert (await wire.answer()).code == 100
            wire.send(BODY)
            answer = await wire.answer()
    [event] = log.events
    assert (event["auditID"], event["responseStatus"]["code"]) == (answer.headers["audit-id"], 201)


def test_the_parser_shows_a_head_only_while_its_body_is_on_its_way() -> None:
    parser = RequestParser(DEFAULT_LIMITS)
    seen = []
    for piece in (b"POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n", b"\r\nab", b"cd"):
        parser.feed(piece)
        seen.append(parser.pending.path if parser.pending is not None else None)
    assert seen == [None, "/x", None]
    assert len(parser.requests) == 1
