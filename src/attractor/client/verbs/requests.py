"""One request and its answer: retries where safe, refusals as errors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from attractor.client.encoding.mapping import KindMapping
from attractor.client.errors import GarbledAnswer
from attractor.client.verbs.retry import RetryPolicy
from attractor.objects.compiling import mypyc_attr
from attractor.objects.errors import ApiError
from attractor.objects.resource import Scheme

if TYPE_CHECKING:
    from attractor.client.transport import ByteStream, ClientRequest, ClientResponse, Transport

MAX_REFUSAL_BYTES = 1 << 20


@mypyc_attr(allow_interpreted_subclasses=True)
class Requester:
    """Sends requests over a transport; the base of what reads and what writes."""

    def __init__(self, transport: Transport, *, scheme: Scheme | None = None, retry: RetryPolicy | None = None) -> None:
        self.transport = transport
        self.scheme = scheme or Scheme()
        self._retry = retry or RetryPolicy()
        self.mapping = KindMapping(self.scheme, self.request)

    async def request(self, request: ClientRequest) -> ClientResponse:
        """The answer to any request of the API, tried again where that is safe; raises ``ApiError``."""
        try:
            response = await self.transport.send(request)
            if response.code < 400:
                return response
            failed = refused(response)
        except ApiError as error:
            failed = error
        return await self.tried_again(request, failed)

    async def tried_again(self, request: ClientRequest, error: ApiError) -> ClientResponse:
        """The answer to a request that has failed once, if it may be tried again; raises how it failed last."""
        attempt, waited_s = 1, 0.0
        while True:
            delay_s = self._retry.delay_s(error, attempt=attempt, waited_s=waited_s, is_read=request.is_read)
            if delay_s is None:
                raise error
            await asyncio.sleep(delay_s)
            attempt, waited_s = attempt + 1, waited_s + delay_s
            try:
                response = await self.transport.send(request)
            except ApiError as failure:
                error = failure
                continue
            if response.code < 400:
                return response
            error = refused(response)

    async def open_stream(self, request: ClientRequest) -> ByteStream:
        """An answer that goes on; never tried again, because who reads it knows better. Raises ``ApiError``."""
        stream = await self.transport.open(request)
        if stream.code < 400:
            return stream
        try:
            body = b""
            while len(body) < MAX_REFUSAL_BYTES and (piece := await stream.receive()):
                body += piece
        finally:
            stream.close()
        raise refusal(stream.code, body)


def refused(response: ClientResponse) -> ApiError:
    """The error that an answer stands for which is none of success."""
    return refusal(response.code, response.body, response.headers.get("retry-after"))


def refusal(code: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error that an answer stands for, also when it is not a Status (a proxy's page, say)."""
    try:
        status: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = body[:200].decode("utf-8", "replace").strip()
        status = {"code": code, "message": f"the server answered {code}: {text}" if text else f"answered {code}"}
    status = {**status, "code": status.get("code") or code}
    details = status.get("details")
    if retry_after is not None and retry_after.isdigit() and not (details or {}).get("retryAfterSeconds"):
        status["details"] = {**(details or {}), "retryAfterSeconds": int(retry_after)}
    return ApiError.from_status(status)


def parsed(body: bytes) -> dict[str, Any]:
    """A JSON object; raises ``GarbledAnswer``."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise GarbledAnswer(f"the server's answer is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise GarbledAnswer("the server's answer is JSON, but no object")
    return value
