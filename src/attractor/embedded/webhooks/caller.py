"""Webhooks over HTTPS: the outside of a server that runs for real.

A question is sent as the review it is and its answer is checked for being one. Whatever goes wrong becomes an
``Answer`` with a failure: what that means for the request is for the core to say.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urlsplit

import orjson

from attractor.apiserver.admission.outside_calls import Answer
from attractor.embedded.webhooks.https_call import CallError, HttpsCaller, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.admission.outside_calls import Question, Service
    from attractor.client.transport import ClientResponse
    from attractor.objects.json_types import JsonObject

HTTPS_PORT = 443
_PATH_CHARACTERS = "/%:@!$&'()*+,;=~-._"


class UnknownService(Exception):
    """No address is known for a Service; the text says what to do."""


class Resolver(Protocol):
    """Finds the way to a Service."""

    def __call__(self, service: Service) -> tuple[str, int]:
        """Host and port; raises ``UnknownService``."""
        ...


class _Refused(Exception):
    """There is no usable answer; the text goes to the user."""


class Webhooks:
    """Answers questions by calling webhooks."""

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._caller = HttpsCaller()

    def close(self) -> None:
        """Close the kept connections."""
        self._caller.close()

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Ask all of them at once."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._answer(question)) for question in questions]
        return [task.result() for task in tasks]

    async def _answer(self, question: Question) -> Answer:
        try:
            return Answer(response=await self._call(question))
        except _Refused as why:
            return Answer(failure=str(why))

    async def _call(self, question: Question) -> JsonObject:
        url, path = _url(question)
        uid = _uid()
        try:
            place = self._place(question)
            async with asyncio.timeout(question.timeout_s):
                answer = await self._caller.post(place, path, _review(question, uid))
        except TimeoutError:
            raise _Refused(f'failed to call webhook: Post "{url}": context deadline exceeded') from None
        except (CallError, UnknownService) as error:
            raise _Refused(f'failed to call webhook: Post "{url}": {error}') from None
        return _response(question, answer, uid)

    def _place(self, question: Question) -> Place:
        endpoint = question.endpoint
        if endpoint.service is not None:
            host, port = self._resolve(endpoint.service)
            return Place(host, port, endpoint.service.host, endpoint.ca_bundle)
        parts = urlsplit(endpoint.url)
        host = parts.hostname or ""
        return Place(host, parts.port or HTTPS_PORT, host, endpoint.ca_bundle)


def _url(question: Question) -> tuple[str, str]:
    """The whole URL for messages, and the path with its query for the request line."""
    endpoint = question.endpoint
    if endpoint.service is not None:
        service = endpoint.service
        base, path, query = f"https://{service.host}:{service.port}", service.path or "/", ""
    else:
        parts = urlsplit(endpoint.url)
        base, path, query = f"{parts.scheme}://{parts.netloc}", parts.path or "/", parts.query
    path = quote(_clean(path), safe=_PATH_CHARACTERS)
    timeout = f"timeout={question.timeout_s:g}s"
    path = f"{path}?{query}&{timeout}" if query else f"{path}?{timeout}"
    return base + path, path


def _clean(path: str) -> str:
    """A path as Go's client sends it: one slash at a time, no dots, none at the end."""
    return "/" + posixpath.normpath(f"/{path}").lstrip("/")


def _review(question: Question, uid: str) -> bytes:
    head = orjson.dumps({"kind": question.review, "apiVersion": question.api_version})
    return b'%b,"request":{"uid":"%b",%b}' % (head[:-1], uid.encode(), question.body[1:])


def _uid() -> str:
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _response(question: Question, answer: ClientResponse, uid: str) -> JsonObject:
    """The ``response`` of the review that came back; raises ``_Refused``."""
    if answer.code != 200:
        raise _Refused(f"failed to call webhook: {_http_failure(answer)}")
    try:
        review = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise _Refused(f"failed to call webhook: couldn't get version/kind; json parse error: {error}") from None
    said = (review.get("apiVersion"), review.get("kind")) if isinstance(review, dict) else (None, None)
    if said != (question.api_version, question.review):
        expected = f"{question.api_version}, Kind={question.review}"
        raise _Refused(
            f"received invalid webhook response: expected webhook response of {expected}, got {said[0]}, Kind={said[1]}"
        )
    response: JsonObject | None = review.get("response")
    if not isinstance(response, dict):
        raise _Refused("received invalid webhook response: webhook response was absent")
    if response.get("uid") != uid:
        raise _Refused(f'received invalid webhook response: expected response.uid="{uid}", got "{response.get("uid")}"')
    return response


def _http_failure(answer: ClientResponse) -> str:
    """An HTTP error as Kubernetes' client words it."""
    text = answer.body[:2048].decode("utf-8", "replace").strip()
    match answer.code:
        case 404:
            return "the server could not find the requested resource"
        case 401:
            return "the server has asked for the client to provide credentials"
        case 403:
            return "forbidden: the webhook refuses this server"
        case code if code >= 500:
            return f'an error on the server ("{text or "unknown"}") has prevented the request from succeeding'
    return f"the server rejected our request for an unknown reason (HTTP {answer.code})"
