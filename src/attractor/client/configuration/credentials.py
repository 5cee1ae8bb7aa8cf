"""Credentials of the client: none, a token, a token file that rotates, a certificate, or a plugin's output.

A transport asks for the ``current`` credential before each request, and says when the server ``rejected`` it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from attractor.client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

TOKEN_FILE_AGE_S = 10.0
"""How long a token that was read from a file is used before the file is looked at again."""
EXPIRY_MARGIN_S = 30.0
"""A plugin's credential is renewed this long before it expires."""
EXEC_TIMEOUT_S = 60.0
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate chain and its key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """A token for requests, or a certificate for the connection that carries them."""

    authorization: str = field(default="", repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """Source of a transport's credential."""

    async def current(self) -> Credential:
        """The credential to use now; raises ``ConfigError`` when there is none to be had."""
        ...

    def rejected(self, credential: Credential) -> bool:
        """The server does not know it; answers whether another ``current`` may be better."""
        ...


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """Always the same."""

    credential: Credential = Credential()

    async def current(self) -> Credential:
        """The one there is."""
        return self.credential

    def rejected(self, credential: Credential) -> bool:
        """There is no other."""
        return False


def bearer(token: str) -> Credential:
    """A token as credential."""
    return Credential(f"Bearer {token}")


def basic(user: str, password: str) -> Credential:
    """A user name and a password as credential."""
    return Credential(f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}")


class _Renewed(ABC):
    """A credential in files that somebody else renews; they are read again when they may have changed."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._read_at = 0.0
        self._credential: Credential | None = None

    @abstractmethod
    def _read(self) -> Credential:
        """Return what the files hold now; raises ``ConfigError``."""

    async def current(self) -> Credential:
        """Return what the files hold; files that cannot be read any more leave the last credential in use."""
        now = self._now()
        if self._credential is None or now - self._read_at >= TOKEN_FILE_AGE_S:
            self._read_at = now
            try:
                self._credential = self._read()
            except ConfigError:
                if self._credential is None:
                    raise
        return self._credential

    def rejected(self, credential: Credential) -> bool:
        """The files may have a newer one."""
        self._read_at = float("-inf")
        return True


class Rewritten:
    """Credential of a kubeconfig, read again from the file when a server rejects it."""

    def __init__(self, credential: Credential, read_again: Callable[[], Credential | None]) -> None:
        """``read_again`` answers None where the file names another server by now; it may raise ``ConfigError``."""
        self.credential = credential
        self._read_again = read_again

    async def current(self) -> Credential:
        """The last one that was read."""
        return self.credential

    def rejected(self, credential: Credential) -> bool:
        """Return whether the file has another one by now."""
        if credential == self.credential:
            try:
                self.credential = self._read_again() or credential
            except ConfigError:  # it is being written, or gone
                return False
        return self.credential != credential


class TokenFile(_Renewed):
    """A token in a file that somebody else renews, as the kubelet does."""

    def __init__(
        self, path: Path, certificate: ClientCertificate | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(now)
        self._path = path
        self._certificate = certificate

    def _read(self) -> Credential:
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"token file {self._path} cannot be read: {error}") from error
        if not token:
            raise ConfigError(f"token file {self._path} is empty; it should hold a bearer token")
        return Credential(f"Bearer {token}", self._certificate)


class CertificateFiles(_Renewed):
    """A certificate and its key in files that somebody else renews."""

    def __init__(
        self, certificate: Path, key: Path, authorization: str = "", now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(now)
        self._paths = (certificate, key)
        self._authorization = authorization

    def _read(self) -> Credential:
        try:
            pair = ClientCertificate(*(path.read_bytes() for path in self._paths))
        except OSError as error:
            raise ConfigError(f"client certificate {error.filename} cannot be read: {error.strerror}") from error
        return Credential(self._authorization, pair)


@dataclass(frozen=True, slots=True)
class ExecConfig:
    """A credential plugin, as a kubeconfig describes it."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = EXEC_VERSIONS[0]
    install_hint: str = ""
    cluster_info: Mapping[str, Any] | None = None
    """What the plugin is told about the cluster, if it wants to be."""


class ExecPlugin:
    """Runs a plugin for a credential, and again when it expires or is rejected; one run at a time."""

    def __init__(self, config: ExecConfig, now: Callable[[], float] = time.time) -> None:
        if config.api_version not in EXEC_VERSIONS:
            wanted = " or ".join(EXEC_VERSIONS)
            raise ConfigError(f"credential plugin {config.command}: apiVersion {config.api_version!r} is not {wanted}")
        self._config = config
        self._now = now
        self._credential: Credential | None = None
        self._expires_at = float("inf")
        self._lock = asyncio.Lock()

    async def current(self) -> Credential:
        """The last credential, or a new one when it is about to expire."""
        async with self._lock:
            if self._credential is None or self._now() >= self._expires_at - EXPIRY_MARGIN_S:
                self._credential, self._expires_at = parse_exec_credential(await self._run(), self._config)
            return self._credential

    def rejected(self, credential: Credential) -> bool:
        """The plugin may have a better one, if this is still its last."""
        if credential is self._credential:
            self._credential = None
        return True

    async def _run(self) -> bytes:
        config = self._config
        spec: dict[str, Any] = {"interactive": False}
        if config.cluster_info is not None:
            spec["cluster"] = dict(config.cluster_info)
        info = {"apiVersion": config.api_version, "kind": "ExecCredential", "spec": spec}
        environment = {**os.environ, **config.env, "KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                config.command,
                *config.args,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n{config.install_hint}" if config.install_hint else ""
            raise ConfigError(f"credential plugin {config.command} cannot be run: {error.strerror}{hint}") from error
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_S):
                out, errors = await process.communicate()
        except TimeoutError as error:
            raise ConfigError(f"credential plugin {config.command} did not end in {EXEC_TIMEOUT_S:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            said = errors.decode("utf-8", "replace").strip()[-500:]
            raise ConfigError(f"credential plugin {config.command} failed with {process.returncode}: {said}")
        return out


def parse_exec_credential(data: bytes, config: ExecConfig) -> tuple[Credential, float]:
    """Return what a plugin printed, and when it expires (in seconds since 1970); raises ``ConfigError``."""
    try:
        printed = orjson.loads(data)
        if printed["kind"] != "ExecCredential" or printed["apiVersion"] != config.api_version:
            raise ConfigError(f"credential plugin {config.command} printed no {config.api_version} ExecCredential")
        status = printed["status"]
        token = str(status.get("token") or "")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        expiry = status.get("expirationTimestamp")
        expires_at = float("inf") if expiry is None else _timestamp(expiry)
    except (orjson.JSONDecodeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"credential plugin {config.command} printed no usable ExecCredential: {error!r}") from error
    if not token and not (certificate and key):
        raise ConfigError(f"credential plugin {config.command} gave neither a token nor a certificate with its key")
    pair = ClientCertificate(certificate.encode(), key.encode()) if certificate and key else None
    return Credential(f"Bearer {token}" if token else "", pair), expires_at


def _timestamp(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
