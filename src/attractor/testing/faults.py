"""Faults at the client: what a network and a busy server do to a controller, on demand.

    cluster.faults.conflict("update", "configmaps")          # the next update of a ConfigMap loses
    cluster.faults.lost_answer("create", "configmaps")       # the next create happens, and nobody tells
    cluster.faults.cut_watches("configmaps")                 # every open watch breaks now

Each fault strikes the next ``times`` requests that match it, and then is over. ``FaultyTransport`` carries them out
and logs every request; the client above cannot tell it from a bad day. A fault that strikes nothing tests nothing: the
fixture ``attractor_cluster`` warns of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import orjson

from attractor.client import AnswerLost, ClientResponse, ServerUnreachable
from attractor.objects.errors import Conflict, Gone, Timeout
from attractor.objects.gvk import GroupResource
from attractor.testing.request_log import LoggedRequest, describe, require_verb

if TYPE_CHECKING:
    from attractor.client import ByteStream, ClientRequest, Transport
    from attractor.objects.errors import ApiError
    from attractor.testing.request_log import RequestLog

Effect = Literal["conflict", "timeout", "lost request", "lost answer", "stale list", "gone", "unreachable"]


@dataclass
class Fault:
    """One fault: what it does, to which requests, and how often still."""

    effect: Effect
    verb: str = ""
    resource: str = ""
    name: str = ""
    times: int = 1
    struck: list[LoggedRequest] = field(default_factory=list)
    """The requests that it struck."""

    def strikes(self, entry: LoggedRequest) -> bool:
        """Return whether this request is hit; if so, the fault is used up by one."""
        matches = (
            self.times > len(self.struck)
            and (not self.verb or self.verb == entry.verb)
            and (not self.resource or self.resource == entry.resource)
            and (not self.name or self.name == entry.name)
        )
        if matches:
            self.struck.append(entry)
        return matches

    def __str__(self) -> str:
        target = " ".join(part for part in (self.verb, self.resource, self.name) if part)
        return f"{self.effect} of {target or 'anything'}"


class UnstruckFault(UserWarning):
    """A fault was asked for, and no request came that it was for; the test has not shown what it seems to."""


class FaultInjector:
    """Faults at the clients of controllers: each strikes the next ``times`` requests that match, and then is over.

        cluster.faults.conflict("update", "configmaps")          # the next update of a ConfigMap is refused
        cluster.faults.lost_answer("create", "configmaps")       # the next create happens, and the answer is lost

    Verbs and resources are Kubernetes' own (``update``, ``configmaps``); an empty one matches all. A fault that strikes
    nothing tests nothing: the fixture warns of it.
    """

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._streams: list[tuple[str, _CuttableStream]] = []

    def conflict(self, verb: str = "", resource: str = "", *, name: str = "", times: int = 1) -> Fault:
        """Refuse writes with 409 Conflict; nothing is written."""
        return self._add(Fault("conflict", verb, resource, name, times))

    def timeout(self, verb: str = "", resource: str = "", *, name: str = "", times: int = 1) -> Fault:
        """Answer 504; nothing is written."""
        return self._add(Fault("timeout", verb, resource, name, times))

    def unreachable(self, verb: str = "", resource: str = "", *, name: str = "", times: int = 1) -> Fault:
        """Refuse the connection; nothing is sent."""
        return self._add(Fault("unreachable", verb, resource, name, times))

    def lost_request(self, verb: str = "", resource: str = "", *, name: str = "", times: int = 1) -> Fault:
        """Break the connection before the server has seen the request."""
        return self._add(Fault("lost request", verb, resource, name, times))

    def lost_answer(self, verb: str = "", resource: str = "", *, name: str = "", times: int = 1) -> Fault:
        """Let the server carry the request out, and break the connection before its answer."""
        return self._add(Fault("lost answer", verb, resource, name, times))

    def stale_list(self, resource: str, *, times: int = 1) -> Fault:
        """Answer a list as the first list of that resource was answered, whatever happened since."""
        return self._add(Fault("stale list", "list", resource, "", times))

    def gone(self, resource: str, *, verb: str = "watch", times: int = 1) -> Fault:
        """Answer 410 Gone: the version is too old."""
        return self._add(Fault("gone", verb, resource, "", times))

    def cut_watches(self, resource: str = "") -> int:
        """Break every open watch at once; returns how many."""
        cut = [stream for name, stream in self._streams if (not resource or name == resource) and not stream.is_over]
        for stream in cut:
            stream.cut()
        self._streams = [entry for entry in self._streams if not entry[1].is_over]
        return len(cut)

    @property
    def unstruck(self) -> list[Fault]:
        """The faults that have struck nothing yet."""
        return [fault for fault in self._faults if not fault.struck]

    def clear(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def next_for(self, entry: LoggedRequest) -> Fault | None:
        """The fault that strikes a request; ``None`` when none does. For transports."""
        return next((fault for fault in self._faults if fault.strikes(entry)), None)

    def opened(self, resource: str, stream: ByteStream) -> ByteStream:
        """Wrap a stream so that ``cut_watches`` can break it. For transports."""
        made = _CuttableStream(stream)
        self._streams.append((resource, made))
        return made

    def _add(self, fault: Fault) -> Fault:
        require_verb(fault.verb)
        self._faults.append(fault)
        return fault


class _CuttableStream:
    """A watch that can be broken from outside."""

    def __init__(self, inner: ByteStream) -> None:
        self._inner = inner
        self._cut = asyncio.get_running_loop().create_future()
        self._receiving: asyncio.Future[bytes] | None = None
        """What is being received; whoever stops waiting for it may ask again, and misses nothing."""
        self.is_over = False

    @property
    def code(self) -> int:
        return self._inner.code

    def cut(self) -> None:
        if not self._cut.done():
            self._cut.set_result(None)
        self._stop()

    async def receive(self) -> bytes:
        if self._cut.done():
            raise AnswerLost("the watch was cut")
        if self._receiving is None:
            self._receiving = asyncio.ensure_future(self._inner.receive())
        receiving = self._receiving
        await asyncio.wait({receiving, self._cut}, return_when=asyncio.FIRST_COMPLETED)
        if self._cut.done():
            raise AnswerLost("the watch was cut")
        self._receiving = None
        return receiving.result()

    def close(self) -> None:
        self._stop()
        self._inner.close()

    def _stop(self) -> None:
        self.is_over = True
        receiving, self._receiving = self._receiving, None
        if receiving is not None and not receiving.cancel() and not receiving.cancelled():
            receiving.exception()  # nobody will ask for it any more


class FaultyTransport:
    """Carries requests, unless a fault strikes; logs all of them."""

    def __init__(self, inner: Transport, faults: FaultInjector, log: RequestLog, *, client: str = "") -> None:
        self._inner = inner
        self._faults = faults
        self._log = log
        self._client = client
        self._first_lists: dict[str, ClientResponse] = {}

    async def send(self, request: ClientRequest) -> ClientResponse:
        """The answer, or what a fault makes of it."""
        entry = self._entry(request)
        if entry is None:
            return await self._inner.send(request)
        fault = self._faults.next_for(entry)
        try:
            response = await self._struck(fault, entry, request)
        except BaseException:
            self._log.append(entry)
            raise
        self._log.append(replace(entry, code=response.code))
        return response

    async def _struck(self, fault: Fault | None, entry: LoggedRequest, request: ClientRequest) -> ClientResponse:
        effect = None if fault is None else fault.effect
        if effect == "unreachable":
            raise ServerUnreachable("no connection (injected)")
        if effect == "lost request":
            raise AnswerLost("the connection broke (injected; nothing was written)")
        refused = _refusal(effect, entry)
        if refused is not None:
            return ClientResponse(refused.code, orjson.dumps(refused.status()))
        target = request.target.partition("&continue=")[0]
        if effect == "stale list" and target in self._first_lists:
            return self._first_lists[target]
        response = await self._inner.send(request)
        if entry.verb == "list" and response.code == 200:
            self._first_lists.setdefault(target, response)
        if effect == "lost answer":
            raise AnswerLost("the connection broke (injected; the request was carried out)")
        return response

    async def open(self, request: ClientRequest) -> ByteStream:
        """A stream that faults can cut."""
        entry = self._entry(request)
        if entry is None:
            return await self._inner.open(request)
        fault = self._faults.next_for(entry)
        effect = None if fault is None else fault.effect
        if effect in {"unreachable", "lost request", "lost answer"}:
            self._log.append(entry)
            raise ServerUnreachable("no connection (injected)") if effect == "unreachable" else AnswerLost("(injected)")
        refused = _refusal(effect, entry)
        if refused is not None:
            self._log.append(replace(entry, code=refused.code))
            return _Refused(refused.code, orjson.dumps(refused.status()))
        stream = await self._inner.open(request)
        self._log.append(replace(entry, code=stream.code))
        return self._faults.opened(entry.resource, stream)

    async def aclose(self) -> None:
        """Close the transport below."""
        await self._inner.aclose()

    def _entry(self, request: ClientRequest) -> LoggedRequest | None:
        described = describe(request)
        if described is None:
            return None
        return replace(described, at_s=asyncio.get_running_loop().time(), client=self._client)


class _Refused:
    """A stream that is a refusal."""

    def __init__(self, code: int, body: bytes) -> None:
        self.code = code
        self._body = body

    async def receive(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def close(self) -> None:
        self._body = b""


def _refusal(effect: Effect | None, entry: LoggedRequest) -> ApiError | None:
    resource = GroupResource(entry.group, entry.resource)
    if effect == "conflict":
        return Conflict.of(resource, entry.name)
    if effect == "timeout":
        return Timeout("the server did not answer in time (injected)", details={"retryAfterSeconds": 0})
    if effect == "gone":
        return Gone("too old resource version (injected)")
    return None
