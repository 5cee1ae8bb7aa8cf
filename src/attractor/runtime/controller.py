"""``Controller``: a reconcile function and what makes it run, as a declaration.

    @controller(for_=ConfigPair, owns=[ConfigMap])
    async def pairs(ctx: Context, key: Key) -> Result | None:
        ...

- ``for_``: the kind that is reconciled; its keys are the reconcile's keys.
- ``owns``: kinds of children; a change runs the reconcile of the owner that controls it (or of every owner).
- ``watches``: other kinds, with a function from object to keys, or the name of an index of the reconciled kind.
- ``sources``: keys from anywhere, such as a ``Channel`` that outside events are sent to.

A declaration does nothing by itself: a ``Manager`` runs it, the checker explores it, ``attractor manifests`` derives
RBAC from it. Mistakes are found here, when the module is imported, and the error names the fix.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
    runtime_checkable,
)

from attractor.objects.gvk import GroupVersionKind, Key
from attractor.objects.resource import Resource
from attractor.objects.type_hints import signature_of
from attractor.runtime.context import Context
from attractor.runtime.predicates import Predicate, always
from attractor.runtime.result import Result

if TYPE_CHECKING:
    from attractor.client.kinds import PartialObjectMetadata
    from attractor.workqueue import Limiter

R = TypeVar("R", bound=Resource)
ReconcileFunction: TypeAlias = Callable[[Context, Key], Coroutine[Any, Any, Result | None]]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class BuilderError(TypeError):
    """A controller's declaration cannot work; the text says why and names the fix."""


@runtime_checkable
class Reconciles(Protocol):
    """An object with a ``reconcile`` method, such as a ``Reconciler``."""

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        """Bring one object a step closer to what its spec says."""


@dataclass(frozen=True)
class For:
    """The kind that a controller reconciles."""

    kind: type[Resource]
    """Its class; the keys of its objects are the keys of the reconcile."""
    when: Predicate = always
    """Which changes are worth a reconcile; by default every one."""


@dataclass(frozen=True)
class Owns:
    """A kind of children: a change of one runs the reconcile of the object that owns it."""

    kind: type[Resource]
    """The class of the children."""
    every_owner: bool = False
    """Run the reconcile of every owner, instead of only the one whose owner reference says ``controller: true``."""
    when: Predicate = always
    """Which changes are worth a reconcile; by default every one."""
    only_metadata: bool = False
    """Watch metadata only, without spec and status: for kinds that are many or big. Predicates then see metadata, and
    reads of this kind go to the server.
    """


@dataclass(frozen=True)
class Watches(Generic[R]):
    """Another kind that a controller depends on: a change of one of its objects runs the reconcile of the keys it maps
    to.

    Give either ``to_keys`` or ``index``.
    """

    kind: type[R]
    """The class of the watched kind."""
    to_keys: Callable[[R], Iterable[Key]] | Callable[[PartialObjectMetadata], Iterable[Key]] | None = None
    """From a changed object to the keys to reconcile. With ``only_metadata`` it gets a ``PartialObjectMetadata``."""
    index: str = ""
    """The name of an index of the reconciled kind: every object that has the changed object's ``namespace/name`` among
    its index values is reconciled (just the name, for cluster-scoped objects).
    """
    by: Callable[[R], Iterable[str]] | None = None
    """With ``index``: the index values to look up, computed from the changed object, instead of its name."""
    when: Predicate = always
    """Which changes are worth a reconcile; by default every one."""
    only_metadata: bool = False
    """Watch metadata only, without spec and status; see ``Owns``."""


@dataclass(frozen=True)
class Index(Generic[R]):
    """An index of the cache: objects are found by computed values, with ``ctx.list(kind, index=(name, value))``."""

    kind: type[R]
    """The class of the indexed objects."""
    name: str
    """The name to look it up by."""
    values: Callable[[R], Iterable[str]]
    """The values under which an object is found."""


@dataclass(frozen=True)
class Permission:
    """A right that a reconcile needs besides those that its declaration implies; ``attractor manifests`` grants it."""

    kind: type[Resource] | GroupVersionKind
    """The kind that is accessed."""
    verbs: tuple[str, ...] = ("get", "list", "watch")
    """Kubernetes verbs, such as ``get``, ``create`` or ``delete``."""
    subresource: str = ""
    """Such as ``status`` of a kind that is not the reconciled one, or ``eviction`` of a Pod."""


@dataclass(frozen=True, kw_only=True)
class Controller:
    """A controller's declaration: its reconcile function, and what makes it run. Make it with ``controller``.

    A declaration does nothing by itself. A ``Manager`` runs it, the checker explores it, and ``attractor manifests``
    derives RBAC from it. Mistakes raise ``BuilderError`` when it is made.
    """

    name: str
    """A DNS label; in logs, metrics and leases."""
    reconcile: ReconcileFunction
    """The function ``async (ctx, key) -> Result | None``."""
    for_: For
    """The kind that is reconciled."""
    owns: tuple[Owns, ...] = ()
    """Kinds of children."""
    watches: tuple[Watches[Any], ...] = ()
    """Other kinds that matter."""
    sources: tuple[AsyncIterable[Key], ...] = ()
    """Keys from elsewhere, such as a ``Channel`` that outside events are sent to."""
    indexes: tuple[Index[Any], ...] = ()
    """Indexes of the cache."""
    externals: tuple[type, ...] = ()
    """Outside systems, as protocol classes; whoever runs the controller provides the objects."""
    permissions: tuple[Permission, ...] = ()
    """Rights besides those that the declaration implies."""
    workers: int | None = None
    """How many objects are reconciled at once; never one object twice at once. ``None``: as whoever runs it decides."""
    timeout_s: float | None = None
    """How long one reconcile may take before it is cancelled and counts as failed; ``math.inf`` for no limit. ``None``:
    as whoever runs it decides.
    """
    background_limit: int = 6
    """How many pieces of background work (``ctx.start``) may run at once."""
    limiter: Callable[[], Limiter] | None = field(default=None, repr=False)
    """Makes the rate limiter of failed keys; by default client-go's, a ``Backoff`` and a ``TokenBucket``."""
    needs_leader: bool = True
    """Whether it runs only on the elected leader, where there is an election."""

    def __post_init__(self) -> None:
        _check(self)

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """Every kind that is watched, each once, the reconciled kind first."""
        parts: tuple[For | Owns | Watches[Any] | Index[Any], ...] = (
            self.for_,
            *self.owns,
            *self.watches,
            *self.indexes,
        )
        return tuple(dict.fromkeys(part.kind for part in parts))

    @property
    def metadata_kinds(self) -> frozenset[type[Resource]]:
        """The kinds of which only metadata is watched."""
        whole = {self.for_.kind, *(index.kind for index in self.indexes)}
        parts: tuple[Owns | Watches[Any], ...] = (*self.owns, *self.watches)
        whole |= {part.kind for part in parts if not part.only_metadata}
        return frozenset(self.kinds) - whole


class ControllerOptions(TypedDict, total=False):
    """The options of ``controller`` that are fields of ``Controller`` as they are."""

    indexes: Sequence[Index[Any]]
    externals: Sequence[type]
    permissions: Sequence[Permission]
    workers: int | None
    timeout_s: float | None
    background_limit: int
    limiter: Callable[[], Limiter] | None
    needs_leader: bool


@overload
def controller(
    reconcile: ReconcileFunction | Reconciles,
    *,
    name: str = "",
    for_: type[Resource] | For | None = None,
    owns: Sequence[type[Resource] | Owns] = (),
    watches: Sequence[Watches[Any]] = (),
    sources: Sequence[AsyncIterable[Key]] = (),
    **options: Unpack[ControllerOptions],
) -> Controller: ...
@overload
def controller(
    *,
    name: str = "",
    for_: type[Resource] | For | None = None,
    owns: Sequence[type[Resource] | Owns] = (),
    watches: Sequence[Watches[Any]] = (),
    sources: Sequence[AsyncIterable[Key]] = (),
    **options: Unpack[ControllerOptions],
) -> Callable[[ReconcileFunction], Controller]: ...
def controller(
    reconcile: ReconcileFunction | Reconciles | None = None,
    *,
    name: str = "",
    for_: type[Resource] | For | None = None,
    owns: Sequence[type[Resource] | Owns] = (),
    watches: Sequence[Watches[Any]] = (),
    sources: Sequence[AsyncIterable[Key]] = (),
    **options: Unpack[ControllerOptions],
) -> Controller | Callable[[ReconcileFunction], Controller]:
    """Declare a controller: as a decorator of its reconcile function, or around a ``Reconciler``.

        @controller(for_=ConfigPair, owns=[ConfigMap])
        async def pairs(ctx: Context, key: Key) -> Result | None:
            ...

    Args:
        reconcile: The function, or an object with a method ``reconcile``; left out when used as a decorator.
        name: A DNS label; by default the function's name.
        for_: The kind that is reconciled; a ``Reconciler`` brings its own.
        owns: Kinds of children; a change runs the reconcile of their owner.
        watches: Other kinds, with the keys that a change maps to.
        sources: Keys from elsewhere, such as a ``Channel``.
        **options: The other fields of ``Controller``: ``indexes``, ``externals``, ``permissions``, ``workers``, ...

    Raises:
        BuilderError: The declaration cannot work; the text names the fix.
    """

    def declare(function: ReconcileFunction | Reconciles) -> Controller:
        owner = function if isinstance(function, Reconciles) else None
        kind = for_ if for_ is not None else getattr(owner, "kind", None)
        chosen = name or _default_name(function)
        _check_options(chosen, {"owns": owns, "watches": watches, "sources": sources, **options})
        if kind is None:
            raise BuilderError(
                f"controller {chosen!r} does not say what it reconciles; declare it with `for_=`, as in for_=ConfigPair"
            )
        return Controller(
            name=chosen,
            reconcile=owner.reconcile if owner is not None else function,  # type: ignore[arg-type]
            for_=_heard(kind if isinstance(kind, For) else For(kind), owner),
            owns=tuple(item if isinstance(item, Owns) else Owns(item) for item in owns),
            watches=tuple(watches),
            sources=tuple(sources),
            **{key: tuple(value) if isinstance(value, list) else value for key, value in options.items()},  # type: ignore[arg-type]
        )

    return declare if reconcile is None else declare(reconcile)


def _heard(declared: For, owner: Reconciles | None) -> For:
    """Return the predicate of the reconciled kind: the author's, and what the reconciler cannot do without."""
    needs: Predicate | None = getattr(owner, "hears_always", None)
    if needs is None or declared.when is always or not isinstance(declared.when, Predicate):
        return declared
    return For(declared.kind, when=declared.when | needs)


def _default_name(function: ReconcileFunction | Reconciles) -> str:
    named = getattr(function, "__name__", None) or type(function).__name__
    return str(named).replace("_", "-").lower()


_LISTS = {
    "owns": "owns=[ConfigMap]",
    "watches": "watches=[Watches(Secret, to_keys)]",
    "sources": "sources=[Channel()]",
    "indexes": "indexes=[Index(ConfigPair, name, values)]",
    "externals": "externals=[Dns]",
    "permissions": "permissions=[Permission(Secret)]",
}
"""The options that take several things, each with how it is written."""


def _check_options(name: str, given: Mapping[str, Any]) -> None:
    """Raise ``BuilderError`` for options that there are not, and for one thing where a list is meant."""
    known = {*ControllerOptions.__annotations__, "owns", "watches", "sources"}
    for option, value in given.items():
        if option not in known:
            near = difflib.get_close_matches(option, known, n=1)
            hint = f"did you mean `{near[0]}=`?" if near else f"there are: {', '.join(sorted(known))}"
            raise BuilderError(f"controller {name!r} has no option {option!r}; {hint}")
        if option in _LISTS and not isinstance(value, list | tuple):
            raise BuilderError(f"controller {name!r}: `{option}` takes a list, as in {_LISTS[option]}")


def _check(declared: Controller) -> None:
    name = declared.name
    if not _NAME.fullmatch(name):
        raise BuilderError(
            f"controller name {name!r} is no DNS label: use lower-case letters, digits and dashes, "
            "as in name='my-pairs'"
        )
    parts: tuple[For | Owns | Watches[Any] | Index[Any], ...] = (
        declared.for_,
        *declared.owns,
        *declared.watches,
        *declared.indexes,
    )
    for item in parts:
        _check_part(name, item)
        kind: Any = item.kind
        if not (isinstance(kind, type) and issubclass(kind, Resource) and hasattr(kind, "gvk")):
            raise BuilderError(
                f"controller {name!r}: {type(item).__name__}({kind!r}) needs the class of a kind, a subclass of "
                'Resource with a version, as in class ConfigPair(Resource, group="example.org", version="v1")'
            )
    _check_numbers(declared)
    for source in declared.sources:
        if not isinstance(source, AsyncIterable):
            raise BuilderError(
                f"controller {name!r}: source {source!r} cannot be read with `async for`; "
                "give a Channel, or an object with `async def __aiter__`"
            )
    _check_reconcile(declared)
    _check_watches(declared)
    for permission in declared.permissions:
        _check_permission(name, permission)
    for protocol in declared.externals:
        if not isinstance(protocol, type):
            raise BuilderError(
                f"controller {name!r}: `externals` takes the class that says what an outside system can do, as in "
                f"externals=[Dns], not {protocol!r}; give the object itself to whoever runs the controller"
            )


def _check_permission(name: str, given: Any) -> None:
    if not isinstance(given, Permission):
        raise BuilderError(f"controller {name!r}: {given!r} is no permission; write {_LISTS['permissions']}")
    verbs: Any = given.verbs
    if isinstance(verbs, str) or not all(isinstance(verb, str) for verb in verbs):
        raise BuilderError(
            f"controller {name!r}: the verbs of a permission are a list, as in Permission(Secret, ('get', 'create')), "
            f"not {verbs!r}"
        )


def _check_part(name: str, part: Any) -> None:
    """Raise ``BuilderError`` for a bare kind where a declaration about it is meant, and for no predicate at all."""
    if not isinstance(part, For | Owns | Watches | Index):
        raise BuilderError(
            f"controller {name!r}: {part!r} says nothing of how it is watched or indexed; write "
            f"{_LISTS['watches']} or {_LISTS['indexes']}"
        )
    if not isinstance(part, Index) and not callable(part.when):
        raise BuilderError(
            f"controller {name!r}: `when` takes a Predicate, such as generation_changed, not {part.when!r}"
        )


def _check_numbers(declared: Controller) -> None:
    name = declared.name
    for option, what in (("workers", "workers"), ("background_limit", "places for background work")):
        number = getattr(declared, option)
        if number is None and option == "workers":
            continue
        if not isinstance(number, int) or number < 1:
            raise BuilderError(f"controller {name!r} has {number!r} {what}, so it would never run; use 1 or more")
    if declared.timeout_s is not None and not isinstance(declared.timeout_s, int | float):
        raise BuilderError(f"controller {name!r} has a timeout of {declared.timeout_s!r}; give a number of seconds")
    if declared.timeout_s is not None and not declared.timeout_s > 0:
        raise BuilderError(
            f"controller {name!r} has a timeout of {declared.timeout_s} s; use a positive one, or math.inf for none"
        )


def _check_reconcile(declared: Controller) -> None:
    function = declared.reconcile
    if not inspect.iscoroutinefunction(function):
        raise BuilderError(
            f"controller {declared.name!r}: its reconcile is not `async`; write `async def reconcile(ctx, key)`"
        )
    try:
        signature_of(function).bind(None, None)
    except TypeError:
        raise BuilderError(
            f"controller {declared.name!r}: its reconcile must take a context and a key: "
            "`async def reconcile(ctx, key)`"
        ) from None


def _check_watches(declared: Controller) -> None:
    name, kind = declared.name, declared.for_.kind
    owned = [item.kind for item in declared.owns]
    for repeated in {item for item in owned if owned.count(item) > 1}:
        raise BuilderError(f"controller {name!r} owns {repeated.__name__} twice; declare it once")
    known = {index.name for index in declared.indexes if index.kind is kind}
    for watched in declared.watches:
        if (watched.to_keys is None) == (not watched.index):
            raise BuilderError(
                f"controller {name!r}: Watches({watched.kind.__name__}) needs either `to_keys`, a function from an "
                f"object to the keys to reconcile, or `index`, the name of an index of {kind.__name__}"
            )
        if watched.by is not None and not watched.index:
            raise BuilderError(
                f"controller {name!r}: Watches({watched.kind.__name__}, by=...) computes values of an index; name it "
                "with `index=`"
            )
        if watched.index and watched.index not in known:
            raise BuilderError(
                f"controller {name!r}: Watches({watched.kind.__name__}, index={watched.index!r}) names no index of "
                f"{kind.__name__}; declare it with indexes=[Index({kind.__name__}, {watched.index!r}, ...)]"
            )
