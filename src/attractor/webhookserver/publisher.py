"""``Publisher``: tells an API server which webhooks there are, where, and whom to trust (``caBundle``)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.objects.errors import NotFound
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.webhooks.conversion import PATH as CONVERSION_PATH
from attractor.webhooks.registration import GROUP, conversion_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
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
        for versions in self._hooks.versions():
            conversion = conversion_of({**self._where(CONVERSION_PATH), "caBundle": trusted})
            await self._patch(versions.hub, {"spec": {"conversion": conversion}})

    async def _patch(self, kind: type[Resource], patch: JsonObject) -> None:
        name = f"{kind.resource_info.resource}.{kind.gvk.group}"
        await self._client.patch(CustomResourceDefinition, Key("", name), patch)

    async def withdraw(self) -> None:
        """Delete the configurations, so that no write waits for a webhook that has ended; raises ``ApiError``.

        What is stored in another version cannot be read until somebody converts it again: a definition stays as it is.
        """
        for document in self._hooks.configurations(self._name, lambda _: {}):
            kind = GroupVersionKind(GROUP, "v1", document["kind"])
            try:
                await self._client.delete(kind, Key("", self._name))
            except NotFound:
                continue
