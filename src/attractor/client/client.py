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

from attractor.client.verbs.writes import Writing

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from attractor.client.configuration.config import ClientConfig
    from attractor.objects.resource import Scheme


class Client(Writing):
    """The Kubernetes API: typed and dynamic, over HTTP or in process.

        async with Client.connect() as client:
            pods = await client.list(Pod, "default", label_selector="app=web")

    A kind is a class (``Pod``), a ``GroupVersionKind`` for plain ``dict`` objects, or ``MetadataOnly(Pod)``. Reads go
    to the server; a cache is the ``Manager``'s. ``async with`` closes the connections.

    Guarantees: objects that are returned belong to the caller; fields that a class does not know survive a round trip;
    a write is never repeated once it may have happened; every failure is an ``ApiError``.

    Args:
        transport: What carries requests; ``connect`` and ``EmbeddedCluster.client`` make one.
        scheme: The classes that objects of mixed kinds are read as.
        retry: How often and how long a request is repeated where that is safe.
        field_manager: Who the server records as the owner of the fields that are written.
        observer: Is told of every write; used by the cache.
    """

    @classmethod
    def connect(
        cls, config: ClientConfig | None = None, *, scheme: Scheme | None = None, field_manager: str = ""
    ) -> Client:
        """A client of a server over HTTP; connections are opened when they are needed.

        Args:
            config: Where the server is and who the caller is, as from ``load_kubeconfig``; by default what
                ``KUBECONFIG`` names, the service account of the pod, or ``~/.kube/config``.
            scheme: The classes that objects of mixed kinds are read as.
            field_manager: Who the server records as the owner of the fields that are written.

        Raises:
            ConfigError: There is no configuration, or it cannot be used.
        """
        from attractor.client.configuration.kubeconfig import find_config
        from attractor.client.http import HttpTransport

        return cls(HttpTransport(config or find_config()), scheme=scheme, field_manager=field_manager)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.aclose()
