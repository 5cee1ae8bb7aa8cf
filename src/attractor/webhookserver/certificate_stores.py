"""Where a webhook server's certificates are kept: a Secret that all replicas share, memory, or files of somebody else.

Contract of all three: ``current`` answers what to show now, renewed where its time has come.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, Protocol

from attractor.k8s.core_v1 import Secret
from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.objects.resource import ObjectMeta
from attractor.webhookserver.certificates import Certificates, renewed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from attractor.client import Client
    from attractor.objects.gvk import Key

MAX_ATTEMPTS = 10
"""How often a Secret is read again because another replica was faster."""


class Shown(NamedTuple):
    """A certificate chain, its key, and the authorities that vouch for it, PEM; none where others publish them."""

    cert: bytes
    key: bytes
    bundle: bytes


class Keeper(Protocol):
    """Somebody who has certificates."""

    async def current(self, now: datetime) -> Shown:
        """What to show now; raises ``ApiError`` or ``OSError``."""
        ...


def _shown(held: Certificates) -> Shown:
    return Shown(held.shown.cert, held.shown.key, held.bundle)


class MemoryCertificates:
    """Certificates of one process, gone with it: for an operator that runs on a developer's machine."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(hosts)
        self._held: Certificates | None = None

    async def current(self, now: datetime) -> Shown:
        """What to show now."""
        self._held = await asyncio.to_thread(renewed, self._held, self._hosts, now)
        return _shown(self._held)


class SecretCertificates:
    """Certificates in a Secret: whichever replica first sees that they are old renews them for all."""

    def __init__(self, client: Client, key: Key, hosts: Sequence[str]) -> None:
        self._client, self._key, self._hosts = client, key, tuple(hosts)

    async def current(self, now: datetime) -> Shown:
        """What the Secret holds, after renewing it where that is due; raises ``ApiError``."""
        for _ in range(MAX_ATTEMPTS):
            try:
                secret = await self._client.get(Secret, self._key)
            except NotFound:
                secret = None
            held = None if secret is None else Certificates.of(secret.data)
            wanted = await asyncio.to_thread(renewed, held, self._hosts, now)
            if wanted is held:
                return _shown(wanted)
            try:
                await self._write(secret, wanted)
            except (AlreadyExists, Conflict):
                continue  # another replica was faster: what it wrote is as good
            return _shown(wanted)
        raise Conflict(f"Secret {self._key} keeps changing while its certificates are renewed")

    async def _write(self, secret: Secret | None, wanted: Certificates) -> None:
        if secret is None:
            meta = ObjectMeta(name=self._key.name, namespace=self._key.namespace)
            await self._client.create(Secret(metadata=meta, data=wanted.data()))
        else:
            secret.data = {**secret.data, **wanted.data()}
            await self._client.update(secret)


class FileCertificates:
    """Certificates that somebody else renews, such as cert-manager in a mounted Secret."""

    def __init__(self, cert: Path, key: Path, ca: Path | None = None) -> None:
        self._cert, self._key, self._ca = cert, key, ca

    async def current(self, now: datetime) -> Shown:
        """What the files hold; raises ``OSError``."""
        bundle = b"" if self._ca is None else self._ca.read_bytes()
        return Shown(self._cert.read_bytes(), self._key.read_bytes(), bundle)
