"""A transport that can be made to fail in every way that a network and a server can."""

import asyncio
from collections.abc import Callable

from attractor.client import AnswerLost, ByteStream, ClientRequest, ClientResponse, ServerUnreachable, Transport
from attractor.objects.errors import ApiError


class TroubledStream:
    """A stream that can be cut, hung, ended or fed with garbage."""

    def __init__(self, inner: ByteStream) -> None:
        self._inner = inner
        self._injected: list[bytes] = []
        self._error: ApiError | None = None
        self._is_hung = False
        self._trouble = asyncio.Event()

    @property
    def code(self) -> int:
        return self._inner.code

    def inject(self, data: bytes) -> None:
        self._injected.append(data)
        self._trouble.set()

    def fail(self, error: ApiError) -> None:
        self._error = error
        self._trouble.set()

    def hang(self) -> None:
        self._is_hung = True
        self._trouble.set()

    async def receive(self) -> bytes:
        while True:
            self._trouble.clear()
            if self._is_hung:
                await asyncio.get_running_loop().create_future()
            if self._injected:
                return self._injected.pop(0)
            if self._error is not None:
                raise self._error
            data = asyncio.ensure_future(self._inner.receive())
            trouble = asyncio.ensure_future(self._trouble.wait())
            try:
                await asyncio.wait({data, trouble}, return_when=asyncio.FIRST_COMPLETED)
                if data.done():
                    return data.result()
            finally:
                data.cancel()
                trouble.cancel()

    def close(self) -> None:
        self._inner.close()


class TroubledTransport:
    """Passes requests on to ``inner`` (which may be replaced), unless it is in trouble."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.is_down = False
        self.refusal: Callable[[ClientRequest], ApiError | None] = lambda _: None
        self.streams: list[TroubledStream] = []
        self.requests: list[ClientRequest] = []

    def _check(self, request: ClientRequest) -> None:
        self.requests.append(request)
        if self.is_down:
            raise ServerUnreachable("nobody answers")
        refused = self.refusal(request)
        if refused is not None:
            raise refused

    async def send(self, request: ClientRequest) -> ClientResponse:
        self._check(request)
        return await self.inner.send(request)

    async def open(self, request: ClientRequest) -> TroubledStream:
        self._check(request)
        stream = TroubledStream(await self.inner.open(request))
        self.streams.append(stream)
        return stream

    async def aclose(self) -> None:
        await self.inner.aclose()

    def cut(self) -> None:
        for stream in self.streams:
            stream.fail(AnswerLost("the connection was reset"))

    def garble(self, data: bytes = b"<html>Bad gateway</html>\n") -> None:
        for stream in self.streams:
            stream.inject(data)

    def hang(self) -> None:
        for stream in self.streams:
            stream.hang()

    def end(self) -> None:
        self.garble(b"")

    @property
    def lists(self) -> int:
        return sum(dict(r.query).get("watch") is None for r in self.requests if r.method == "GET")

    @property
    def watches(self) -> int:
        return sum(dict(r.query).get("watch") is not None for r in self.requests)
