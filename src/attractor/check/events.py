"""Events inside one step of a world: requests, deliveries, effects. Emitted only while somebody listens to a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from attractor.check.world.simulation.process.informer import Told
    from attractor.check.world.simulation.process.suspended import Answer
    from attractor.client.transport import ClientRequest, ClientResponse
    from attractor.objects.gvk import Key
    from attractor.runtime.effects import Effect
    from attractor.runtime.worker.outcome import Next

Trouble = Literal[
    "request lost", "answer lost", "captured", "repeated", "cut off", "refused", "cancelled", "cancelled after"
]
CallTrouble = Literal["call failed", "call unanswered", "call delayed"]


@dataclass(frozen=True)
class Requested:
    """A request reached the server (``response`` is None when it did not), and its answer the sender, unless lost."""

    sender: str
    """A host, ``rival``, a user, or ``network`` for a request that arrives late."""
    request: ClientRequest
    response: ClientResponse | None
    trouble: Trouble | None = None


@dataclass(frozen=True)
class Delivered:
    """A watch event reached the cache of a host."""

    host: str
    kind: str
    told: Told


@dataclass(frozen=True)
class Started:
    """A worker took a key."""

    host: str
    controller: str
    key: Key


@dataclass(frozen=True)
class Performed:
    """A reconcile asked for something and was answered."""

    host: str
    controller: str
    key: Key
    effect: Effect[Any]
    answer: Answer


@dataclass(frozen=True)
class Ended:
    """A reconcile returned or raised."""

    host: str
    controller: str
    key: Key
    error: Exception | None
    follows: Next


@dataclass(frozen=True)
class Operated:
    """A controller inside the server (garbage collector, namespaces) changed an object."""

    actor: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int


@dataclass(frozen=True)
class Closed:
    """The watch of a kind by a host ended; the host must list again."""

    host: str
    kind: str


@dataclass(frozen=True)
class Recorded:
    """An Event about an object was recorded."""

    reason: str
    message: str


@dataclass(frozen=True)
class Called:
    """An outside system was called, or did something by itself."""

    external: str
    method: str
    args: tuple[Any, ...]
    result: Any
    trouble: CallTrouble | None = None


@dataclass(frozen=True)
class Named:
    """The server generated a name with this ending."""

    ending: str


StepEvent: TypeAlias = (
    Named | Called | Requested | Delivered | Started | Performed | Ended | Operated | Closed | Recorded
)
