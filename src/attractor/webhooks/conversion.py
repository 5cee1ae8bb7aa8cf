"""``convert``: versions of a kind, translated by typed functions, with one version as the hub of all others.

    @convert(BackupV1, Backup)
    def up(old: BackupV1) -> Backup: ...

    @convert(Backup, BackupV1)
    def down(new: Backup) -> BackupV1: ...

A server that needs an object in another version sends a ConversionReview; it goes from its version to the hub and from
there to the wanted one. The hub is the version that every conversion of the kind has in common, of two the newer one;
it is the version in which objects are stored.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attractor.objects.gvk import version_order
from attractor.objects.resource import DecodeError, Resource
from attractor.webhooks.admission import WebhookError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.objects.json_types import JsonObject

S = TypeVar("S", bound=Resource)
T = TypeVar("T", bound=Resource)
PATH = "/convert"


class Unconvertible(Exception):
    """An object cannot be had in the version that was asked for; the text names both and says why."""


@dataclass(frozen=True, eq=False)
class Conversion(Generic[S, T]):
    """A function from one version of a kind to another; make it with ``convert``. It is called like the function."""

    source: type[S]
    """The version that it reads."""
    target: type[T]
    """The version that it makes."""
    function: Callable[[S], T]

    def __post_init__(self) -> None:
        _check(self)

    def __call__(self, obj: S) -> T:
        """Call the function."""
        return self.function(obj)

    @property
    def name(self) -> str:
        """For people: ``up, from v1 to v2``."""
        called = getattr(self.function, "__name__", "it")
        return f"{called}, from {self.source.gvk.version} to {self.target.gvk.version}"


def convert(source: type[S], target: type[T]) -> Callable[[Callable[[S], T]], Conversion[S, T]]:
    """Declare a function that translates one version of a kind into another.

        @convert(BackupV1, Backup)
        def up(old: BackupV1) -> Backup:
            return Backup(metadata=old.metadata, spec=BackupSpec(schedule=Schedule(cron=old.spec.cron)))

    Of the metadata a conversion decides on labels and annotations only; the server keeps the rest. A kind needs both
    ways between its hub and each other version, and what one way drops the other cannot bring back:
    ``attractor.testing.assert_round_trips`` finds that.

    Args:
        source: The class of the version that the function reads.
        target: The class of the version that it makes.

    Raises:
        WebhookError: These are not two versions of one kind, or the function is ``async``.
    """
    return lambda function: Conversion(source, target, function)


def _check(one: Conversion[Any, Any]) -> None:
    for kind in (one.source, one.target):
        if not (isinstance(kind, type) and issubclass(kind, Resource) and hasattr(kind, "gvk")):
            raise WebhookError(f"a conversion needs classes of kinds, as in @convert(BackupV1, Backup), not {kind!r}")
    source, target = one.source.resource_info, one.target.resource_info
    if (source.group, source.kind, source.resource) != (target.group, target.kind, target.resource):
        raise WebhookError(
            f"{one.source.gvk} and {one.target.gvk} are not versions of one kind; give the older class "
            f'kind="{target.kind}" and the same group'
        )
    if source.version == target.version:
        raise WebhookError(f"{one.source.gvk} needs no conversion to itself")
    if inspect.iscoroutinefunction(one.function):
        raise WebhookError(f"conversion {one.name} is `async`; it waits for nothing: write `def`")


class Versions:
    """The versions of one kind, with the ways between them."""

    def __init__(self, conversions: Iterable[Conversion[Any, Any]]) -> None:
        """Raises ``WebhookError`` when there is no hub, or a way is missing or declared twice."""
        self._ways: dict[tuple[str, str], Conversion[Any, Any]] = {}
        self.classes: dict[str, type[Resource]] = {}
        """By ``apiVersion``, the oldest version first, the hub last."""
        for one in conversions:
            way = one.source.gvk.api_version, one.target.gvk.api_version
            if self._ways.setdefault(way, one) is not one:
                raise WebhookError(f"there are two conversions of {one.source.gvk} to {one.target.gvk}; keep one")
        for kind in (kind for one in self._ways.values() for kind in (one.source, one.target)):
            if self.classes.setdefault(kind.gvk.api_version, kind) is not kind:
                raise WebhookError(f"two classes are {kind.gvk}; convert one of them only")
        self.hub = self._hub()
        order = sorted(self.classes.values(), key=lambda kind: version_order(kind.gvk.version), reverse=True)
        self.classes = {
            kind.gvk.api_version: kind for kind in (*(one for one in order if one is not self.hub), self.hub)
        }
        for kind in self.classes.values():
            for way in ((kind, self.hub), (self.hub, kind)):
                if kind is not self.hub and tuple(one.gvk.api_version for one in way) not in self._ways:
                    raise WebhookError(f"there is no conversion of {way[0].gvk} to {way[1].gvk}; declare both ways")

    def _hub(self) -> type[Resource]:
        shared = [kind for kind in self.classes.values() if all(kind.gvk.api_version in way for way in self._ways)]
        if not shared:
            (gvk, *_) = (kind.gvk for kind in self.classes.values())
            raise WebhookError(
                f"no version of {gvk.kind} is part of every conversion; convert each to and from one of them, the hub"
            )
        return min(shared, key=lambda kind: version_order(kind.gvk.version))

    def converted(self, obj: JsonObject, wanted: str) -> JsonObject:
        """An object in another version; raises ``Unconvertible``, or what a function raises."""
        given = obj.get("apiVersion")
        if given == wanted:
            return obj
        if given not in self.classes or wanted not in self.classes:
            known = ", ".join(self.classes)
            raise Unconvertible(f"there is no conversion of {given} to {wanted}; there are {known}")
        try:
            made: Any = self.classes[given].from_dict(obj)
        except DecodeError as error:
            raise Unconvertible(f"{given} cannot be read: {error}") from None
        hub = self.hub.gvk.api_version
        for way in ((given, hub), (hub, wanted)):
            if way[0] != way[1]:
                made = self._called(self._ways[way], made)
        converted: JsonObject = made.to_dict()
        labels = {
            name: converted["metadata"][name]
            for name in ("labels", "annotations")
            if converted.get("metadata", {}).get(name)
        }
        kept = {name: value for name, value in obj.get("metadata", {}).items() if name not in {"labels", "annotations"}}
        return {**converted, "metadata": {**kept, **labels}}

    @staticmethod
    def _called(one: Conversion[Any, Any], obj: Resource) -> Any:
        made = one.function(obj)
        if not isinstance(made, one.target):
            raise TypeError(f"conversion {one.name} returned {made!r}; return a {one.target.__name__}")
        return made

    def functions(self) -> list[Callable[[Any], Any]]:
        """The authors' functions."""
        return [one.function for one in self._ways.values()]

    def ways(self) -> list[Conversion[Any, Any]]:
        """The conversions from each other version to the hub, and back, in turn."""
        hub = self.hub.gvk.api_version
        others = [version for version in self.classes if version != hub]
        return [self._ways[way] for other in others for way in ((other, hub), (hub, other))]


def answer_conversion(versions: dict[tuple[str, str], Versions], request: JsonObject) -> JsonObject:
    """The ``response`` to a ConversionReview's ``request``, without its uid; whatever functions raise is raised."""
    wanted = request.get("desiredAPIVersion") or ""
    converted = []
    for obj in request.get("objects") or ():
        group = (obj.get("apiVersion") or "").rpartition("/")[0]
        found = versions.get((group, obj.get("kind") or ""))
        if found is None:
            return _failed(f"there is no conversion of {obj.get('apiVersion')}, Kind={obj.get('kind')}")
        try:
            converted.append(found.converted(obj, wanted))
        except Unconvertible as why:
            return _failed(str(why))
    return {"result": {"status": "Success"}, "convertedObjects": converted}


def _failed(why: str) -> JsonObject:
    return {"result": {"status": "Failure", "message": why}}
