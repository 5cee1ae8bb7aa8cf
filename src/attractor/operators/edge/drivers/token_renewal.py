"""The agent's token: it is renewed when half of its life is over, and used without a restart.

The new token lasts as long as the old one did, and is written into the agent's kubeconfig before it is used, so that an
agent that crashes starts with it. The old one stays good until it expires, so nothing depends on when that happens. A
token that the server does not know (any more) is looked for in the file again: an administrator may have put a new one
there.
"""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson
import yaml

from attractor.client.configuration.credentials import Credential, Rewritten, StaticCredentials, bearer
from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.errors import ApiError
from attractor.operators.edge.drivers.process_launcher import token_request, with_token, write_secret
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.client import Client, ClientConfig
    from attractor.objects.gvk import Key

AT = 0.5
"""The part of its life after which a token is renewed: an agent may be cut off for as long as the rest of it."""
RETRY_S = 10.0


@dataclass(frozen=True)
class Life:
    """From when to when a token is good, in seconds since 1970."""

    issued_s: float
    expires_s: float

    @property
    def lasts_s(self) -> float:
        """Return the lifetime of the token."""
        return self.expires_s - self.issued_s

    def due_in_s(self, now_s: float) -> float:
        """Return how long until it should be renewed; 0 for now."""
        return max(0.0, self.issued_s + AT * self.lasts_s - now_s)

    def retry_in_s(self, now_s: float) -> float:
        """Return how long to wait after a renewal that failed: often enough that one succeeds before it is too late."""
        return min(RETRY_S, max(0.1, (self.expires_s - now_s) / 10))


def life_of(token: str) -> Life | None:
    """The life of a token; None when it does not say, and so needs no renewal.

    >>> life_of("opaque") is None
    True
    """
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return Life(float(claims["iat"]), float(claims["exp"]))
    except (ValueError, KeyError, TypeError):
        return None


class AgentToken:
    """The credentials of an agent: the token in its kubeconfig, or one that replaced it."""

    def __init__(self, path: Path, token: str) -> None:
        self._path = path
        self.token = token

    async def current(self) -> Credential:
        """The token."""
        return bearer(self.token)

    def rejected(self, credential: Credential) -> bool:
        """Return whether the file has another by now."""
        try:
            found = token_in(self._path)
        except (OSError, yaml.YAMLError, LookupError, TypeError):
            return False
        known, self.token = self.token, found
        return found != known

    def replace(self, token: str) -> None:
        """Use another from now on, and after a restart."""
        write_secret(self._path, with_token(self._path, token))
        self.token = token


def token_in(path: Path) -> str:
    """The token of a kubeconfig's only user; raises ``LookupError``, ``TypeError`` when there is none."""
    return str(yaml.safe_load(path.read_text())["users"][0]["user"]["token"])


def renewable(config: ClientConfig, path: Path) -> tuple[ClientConfig, AgentToken | None]:
    """The configuration with a token that can be replaced, if it has one that says when it expires."""
    known = config.credentials
    if not isinstance(known, StaticCredentials | Rewritten):
        return config, None
    token = known.credential.authorization.removeprefix("Bearer ")
    if life_of(token) is None:
        return config, None
    credentials = AgentToken(path, token)
    return replace(config, credentials=credentials), credentials


class Renewal:
    """Runs beside an agent's controllers."""

    def __init__(self, client: Client, account: Key, token: AgentToken) -> None:
        self._client = client
        self._account = account
        self._token = token
        self._log = FieldLogger("attractor.edge.renewal")

    async def run(self) -> None:
        """Renew whenever it is due, until cancelled."""
        while (life := life_of(self._token.token)) is not None:
            await asyncio.sleep(life.due_in_s(time.time()))
            try:
                await self._renew(life)
            except (ApiError, OSError) as error:
                self._log.warning("the token was not renewed", error=str(error), expires=life.expires_s)
                await asyncio.sleep(life.retry_in_s(time.time()))

    async def _renew(self, life: Life) -> None:
        body = token_request(round(life.lasts_s))
        answer = await self._client.create_subresource(ServiceAccount, self._account, "token", body)
        self._token.replace(answer["status"]["token"])
        self._log.info("the token was renewed", lasts_s=life.lasts_s)
