"""Effects: everything a reconcile can ask of the world, one frozen value each.

``await effect`` yields exactly that effect to whoever drives the coroutine, and gets exactly one answer back: a value,
or an exception raised at the ``await``. Nothing else happens: an effect has no loop, no socket and no clock. So one
reconcile runs unchanged under asyncio (``driver``), under the checker, and by hand in a test (``steps``).

Reads:   Get, List                          Writes:   Create, Update, Patch, Delete
Time:    Now                                Memory:   Recall, Remember, Forget, Defer
Others:  Emit (an Event), Call (an outside system), Start (background work), Schedule (another reconcile)
Several: Gather (a set of the above, in any order)
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeAlias, TypeVar

import msgspec

from attractor.objects.gvk import GroupVersionKind, Key
from attractor.objects.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Hashable, Mapping
    from typing import Self

    from attractor.objects.json_types import JsonObject

A = TypeVar("A")
S = TypeVar("S")

Kind: TypeAlias = type[Resource] | GroupVersionKind
"""How an effect names a kind: by its class, or by its names where there is no class (objects are then dicts)."""

PatchType = Literal["merge", "json", "strategic"]
Propagation = Literal["Background", "Foreground", "Orphan"]
EventKind = Literal["Normal", "Warning"]


class Effect(msgspec.Struct, Generic[A], frozen=True):
    """A question to the world whose answer is an ``A``."""

    def __await__(self) -> Generator[Self, A, A]:
        return (yield self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Whoever looks for an attribute of the answer has forgotten to wait for it."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(f"{type(self).__name__} is a question that was not awaited; write `await` before it")


class Get(Effect[A], frozen=True):
    """One object. ``is_cached`` allows the cache to answer; ``is_optional`` makes a missing object None, no error."""

    kind: Kind
    key: Key
    is_cached: bool = True
    is_optional: bool = False


class List(Effect[A], frozen=True):
    """The objects of a kind that all given conditions select, in order of their keys."""

    kind: Kind
    namespace: str = ""
    """Empty for all namespaces."""
    labels: str = ""
    """A label selector, in Kubernetes' syntax."""
    index: tuple[str, str] | None = None
    """Name of a declared index, and the value that an object's index values must contain; the cache answers it."""
    is_cached: bool = True


class Create(Effect[A], frozen=True):
    """A new object; the answer is the object as stored."""

    object: Any


class Update(Effect[A], frozen=True):
    """An object as a whole; ``Conflict`` when it carries a resourceVersion that is not the stored one."""

    object: Any
    subresource: str = ""


class Patch(Effect[A], frozen=True):
    """Some fields of an object; the answer is the object as stored."""

    kind: Kind
    key: Key
    body: JsonObject | list[JsonObject]
    type: PatchType | Literal["apply"] = "merge"
    subresource: str = ""
    field_manager: str = ""
    """Whose fields these are; the controller's name where it is empty."""
    is_forced: bool = False
    """With ``apply``: take over fields that others own."""


class Delete(Effect[None], frozen=True):
    """An object's deletion; ``Conflict`` when a precondition does not hold, ``NotFound`` when it is gone."""

    kind: Kind
    key: Key
    uid: str = ""
    resource_version: str = ""
    propagation: Propagation | None = None
    grace_period_s: int | None = None


class CreateSubresource(Effect[A], frozen=True):
    """A POST to a subresource, such as a Pod's ``binding`` or ``eviction``; the answer is what the server says."""

    kind: Kind
    key: Key
    subresource: str
    body: Any


class Now(Effect[datetime], frozen=True):
    """The time, in UTC."""


class Recall(Effect[A], frozen=True):
    """A clone of what is remembered for a key, or None; operations deferred for it have run first, in order."""

    key: Key
    slot: str = ""


class Remember(Effect[None], frozen=True):
    """Keep a clone of a state for a key, in this process's memory only: a crash forgets it."""

    key: Key
    state: Any
    identity: Hashable = None
    """The outside entity that the state is about: a second key. None when there is none (yet)."""
    slot: str = ""


class Forget(Effect[None], frozen=True):
    """Drop what is remembered for a key, and the operations deferred for it."""

    key: Key
    slot: str = ""


class Defer(Effect[bool], frozen=True):
    """Queue an operation on a remembered state for the next ``Recall``; False when nothing is remembered."""

    key: Key
    operation: Callable[[Any], Any]
    slot: str = ""
    identity: Hashable = None
    """The outside entity that it is about, if it is for no other state; see ``Remember``."""


class Emit(Effect[None], frozen=True):
    """A Kubernetes Event about an object; it is written in the background and may be dropped under load."""

    object: Resource
    type: EventKind
    reason: str
    message: str


class Call(Effect[A], frozen=True):
    """One call of an outside system that the controller declared."""

    protocol: type
    method: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The keyword arguments."""
        return dict(self.kwargs)


class Start(Effect[None], frozen=True):
    """Background work, to begin when a slot is free; it talks to a context of its own."""

    work: Callable[..., Awaitable[None]]
    key: Key
    args: tuple[Any, ...] = ()


class Schedule(Effect[None], frozen=True):
    """Another reconcile of a key, soon; many calls in a short time make one reconcile."""

    key: Key


class Gather(Effect[tuple[Any, ...]], frozen=True):
    """A set of effects, performed in any order, or at once; the answer comes when all of them have theirs.

    The answer has, in the order of ``effects``, the value of each that succeeded and the exception of each that failed
    (not raised): a failure stops none of the others. What order they happened in cannot be seen.
    """

    effects: tuple[Effect[Any], ...]

    def __post_init__(self) -> None:
        if any(isinstance(inner, Gather) for inner in self.effects):
            raise ValueError("a Gather inside a Gather: give one `ctx.gather` all the effects")


def described(effect: Effect[Any]) -> str:
    """An effect in few words: ``create configmap default/a-1``."""
    match effect:
        case Get(kind, key, is_cached):
            return f"{'get' if is_cached else 'get from server'} {_kind(kind)} {key}"
        case List(kind):
            chosen = " ".join(each for each in (effect.namespace, effect.labels, *(effect.index or ())) if each)
            return f"list {_kind(kind)} {chosen}".rstrip()
        case Create(obj) | Update(obj):
            verb = "create" if isinstance(effect, Create) else "update"
            part = f" {effect.subresource}" if isinstance(effect, Update) and effect.subresource else ""
            return f"{verb} {_object(obj)}{part}"
        case Patch(kind, key):
            return f"{'apply' if effect.type == 'apply' else 'patch'} {_kind(kind)} {key} {effect.subresource}".rstrip()
        case Delete(kind, key):
            return f"delete {_kind(kind)} {key}"
        case CreateSubresource(kind, key, subresource):
            return f"create {subresource} of {_kind(kind)} {key}"
        case Call(protocol, method, args):
            return f"{protocol.__name__}.{method}({', '.join(map(repr, args))})"
        case Start(work=work):
            return f"start {getattr(work, '__name__', 'work')} in the background"
    return type(effect).__name__.lower()


def _kind(kind: Any) -> str:
    gvk = getattr(kind, "gvk", kind)
    return str(gvk.kind).lower()


def _object(obj: Any) -> str:
    if isinstance(obj, Resource):
        begins = obj.metadata.generate_name if not obj.key.name else ""
        return f"{_kind(type(obj))} {obj.key}{begins and f'{begins}…'}"
    metadata = obj.get("metadata") or {}
    return f"{str(obj.get('kind', 'object')).lower()} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
