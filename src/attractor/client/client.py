"""``Client``: the Kubernetes API for Python, typed and dynamic.

    client = Client.connect()                # KUBECONFIG, the pod's service account, or ~/.kube/config
    pod = await client.get(Pod, Key("default", "web"))
    pods = await client.list(Pod, "default", label_selector="app=web")
    changed = pod.deep_copy()
    changed.metadata.labels["tier"] = "front"
    await client.patch(pod, changed)         # merge patch, locked on the version that was read

Guarantees: objects handed out are the caller's own; fields that a class does not know survive a round trip; a write is
never repeated once it may have happened; every failure is an ``ApiError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.client.writes import Writing

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from attractor.client.config import ClientConfig
    from attractor.objects.resource import Scheme


class Client(Writing):
    """Reads and writes objects over a ``Transport``; ``async with`` closes the transport in the end."""

    @classmethod
    def connect(
        cls, config: ClientConfig | None = None, *, scheme: Scheme | None = None, field_manager: str = ""
    ) -> Client:
        """A client for a server; without a configuration, for the one that this process is meant to use.

        Connections are made when they are needed. Raises ``ConfigError``.
        """
        from attractor.client.http import HttpTransport
        from attractor.client.kubeconfig import find_config

        return cls(HttpTransport(config or find_config()), scheme=scheme, field_manager=field_manager)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.aclose()
