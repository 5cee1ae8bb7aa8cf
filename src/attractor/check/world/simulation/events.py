"""What happens inside a step, for those who tell it afterwards. Nobody listens while the world is explored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from attractor.check.world.simulation.informer import Told
    from attractor.check.world.simulation.suspended import Answer
    from attractor.client.transport import ClientRequest, ClientResponse
    from attractor.objects.gvk import Key
    from attractor.runtime.effects import Effect
    from attractor.runtime.worker.outcome import Next


@dataclass(frozen=True)
class Requested:
    """A request reached the server (``response`` is None when it did not), and its answer the sender, unless lost."""

    sender: str
    request: ClientRequest
    response: ClientResponse | None
    trouble: str | None = None


@dataclass(frozen=True)
class Delivered:
    """An event reached a cache."""

    watch: str
    """Host and kind, as in ``host1/ConfigMap``."""
    told: Told


@dataclass(frozen=True)
class Enqueued:
    """A controller is asked to reconcile a key."""

    worker: str
    key: Key


@dataclass(frozen=True)
class Started:
    """A worker took a key."""

    worker: str
    key: Key


@dataclass(frozen=True)
class Performed:
    """A reconcile asked for something and was answered."""

    worker: str
    key: Key
    effect: Effect[Any]
    answer: Answer


@dataclass(frozen=True)
class Ended:
    """A reconcile returned or raised."""

    worker: str
    key: Key
    error: Exception | None
    follows: Next


@dataclass(frozen=True)
class Operated:
    """A controller inside the server did something."""

    actor: str
    verb: str
    target: str
    code: int


@dataclass(frozen=True)
class Closed:
    """A watch (host and kind) ended and must list again."""

    watch: str


@dataclass(frozen=True)
class Recorded:
    """An Event about an object was recorded."""

    worker: str
    reason: str
    message: str


@dataclass(frozen=True)
class Called:
    """An outside system was called, or did something by itself."""

    external: str
    method: str
    args: tuple[Any, ...]
    result: Any
    trouble: str | None = None


@dataclass(frozen=True)
class Named:
    """The server generated a name with this ending."""

    ending: str


Note: TypeAlias = (
    Named | Called | Requested | Delivered | Enqueued | Started | Performed | Ended | Operated | Closed | Recorded
)
