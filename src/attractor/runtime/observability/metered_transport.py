"""A transport that counts requests, with client-go's metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.client import ByteStream, ClientRequest, ClientResponse, Transport
    from attractor.runtime.observability.metrics import Metrics


class MeasuredTransport:
    """Counts by code, host and method what the transport below carries; ``<error>`` where no answer came."""

    def __init__(self, inner: Transport, metrics: Metrics, host: str = "") -> None:
        self.inner = inner
        self._metrics = metrics
        self._host = host

    async def send(self, request: ClientRequest) -> ClientResponse:
        """Carry a request."""
        code = "<error>"
        try:
            response = await self.inner.send(request)
            code = str(response.code)
            return response
        finally:
            self._metrics.requests.add(code, self._host, request.method)

    async def open(self, request: ClientRequest) -> ByteStream:
        """Open a stream."""
        code = "<error>"
        try:
            stream = await self.inner.open(request)
            code = str(stream.code)
            return stream
        finally:
            self._metrics.requests.add(code, self._host, request.method)

    async def aclose(self) -> None:
        """Close the transport below."""
        await self.inner.aclose()
