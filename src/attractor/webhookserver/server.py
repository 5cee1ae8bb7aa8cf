"""``WebhookServer``: answers reviews over HTTPS, and keeps its certificate and what servers trust up to date."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import tempfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import orjson

from attractor.httpd.limits import Limits
from attractor.httpd.listener import Listener
from attractor.httpd.reply import TEXT, Reply
from attractor.objects.errors import ApiError
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.webhooks.registration import NoSuchWebhook

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from attractor.httpd.connection import Peer
    from attractor.httpd.parser import HttpRequest
    from attractor.webhooks import WebhookSet
    from attractor.webhookserver.certificate_stores import Keeper, Shown
    from attractor.webhookserver.publisher import Publisher

LIMITS = Limits(body_bytes=8 * 1024 * 1024)
"""A review holds an object twice, and more."""
GRACE_S = 5.0
CHECK_S = 600.0
"""How often certificates are looked at; a renewed file is shown no later than this."""
RETRY_S = 10.0
"""After a failure."""


class WebhookServer:
    """Serves webhooks.

    Args:
        hooks: The webhooks, by path.
        keeper: Who has certificates.
        publisher: Who tells the API server; None where manifests and others do.
        now: The time.
    """

    def __init__(
        self,
        hooks: WebhookSet,
        keeper: Keeper,
        publisher: Publisher | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._hooks, self._keeper, self._publisher, self._now = hooks, keeper, publisher, now
        self._log = FieldLogger("attractor.webhooks")
        self._shown: Shown | None = None
        self._published: bytes | None = None
        self._context = _context()
        self._listener: Listener | None = None
        self.port = 0

    @contextlib.asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncIterator[None]:
        """Serve on an address while an ``async with`` block lasts; port 0 takes a free one.

        Raises:
            OSError: The address or a certificate's file cannot be used.
            ApiError: The certificate's Secret cannot be used.
        """
        await self._refresh()
        listener = Listener(self.answer, limits=LIMITS, observer=_Unobserved(), tls=self._context)
        await listener.start(host, port)
        self.port = listener.port
        keeping: asyncio.Task[None] | None = None
        try:
            await self._publish()
            keeping = asyncio.create_task(self._keep(), name="webhook certificates")
            yield
        finally:
            if keeping is not None:
                keeping.cancel()
            await listener.aclose(GRACE_S)

    async def _keep(self) -> None:
        """Renew and publish for ever."""
        pause_s = CHECK_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = CHECK_S if await self.check() else RETRY_S

    async def check(self) -> bool:
        """Renew and publish what is due; whether that went well. What is shown stays good for long if it did not."""
        try:
            await self._refresh()
            await self._publish()
        except (ApiError, OSError) as error:
            self._log.warning("webhook certificate was not renewed", error=str(error))
            return False
        return True

    async def _refresh(self) -> None:
        shown = await self._keeper.current(self._now())
        if shown != self._shown:
            _load(self._context, shown)
            self._log.info("webhook certificate loaded")
            self._shown = shown

    async def _publish(self) -> None:
        assert self._shown is not None, "certificates come first"
        bundle = self._shown.bundle
        if self._publisher is not None and bundle and bundle != self._published:
            await self._publisher.publish(bundle)
            self._published = bundle

    def answer(self, request: HttpRequest, peer: Peer) -> Reply:
        """The answer to one review."""
        if request.method != "POST":
            return Reply(405, b"a webhook is sent reviews with POST\n", TEXT)
        try:
            review = orjson.loads(request.body)
            asked = review["request"]
            uid = asked["uid"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return Reply(400, b"the body is no review with a request and its uid\n", TEXT)
        try:
            response = self._hooks.answer(request.path, asked)
        except NoSuchWebhook as error:
            return Reply(404, f"{error}\n".encode(), TEXT)
        except Exception as error:
            where = f"{asked.get('namespace') or ''}/{asked.get('name') or ''}".lstrip("/")
            self._log.error("webhook failed", error, path=request.path, object=where)
            return Reply(500, f"{type(error).__name__}: {error}\n".encode(), TEXT)
        head = {"apiVersion": review.get("apiVersion"), "kind": review.get("kind")}
        return Reply(200, orjson.dumps({**head, "response": {"uid": uid, **response}}))


class _Unobserved:
    """Counts nothing."""

    def answered(self, method: str, code: int, took_s: float) -> None:
        """A request was answered."""

    def disconnected(self, why: str) -> None:
        """A client was disconnected."""


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load(context: ssl.SSLContext, shown: Shown) -> None:
    """Show a certificate to whoever connects from now on; in a pod there may be no place for a file."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(shown.cert + shown.key)
            file.flush()
            context.load_cert_chain(file.name)
        return
    descriptor = os.memfd_create("certificate")
    try:
        os.write(descriptor, shown.cert + shown.key)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
