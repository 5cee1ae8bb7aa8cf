"""``Publisher``: tells an API server which webhooks there are, where, and whom to trust (``caBundle``)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from attractor.objects.errors import NotFound
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.webhooks.registration import GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.webhooks import WebhookSet

FIELD_MANAGER = "attractor-webhooks"


class Publisher:
    """The configurations of an operator's webhooks, applied whole: what the code does not declare any more goes.

    Args:
        client: To the API server.
        name: The configurations' name.
        hooks: The webhooks.
        where: From a path to the ``clientConfig`` under which the API server reaches it, without authorities.
        spared: Namespaces whose built-in objects are not asked about.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        hooks: WebhookSet,
        where: Callable[[str], JsonObject],
        *,
        spared: Sequence[str] = (),
    ) -> None:
        self._client, self._name, self._hooks, self._where = client, name, hooks, where
        self._spared = tuple(spared)

    async def publish(self, bundle: bytes) -> None:
        """Apply the configurations with these authorities; raises ``ApiError``."""
        trusted = base64.b64encode(bundle).decode("ascii")
        for document in self._hooks.configurations(
            self._name, lambda path: {**self._where(path), "caBundle": trusted}, spared=self._spared
        ):
            await self._client.apply(document, field_manager=FIELD_MANAGER, force=True)

    async def withdraw(self) -> None:
        """Delete the configurations, so that no write waits for a webhook that has ended; raises ``ApiError``."""
        for document in self._hooks.configurations(self._name, lambda _: {}):
            kind = GroupVersionKind(GROUP, "v1", document["kind"])
            try:
                await self._client.delete(kind, Key("", self._name))
            except NotFound:
                continue
