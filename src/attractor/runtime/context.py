"""``Context``: all that a reconcile may touch.

    async def reconcile(ctx: Context, key: Key) -> Result | None:
        pair = await ctx.find(ConfigPair, key)
        if pair is None:
            return None
        ...

Each method makes one effect; ``await`` asks for it. The context itself holds no state and does nothing, so that the
same one serves production, the checker and a test that steps a reconcile by hand.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from attractor.objects.gvk import GroupVersionKind
from attractor.objects.resource import Resource
from attractor.objects.resource.difference import differing
from attractor.patch.merge_patch import merge_patch_between
from attractor.runtime import effects
from attractor.runtime.field_logger import FieldLogger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from attractor.objects.gvk import Key
    from attractor.objects.json_types import JsonObject
    from attractor.runtime.effects import EventKind, PatchType, Propagation

R = TypeVar("R", bound=Resource)
S = TypeVar("S")
P = TypeVar("P")


_KINDS = (type, GroupVersionKind)


class Context:
    """A reconcile's way to the world. Reads come from the cache unless ``cached=False``.

    Objects that are handed out are the caller's own. A cached read never shows an object older than this process's
    last write of it.
    """

    __slots__ = ("controller", "key")

    def __init__(self, controller: str, key: Key) -> None:
        self.controller = controller
        self.key = key

    @property
    def log(self) -> FieldLogger:
        """Structured log: a constant message and fields. It tells people, never the reconcile, so it is no effect."""
        fields = {"controller": self.controller, "key": str(self.key)}
        return FieldLogger(f"attractor.controller.{self.controller}", fields)

    def __repr__(self) -> str:
        return f"Context({self.controller!r}, {str(self.key)!r})"

    @overload
    def get(self, kind: type[R], key: Key, *, cached: bool = True) -> effects.Get[R]: ...
    @overload
    def get(self, kind: GroupVersionKind, key: Key, *, cached: bool = True) -> effects.Get[JsonObject]: ...
    def get(self, kind: Any, key: Key, *, cached: bool = True) -> Any:
        """The object; raises ``NotFound``."""
        _require_sense("get", kind, key)
        return effects.Get(kind, key, cached)

    @overload
    def find(self, kind: type[R], key: Key, *, cached: bool = True) -> effects.Get[R | None]: ...
    @overload
    def find(self, kind: GroupVersionKind, key: Key, *, cached: bool = True) -> effects.Get[JsonObject | None]: ...
    def find(self, kind: Any, key: Key, *, cached: bool = True) -> Any:
        """The object, or None when there is none."""
        if not isinstance(kind, _KINDS) or not isinstance(key, tuple):
            _require_sense("find", kind, key)
        return effects.Get(kind, key, cached, is_optional=True)

    @overload
    def list(
        self,
        kind: type[R],
        *,
        namespace: str = "",
        labels: str = "",
        index: tuple[str, str] | None = None,
        cached: bool = True,
    ) -> effects.List[list[R]]: ...
    @overload
    def list(
        self,
        kind: GroupVersionKind,
        *,
        namespace: str = "",
        labels: str = "",
        index: tuple[str, str] | None = None,
        cached: bool = True,
    ) -> effects.List[list[JsonObject]]: ...
    def list(
        self,
        kind: Any,
        *,
        namespace: str = "",
        labels: str = "",
        index: tuple[str, str] | None = None,
        cached: bool = True,
    ) -> Any:
        """The selected objects, in order of namespace and name."""
        _require_sense("list", kind)
        return effects.List(kind, namespace, labels, index, cached)

    def create(self, obj: R) -> effects.Create[R]:
        """Store a new object; raises ``AlreadyExists``."""
        return effects.Create(obj)

    def update(self, obj: R) -> effects.Update[R]:
        """Replace an object, its status excepted; raises ``Conflict`` when it changed since it was read."""
        return effects.Update(obj)

    def update_status(self, obj: R) -> effects.Update[R]:
        """Replace an object's status and nothing else; raises ``Conflict`` when it changed since it was read."""
        return effects.Update(obj, "status")

    def patch(
        self,
        kind: type[R],
        key: Key,
        body: JsonObject | list[JsonObject],  # type: ignore[valid-type]  # the method hides the type here
        *,
        type: PatchType = "merge",  # noqa: A002
        subresource: str = "",
    ) -> effects.Patch[R]:
        """Change some fields, whatever the object's version; for a guarded change see ``merge``."""
        return effects.Patch(kind, key, body, type, subresource)

    def merge(self, original: R, changed: R, *, subresource: str = "") -> effects.Patch[R]:
        """Write what differs between two copies of an object; raises ``Conflict`` if it changed since ``original``."""
        if original is changed:
            raise ValueError("ctx.merge needs what was read and a changed copy of it; change a deep_copy()")
        before, after = (_part(value, subresource) for value in differing(original, changed))
        body = cast("JsonObject", merge_patch_between(before, after))
        metadata = {**(body.get("metadata") or {}), "resourceVersion": original.metadata.resource_version}
        return effects.Patch(type(original), original.key, {**body, "metadata": metadata}, "merge", subresource)

    def apply(self, obj: R, *, force: bool = True, field_manager: str = "") -> effects.Patch[R]:
        """Server-side apply: create the object, or own and set the fields that it has."""
        return effects.Patch(type(obj), obj.key, obj.to_dict(), "apply", field_manager=field_manager, is_forced=force)

    def delete(self, obj: Resource, *, propagation: Propagation | None = None) -> effects.Delete:
        """Delete this very object: a successor of the same name is never touched (``Conflict``)."""
        return effects.Delete(type(obj), obj.key, uid=obj.metadata.uid, propagation=propagation)

    def delete_key(self, kind: effects.Kind, key: Key, *, propagation: Propagation | None = None) -> effects.Delete:
        """Delete whatever has this name."""
        return effects.Delete(kind, key, propagation=propagation)

    def now(self) -> effects.Now:
        """The time, in UTC."""
        return effects.Now()

    def recall(self, as_: type[S], *, key: Key | None = None, slot: str = "") -> effects.Recall[S | None]:
        """A clone of what was remembered for an object (this one unless said), after deferred operations ran."""
        return effects.Recall(key or self.key, slot or as_.__qualname__)

    def remember(self, state: Any, *, identity: Hashable = None, slot: str = "") -> effects.Remember:
        """Keep a state for this object until it is forgotten or the process ends."""
        return effects.Remember(self.key, state, identity, slot or type(state).__qualname__)

    def forget(self, as_: type, *, slot: str = "") -> effects.Forget:
        """Drop the state of this object, and what others deferred for it."""
        return effects.Forget(self.key, slot or as_.__qualname__)

    def defer(
        self, as_: type[S], operation: Callable[[S], S | None], *, identity: Hashable = None, slot: str = ""
    ) -> effects.Defer:
        """From background work: change this object's state when it is next recalled. False when it has none.

        Work may outlive its object and meet the state of a successor of the same name: give the ``identity`` that the
        state was remembered with, and no other gets the change.
        """
        return effects.Defer(self.key, operation, slot or as_.__qualname__, identity)

    def emit(self, obj: Resource, reason: str, message: str, *, type: EventKind = "Normal") -> effects.Emit:  # noqa: A002
        """Tell people about an object with a Kubernetes Event; never fails."""
        if not isinstance(obj, Resource):
            raise TypeError(f"ctx.emit tells of an object that was read, not of {obj!r}")
        if not isinstance(reason, str) or type not in {"Normal", "Warning"}:
            raise TypeError(f"ctx.emit takes a reason and a type, Normal or Warning, not {reason!r} and {type!r}")
        return effects.Emit(obj, type, reason, str(message))

    def external(self, protocol: Callable[..., P]) -> P:
        """An outside system that the controller declared; each of its methods is one effect."""
        return cast("P", _Proxy(cast("type", protocol)))

    def start(self, work: Callable[..., Awaitable[None]], *args: Any) -> effects.Start:
        """Begin ``work(ctx, *args)`` in the background, with a context of the same object."""
        if not callable(work):
            raise TypeError(f"ctx.start takes a function and its arguments, not {work!r}; write ctx.start(work, a, b)")
        return effects.Start(work, self.key, args)

    def gather(self, *asked: effects.Effect[Any]) -> effects.Gather:
        """Ask several things at once; each one's answer or exception, in the order of asking.

        Nothing is said about the order in which they happen: use it for what does not depend on each other.
        """
        return effects.Gather(asked)

    def schedule(self, key: Key | None = None) -> effects.Schedule:
        """Ask for a reconcile (of this object unless said), debounced."""
        return effects.Schedule(key or self.key)


def _require_sense(method: str, kind: Any, key: Any = ()) -> None:
    """Raise ``TypeError`` in the caller's own line for what no type checker has seen, rather than later elsewhere."""
    if not isinstance(kind, _KINDS):
        raise TypeError(f"ctx.{method} takes a kind, such as ConfigMap or a GroupVersionKind, not {kind!r}")
    if not isinstance(key, tuple):
        raise TypeError(f"ctx.{method} takes a Key, not {key!r}; write Key(namespace, name)")


def _part(value: JsonObject, subresource: str) -> JsonObject:
    """What of an object a write of this subresource can change."""
    if subresource:
        return {subresource: value.get(subresource) or {}}
    return {name: part for name, part in value.items() if name != "status"}


class _Proxy:
    """Looks like a protocol, and turns each call of one of its methods into an effect."""

    __slots__ = ("_protocol",)

    def __init__(self, protocol: type) -> None:
        self._protocol = protocol

    def __getattr__(self, name: str) -> Callable[..., effects.Call[Any]]:
        if name.startswith("_") or not callable(getattr(self._protocol, name, None)):
            raise AttributeError(f"{self._protocol.__name__} declares no method {name!r}")
        return partial(_call, self._protocol, name)


def _call(protocol: type, method: str, /, *args: Any, **kwargs: Any) -> effects.Call[Any]:
    return effects.Call(protocol, method, args, tuple(kwargs.items()))
