"""Outside systems while a counterexample is replayed: the world's models, alive, in the place of the real ones."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from attractor.testing.directed import Departed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.world.world import World


class PlayedExternal:
    """What a manager calls instead of the outside system; ``trouble`` strikes the next call."""

    def __init__(self, protocol: Any, model: object, failure: Callable[[], Exception]) -> None:
        self.name: str = getattr(protocol, "__name__", str(protocol))
        self.model = copy.deepcopy(model)
        self._failure = failure
        self.trouble = ""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            trouble, self.trouble = self.trouble, ""
            if trouble == "call failed":
                raise self._failure()
            try:
                result = getattr(self.model, name)(*args, **kwargs)
                result = await result if inspect.isawaitable(result) else result
            except Exception:
                if trouble:
                    raise self._failure() from None
                raise
            if trouble:
                raise self._failure()
            return result

        return call

    def happen(self, name: str) -> Iterable[Any]:
        """The system does something by itself; answers the keys that sources hear of. Raises ``Departed``."""
        method = getattr(self.model, name, None)
        if method is None:
            raise Departed(f"{self.name} does no {name!r}")
        return method() or ()


def played(world: World) -> dict[Any, PlayedExternal]:
    """A world's outside systems, as it begins."""
    return {
        protocol: PlayedExternal(protocol, model, world.external_failure) for protocol, model in world.externals.items()
    }
