"""The controller of Services: a listener for each, which leads to the Service's Endpoints.

Expected flow: the finalizer is stored; the listener is opened; its address is published. From then on each change of
the Endpoints is handed to the listener, and the status says how many there are. A deleted Service is released when its
listener is closed.

Guarantees: a published address never changes while the Service lives, whatever crashes: a new process listens where the
old one did, or says why it cannot. A Service is Ready while it can be reached and somebody is behind it. One whose port
is in use says so, and tries again, less and less often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.devplane.api.services import Endpoint, Service
from attractor.operators.devplane.drivers.proxies import CannotListen, Place, Proxies
from attractor.runtime import Index, Reconciler, Result, Watches, controller
from attractor.runtime.toolkit.conditions import find_condition, set_condition
from attractor.workqueue.limits import Backoff

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attractor.runtime import Context

READY = "Ready"
NOBODY = "nobody serves it yet"
FIRST_RETRY_S, MAX_RETRY_S = 0.2, 10.0
"""How soon, and how rarely at most, a port that is in use is tried again."""


class Services(Reconciler[Service]):
    """Keeps the listener of each Service, and tells where it is."""

    kind = Service

    async def sync(self, ctx: Context, obj: Service) -> Result | None:
        """Open what is not open, hand over the backends, and say so."""
        found = await ctx.list(Endpoint, namespace=obj.metadata.namespace, index=(BY_SERVICE, obj.metadata.name))
        backends = backends_of(found)
        if obj.spec.mode == "Proxyless":
            await self._tell(ctx, obj, without_proxy(obj, backends), backends)
            return None
        at = Place(obj.spec.address, obj.status.effective_port or obj.spec.port)
        try:
            place = await ctx.external(Proxies).serve(obj.metadata.uid, at, backends)
        except CannotListen as problem:
            await self._tell(ctx, obj, None, backends, "CannotListen", str(problem))
            return Result(requeue=True)
        await self._tell(ctx, obj, reached_at(place), backends)
        return None

    async def clean_up(self, ctx: Context, obj: Service) -> Result | None:
        """Close the listener."""
        if obj.spec.mode == "Proxy":
            await ctx.external(Proxies).close(obj.metadata.uid)
        return None

    async def _tell(
        self,
        ctx: Context,
        obj: Service,
        place: Place | None,
        backends: Sequence[Place],
        reason: str = "",
        message: str = "",
    ) -> None:
        """Say in the status where it is and how many are behind it; without a place, that it is not to be reached."""
        status, is_ready = obj.status, place is not None and bool(backends)
        if place is not None or obj.spec.mode == "Proxyless":
            status.effective_address, status.effective_port = place or ("", 0)
        status.phase = "Ready" if is_ready else "NotReady"
        status.endpoints = len(backends)
        status.observed_generation = obj.metadata.generation
        status.message = message if message or is_ready else NOBODY
        reason = reason or ("Serving" if is_ready else "NoEndpoints")
        known = find_condition(status.conditions, READY)
        said = (str(is_ready), reason, status.message, obj.metadata.generation)
        if known is None or (known.status, known.reason, known.message, known.observed_generation) != said:
            set_condition(
                status.conditions,
                READY,
                is_ready,
                reason=reason,
                message=status.message,
                now=await ctx.now(),
                generation=obj.metadata.generation,
            )


def backends_of(endpoints: Iterable[Endpoint]) -> tuple[Place, ...]:
    """Return the addresses of the living endpoints, each once, in an order that does not depend on age."""
    living = (one.spec for one in endpoints if not one.metadata.is_deleting)
    return tuple(sorted({Place(spec.address, spec.port) for spec in living}))


def without_proxy(obj: Service, backends: Sequence[Place]) -> Place | None:
    """The endpoint that a Service without a proxy names: the one it has named so far while that is there."""
    named = Place(obj.status.effective_address, obj.status.effective_port)
    return named if named in backends else next(iter(backends), None)


def reached_at(listening: Place) -> Place:
    """Return a listener's address for this machine's own programs: loopback, where it listens on all addresses."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
    return listening._replace(address=everywhere.get(listening.address, listening.address))


BY_SERVICE = "service"
"""The index of Endpoints by the Service that they are behind."""


def services_of(endpoint: Endpoint) -> list[Key]:
    """The Service of an Endpoint."""
    return [Key(endpoint.metadata.namespace, endpoint.spec.service)]


def _backoff() -> Backoff:
    return Backoff(FIRST_RETRY_S, MAX_RETRY_S)


services = controller(
    Services(),
    name="devplane-services",
    watches=[Watches(Endpoint, services_of)],
    indexes=[Index(Endpoint, BY_SERVICE, lambda endpoint: [endpoint.spec.service])],
    externals=[Proxies],
    workers=4,
    limiter=_backoff,
)
