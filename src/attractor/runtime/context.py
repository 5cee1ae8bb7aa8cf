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
from attractor.patch.difference import difference, guarded
from attractor.runtime import effects
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence

    from attractor.objects.gvk import Key
    from attractor.objects.json_types import JsonObject
    from attractor.runtime.effects import EventKind, PatchType, Propagation

R = TypeVar("R", bound=Resource)
S = TypeVar("S")
P = TypeVar("P")


_KINDS = (type, GroupVersionKind)


class Context:
    """The way of a reconcile to everything outside it: reads, writes, time, memory, outside systems.

    Every method except ``log`` and ``external`` describes one effect; ``await`` carries it out and returns its result,
    so ``pod = await ctx.get(Pod, key)`` has the type ``Pod``. In production an effect is real I/O; under the checker it
    is one step of the world. Awaiting anything else inside a checked reconcile is an error that names the line.

    Reads come from the cache, for kinds that the controller declares (``for_``, ``owns``, ``watches``, ``indexes``);
    other kinds, and reads with ``cached=False``, go to the API server.

    Guarantees: objects that are returned belong to the caller and may be changed in place; a cached read never shows an
    object older than the last write of it by this process; a method that is given nonsense raises ``TypeError`` at
    once, in the caller's line.

    Args:
        controller: The name of the controller, for logs and events.
        key: The object that is being reconciled.
    """

    __slots__ = ("controller", "key")

    def __init__(self, controller: str, key: Key) -> None:
        self.controller = controller
        self.key = key

    @property
    def log(self) -> FieldLogger:
        """A structured logger with the fields ``controller`` and ``key``: ``ctx.log.info("scaled", replicas=3)``.

        Logging informs people only, so it is no effect: it needs no ``await`` and costs the checker no step.
        """
        fields = {"controller": self.controller, "key": str(self.key)}
        return FieldLogger(f"attractor.controller.{self.controller}", fields)

    def __repr__(self) -> str:
        return f"Context({self.controller!r}, {str(self.key)!r})"

    @overload
    def get(self, kind: type[R], key: Key, *, cached: bool = True) -> effects.Get[R]: ...
    @overload
    def get(self, kind: GroupVersionKind, key: Key, *, cached: bool = True) -> effects.Get[JsonObject]: ...
    def get(self, kind: Any, key: Key, *, cached: bool = True) -> Any:
        """Read one object.

        Args:
            kind: A class such as ``ConfigMap``, or a ``GroupVersionKind`` for a plain ``dict``.
            key: Namespace and name.
            cached: Read from this process's cache (the default), or with ``False`` from the API server.

        Raises:
            NotFound: There is no such object. Use ``find`` where that is not an error.
        """
        _require_sense("get", kind, key)
        return effects.Get(kind, key, cached)

    @overload
    def find(self, kind: type[R], key: Key, *, cached: bool = True) -> effects.Get[R | None]: ...
    @overload
    def find(self, kind: GroupVersionKind, key: Key, *, cached: bool = True) -> effects.Get[JsonObject | None]: ...
    def find(self, kind: Any, key: Key, *, cached: bool = True) -> Any:
        """Read one object that may not exist; returns ``None`` when it does not.

        The arguments are those of ``get``.
        """
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
        """Read all objects of a kind that match, in the order of namespace and name.

        Args:
            kind: A class such as ``ConfigMap``, or a ``GroupVersionKind`` for plain ``dict`` objects.
            namespace: Only this namespace; empty for all.
            labels: A label selector, such as ``"app=web,tier!=test"``.
            index: Name and value of an ``Index`` that the controller declared; cached reads only.
            cached: Read from this process's cache (the default), or with ``False`` from the API server.
        """
        _require_sense("list", kind)
        return effects.List(kind, namespace, labels, index, cached)

    def create(self, obj: R) -> effects.Create[R]:
        """Create an object; returns it as it was stored, with uid and resourceVersion.

        Raises:
            AlreadyExists: An object of this name exists. With a stale cache that is no bug: it may be one's own.
            Invalid: The API server refuses the object; the same request fails again.
        """
        return effects.Create(obj)

    def update(self, obj: R) -> effects.Update[R]:
        """Replace an object, except for its status; returns it as it was stored.

        Raises:
            Conflict: The object changed since it was read. Return, or raise on: the reconcile runs again.
            NotFound: The object is gone.
            Invalid: The API server refuses the object.
        """
        return effects.Update(obj)

    def update_status(self, obj: R) -> effects.Update[R]:
        """Replace the status of an object and nothing else; returns the object as it was stored.

        Raises:
            Conflict: The object changed since it was read.
            NotFound: The object is gone, or its kind has no status subresource.
        """
        return effects.Update(obj, "status")

    @overload
    def patch(
        self, kind: type[R], key: Key, body: JsonObject | Sequence[JsonObject], *, type: PatchType = "merge",
        subresource: str = "",
    ) -> effects.Patch[R]: ...  # fmt: skip
    @overload
    def patch(
        self, kind: GroupVersionKind, key: Key, body: JsonObject | Sequence[JsonObject], *, type: PatchType = "merge",
        subresource: str = "",
    ) -> effects.Patch[JsonObject]: ...  # fmt: skip
    def patch(
        self, kind: Any, key: Any, body: Any = None, *, type: PatchType = "merge", subresource: str = ""  # noqa: A002
    ) -> Any:  # fmt: skip
        """Send a patch as it is given, whatever the object's version; for a guarded change see ``patch_from``.

        Args:
            kind: A class, or a ``GroupVersionKind`` for a plain ``dict``.
            key: Namespace and name.
            body: An object for ``merge`` and ``strategic``, a list of operations for ``json``.
            type: ``merge`` (RFC 7396), ``json`` (RFC 6902), or ``strategic`` for built-in kinds.
            subresource: Such as ``status``.

        Raises:
            NotFound: There is no such object.
            Invalid: The patch cannot be carried out, or the server refuses its result.
        """
        if body is None or not isinstance(kind, _KINDS):
            raise TypeError(
                "ctx.patch takes a kind, a key and a body; what differs between an object that was read and a changed "
                "copy of it is written by ctx.patch_from(original, changed)"
            )
        return effects.Patch(kind, key, body, type, subresource)

    def patch_from(self, original: R, changed: R, *, subresource: str = "") -> effects.Patch[R]:
        """Write what differs between an object as it was read and a changed copy of it, as a merge patch.

        Args:
            original: The object as it was read.
            changed: A changed ``deep_copy()`` of it.
            subresource: ``status`` to write the status and nothing else; empty to write everything but that.

        Raises:
            Conflict: Somebody changed the object since it was read.
            NotFound: The object is gone.
        """
        body = guarded(difference(original, changed, subresource), original)
        return effects.Patch(type(original), original.key, body, "merge", subresource)

    def apply(self, obj: R, *, force: bool = True, field_manager: str = "") -> effects.Patch[R]:
        """Server-side apply: create the object, or set the fields that it has and become their owner.

        Fields that an earlier apply of the same manager had and that are missing now are removed. No version is
        compared.

        Args:
            obj: The object, with exactly the fields that this controller decides on.
            force: Take fields over from other managers (the default); otherwise they are a ``Conflict``.
            field_manager: The owner's name; empty for the controller's.

        Raises:
            Conflict: Another manager owns one of the fields, and ``force`` is false.
        """
        return effects.Patch(type(obj), obj.key, obj.to_dict(), "apply", field_manager=field_manager, is_forced=force)

    def delete(
        self, obj: Resource, *, propagation: Propagation | None = None, grace_period_s: int | None = None
    ) -> effects.Delete:
        """Delete exactly this object, by its uid.

        Returns when the server has accepted it; finalizers may hold the object for longer.

        Args:
            obj: The object as it was read.
            propagation: What happens to its dependents: ``Background``, ``Foreground`` or ``Orphan``.
            grace_period_s: How long a Pod may take to end; 0 removes one that has ended. By default the Pod's own.

        Raises:
            NotFound: There is no object of this name.
            Conflict: There is one, but it is a successor that was created since; it is left alone.
        """
        uid = obj.metadata.uid
        return effects.Delete(type(obj), obj.key, uid=uid, propagation=propagation, grace_period_s=grace_period_s)

    def delete_key(self, kind: effects.Kind, key: Key, *, propagation: Propagation | None = None) -> effects.Delete:
        """Delete whatever object has this name, also one that was created since it was last read; prefer ``delete``.

        Raises:
            NotFound: There is no object of this name.
        """
        return effects.Delete(kind, key, propagation=propagation)

    def create_subresource(
        self, obj: Resource, subresource: str, body: Resource | JsonObject
    ) -> effects.CreateSubresource[JsonObject]:
        """POST to a subresource of an object, such as ``binding`` or ``eviction`` of a Pod; returns the answer as JSON.

        A cached read of the object shows afterwards what the server made of it.

        Args:
            obj: The object as it was read.
            subresource: The name of the subresource.
            body: What it takes: an ``Eviction``, a ``Binding``, a ``TokenRequest``.

        Raises:
            NotFound: The object is gone, or has no such subresource.
            Conflict: The server refuses it in the state that the object is in.
        """
        return effects.CreateSubresource(type(obj), obj.key, subresource, body)

    def now(self) -> effects.Now:
        """The current time, in UTC. Under the checker it is the world's clock."""
        return effects.Now()

    def recall(self, as_: type[S], *, key: Key | None = None, slot: str = "") -> effects.Recall[S | None]:
        """Read what was remembered for an object, as a copy; ``None`` when there is nothing.

        Operations that others deferred run first, in order. This memory is volatile: a crash or restart empties it.

        Args:
            as_: The class of the state.
            key: Another object; by default the one that is being reconciled.
            slot: A name that keeps several states of one class apart.
        """
        return effects.Recall(key or self.key, slot or as_.__qualname__)

    def remember(self, state: Any, *, identity: Hashable = None, slot: str = "") -> effects.Remember:
        """Keep a state in this process's memory for the object that is being reconciled.

        It stays until it is forgotten or the process ends, so use it only for what may be lost.

        Args:
            state: Any value; one for each class and ``slot``.
            identity: What this object manages outside, such as a process id; handlers of outside events find the state
                by it.
            slot: A name that keeps several states of one class apart.

        Raises:
            IdentityTaken: Another object has this identity already.
        """
        return effects.Remember(self.key, state, identity, slot or type(state).__qualname__)

    def forget(self, as_: type, *, slot: str = "") -> effects.Forget:
        """Drop the remembered state of the object that is being reconciled, with the operations deferred for it."""
        return effects.Forget(self.key, slot or as_.__qualname__)

    def defer(
        self, as_: type[S], operation: Callable[[S], S | None], *, identity: Hashable = None, slot: str = ""
    ) -> effects.Defer:
        """Change an object's remembered state the next time it is recalled; for background work.

        Returns ``False`` when there is no such state. Work may outlive its object and meet the state of a successor of
        the same name: pass the ``identity`` that the state was remembered with, and no other state is changed.

        Args:
            as_: The class of the state.
            operation: Gets the state, and changes it in place or returns a new one.
            identity: Only a state that was remembered with this identity.
            slot: As in ``remember``.
        """
        return effects.Defer(self.key, operation, slot or as_.__qualname__, identity)

    def emit(self, obj: Resource, reason: str, message: str, *, type: EventKind = "Normal") -> effects.Emit:  # noqa: A002
        """Record a Kubernetes Event about an object, for people; it never fails and never waits.

        Args:
            obj: The object that the Event is about.
            reason: A short CamelCase word, such as ``Scaled``.
            message: A sentence for people.
            type: ``Normal`` or ``Warning``.
        """
        if not isinstance(obj, Resource):
            raise TypeError(f"ctx.emit tells of an object that was read, not of {obj!r}")
        if not isinstance(reason, str) or type not in {"Normal", "Warning"}:
            raise TypeError(f"ctx.emit takes a reason and a type, Normal or Warning, not {reason!r} and {type!r}")
        return effects.Emit(obj, type, reason, str(message))

    def external(self, protocol: Callable[..., P]) -> P:
        """A declared outside system; each call of one of its methods is one effect.

        Args:
            protocol: The class that the controller lists in ``externals``; whoever runs the controller provides the
                object.
        """
        return cast("P", _Proxy(cast("type", protocol)))

    def start(self, work: Callable[..., Awaitable[None]], *args: Any) -> effects.Start:
        """Start ``work(ctx, *args)`` in the background, with a context of the same object; returns at once.

        Work begins in order, at most ``background_limit`` at a time; an exception is logged. Work reports through
        ``defer`` and ``schedule``. It ends with the process.
        """
        if not callable(work):
            raise TypeError(f"ctx.start takes a function and its arguments, not {work!r}; write ctx.start(work, a, b)")
        return effects.Start(work, self.key, args)

    def gather(self, *asked: effects.Effect[Any]) -> effects.Gather:
        """Carry out several effects concurrently; returns each one's result or exception, in the order of the
        arguments.

        Their order of execution is not defined: use it only for effects that do not depend on each other.
        """
        return effects.Gather(asked)

    def schedule(self, key: Key | None = None) -> effects.Schedule:
        """Ask for another reconcile, debounced: half a second after the last such call, at most five seconds after the
        first.

        Args:
            key: Another object; by default the one that is being reconciled.
        """
        return effects.Schedule(key or self.key)


def _require_sense(method: str, kind: Any, key: Any = ()) -> None:
    """Raise ``TypeError`` in the caller's own line for what no type checker has seen, rather than later elsewhere."""
    if not isinstance(kind, _KINDS):
        raise TypeError(f"ctx.{method} takes a kind, such as ConfigMap or a GroupVersionKind, not {kind!r}")
    if not isinstance(key, tuple):
        raise TypeError(f"ctx.{method} takes a Key, not {key!r}; write Key(namespace, name)")


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
