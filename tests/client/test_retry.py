"""What is sent again, what is not, and for how long."""

import pytest

from attractor.client import AnswerLost, Client, ClientRequest, ClientResponse, GarbledAnswer, ServerUnreachable
from attractor.client.errors import outcome_is_known
from attractor.client.verbs.retry import NO_RETRY, RetryPolicy
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import (
    ApiError,
    Conflict,
    InternalError,
    NotFound,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from attractor.objects.resource import ObjectMeta
from tests.cache import virtualtime

BUSY = {"retryAfterSeconds": 3}
TABLE: list[tuple[ApiError, float | None, float | None]] = [
    # error, a read's delay, a write's delay
    (ServerUnreachable("x"), 0.05, 0.05),
    (AnswerLost("x"), 0.05, None),
    (GarbledAnswer("x"), None, None),
    (TooManyRequests("x", details=BUSY), 3.0, 3.0),
    (TooManyRequests("x"), 1.0, 1.0),
    (ServiceUnavailable("x", details=BUSY), 3.0, 3.0),
    (ServiceUnavailable("x"), None, None),
    (InternalError("x"), None, None),
    (Timeout("x"), None, None),
    (Conflict("x"), None, None),
    (NotFound("x"), None, None),
]


@pytest.mark.parametrize(("error", "read_s", "write_s"), TABLE)
def test_only_what_is_safe_is_sent_again(error: ApiError, read_s: float | None, write_s: float | None) -> None:
    policy = RetryPolicy()
    assert policy.delay_s(error, attempt=1, waited_s=0, is_read=True) == read_s
    assert policy.delay_s(error, attempt=1, waited_s=0, is_read=False) == write_s
    assert NO_RETRY.delay_s(error, attempt=1, waited_s=0, is_read=True) is None


def test_attempts_and_patience_are_bounded() -> None:
    policy = RetryPolicy(attempts=3, budget_s=5)
    error = TooManyRequests("x", details=BUSY)
    assert policy.delay_s(error, attempt=2, waited_s=2, is_read=True) == 3
    assert policy.delay_s(error, attempt=2, waited_s=2.5, is_read=True) is None
    assert policy.delay_s(error, attempt=3, waited_s=0, is_read=True) is None
    lost = AnswerLost("x")
    assert [policy.delay_s(lost, attempt=n, waited_s=0, is_read=True) for n in (1, 2)] == [0.05, 0.1]


@pytest.mark.parametrize(
    ("error", "is_known"),
    [
        (Conflict("x"), True),
        (ServerUnreachable("x"), True),
        (TooManyRequests("x"), True),
        (AnswerLost("x"), False),
        (GarbledAnswer("x"), False),
        (Timeout("x"), False),
        (InternalError("x"), False),
    ],
)
def test_which_failures_leave_a_writes_outcome_open(error: ApiError, is_known: bool) -> None:
    assert outcome_is_known(error) is is_known


class Scripted:
    """A transport that answers what it is told to, in order."""

    def __init__(self, *answers: ClientResponse | ApiError) -> None:
        self.answers = list(answers)
        self.sent: list[ClientRequest] = []

    async def send(self, request: ClientRequest) -> ClientResponse:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def open(self, request: ClientRequest) -> None:
        raise AssertionError("nothing is streamed here")

    async def aclose(self) -> None:
        return


STORED = ConfigMap(metadata=ObjectMeta(name="a", namespace="n", uid="u", resource_version="1"))
OK = ClientResponse(200, STORED.to_json())


def status(error: ApiError, **headers: str) -> ClientResponse:
    import orjson

    return ClientResponse(error.code, orjson.dumps(error.status()), headers)


def test_a_busy_server_is_given_the_time_it_asks_for() -> None:
    async def main() -> None:
        import asyncio

        transport = Scripted(
            status(TooManyRequests("busy", details=BUSY)), ClientResponse(503, b"", {"retry-after": "4"}), OK
        )
        client = Client(transport)  # type: ignore[arg-type]
        started = asyncio.get_running_loop().time()
        assert await client.create(STORED) == STORED
        assert asyncio.get_running_loop().time() - started == pytest.approx(7)
        assert len(transport.sent) == 3

    virtualtime.run(main())


def test_a_write_whose_answer_was_lost_is_never_sent_again() -> None:
    async def main() -> None:
        transport = Scripted(AnswerLost("reset"), OK)
        with pytest.raises(AnswerLost):
            await Client(transport).create(STORED)  # type: ignore[arg-type]
        assert len(transport.sent) == 1
        transport = Scripted(AnswerLost("reset"), OK)
        assert await Client(transport).get(ConfigMap, ("n", "a")) == STORED  # type: ignore[arg-type]

    virtualtime.run(main())


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (404, b"404 page not found\n", NotFound),
        (502, b"<html>proxy</html>", ApiError),
        (500, b"", InternalError),
        (409, b'{"kind":"Status","code":409,"reason":"Conflict","message":"m"}', Conflict),
    ],
)
def test_every_refusal_is_an_api_error_even_a_proxys_page(code: int, body: bytes, expected: type[ApiError]) -> None:
    async def main() -> None:
        with pytest.raises(expected) as refused:
            await Client(Scripted(ClientResponse(code, body)), retry=NO_RETRY).get(ConfigMap, ("n", "a"))  # type: ignore[arg-type]
        assert refused.value.code == code

    virtualtime.run(main())


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b'{"kind":"Secret","apiVersion":"v1","metadata":{}}', b"\xff"]
)
def test_an_answer_that_makes_no_sense_is_garbled(body: bytes) -> None:
    async def main() -> None:
        transport = Scripted(ClientResponse(200, body), ClientResponse(200, body))
        client = Client(transport)  # type: ignore[arg-type]
        with pytest.raises(GarbledAnswer):
            await client.get(ConfigMap, ("n", "a"))
        if b"Secret" not in body:
            with pytest.raises(GarbledAnswer):
                await client.list(ConfigMap, "n")

    virtualtime.run(main())
