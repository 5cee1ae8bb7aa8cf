"""Outside systems while a counterexample is replayed: the world's models, alive, in the place of the real ones."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from attractor.check.world.simulation.externals import seen_by
from attractor.testing.directed import Departed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from attractor.check.world.api.world import World


class PlayedExternal:
    """Stand-in for an outside system that managers call; ``trouble`` strikes the next call."""

    def __init__(self, protocol: Any, model: Any, failure: Callable[[], Exception]) -> None:
        self.name: str = getattr(protocol, "__name__", str(protocol))
        self.model = copy.deepcopy(model)
        self._failure = failure
        self.trouble = ""
        self.on_late: Callable[[Callable[[], Awaitable[Any]]], None] = lambda _: None
        """Who keeps a call that takes effect some time."""

    def seen_by(self, host: str) -> PlayedPart:
        """Return the stand-in that the manager on a host calls."""
        return PlayedPart(self, host)

    def host_dies(self, host: str) -> None:
        """A host dies, and with it what it held of the system."""
        if hasattr(self.model, "host_dies"):
            self.model.host_dies(host)

    def runs(self, host: str) -> bool:
        """Return whether a host is up, as far as the outside decides."""
        return bool(self.model.runs(host)) if hasattr(self.model, "runs") else True

    async def call(self, host: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call of a host, or what its trouble makes of it."""
        trouble, self.trouble = self.trouble, ""
        if trouble == "call delayed":
            self.on_late(lambda: self.call(host, name, args, kwargs))
        if trouble in {"call failed", "call delayed"}:
            raise self._failure()
        try:
            result = getattr(seen_by(self.model, host), name)(*args, **kwargs)
            result = await result if inspect.isawaitable(result) else result
        except Exception:
            if trouble:
                raise self._failure() from None
            raise
        if trouble:
            raise self._failure()
        return result

    def happen(self, name: str) -> Iterable[Any]:
        """The system does something by itself; answers the keys that sources hear of. Raises ``Departed``."""
        method = getattr(self.model, name, None)
        if method is None:
            raise Departed(f"{self.name} does no {name!r}")
        return method() or ()


class PlayedPart:
    """An outside system, as the manager on one host calls it."""

    def __init__(self, external: PlayedExternal, host: str) -> None:
        self._external, self._host = external, host

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._external.call(self._host, name, args, kwargs)

        return call


def played(world: World) -> dict[Any, PlayedExternal]:
    """A world's outside systems, as it begins."""
    return {
        protocol: PlayedExternal(protocol, model, world.external_failure) for protocol, model in world.externals.items()
    }
