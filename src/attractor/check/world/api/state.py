"""``WorldState``: what properties see of a world: the stored objects, typed, and the outside systems. It only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

from attractor.apiserver.response import with_version
from attractor.check.engine.model import AFTER
from attractor.check.world.simulation.server.storage import root_of
from attractor.client.encoding.codec import typed_codec
from attractor.objects.gvk import Key
from attractor.objects.resource import Resource
from attractor.webhooks import WebhookSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.slots import View
    from attractor.store.contract import Entry
    from attractor.webhooks import Webhook

R = TypeVar("R", bound=Resource)


class After:
    """A view of the state after a step, for those who judge steps."""

    def __init__(self, view: View) -> None:
        self._view = view

    def read(self, ref: int) -> Any:
        """The value behind a reference, after the step."""
        return self._view.read(ref | AFTER)

    def write(self, ref: int, value: Any) -> None:
        """Nothing can be written."""
        self._view.write(ref | AFTER, value)

    def copy(self, ref: int, source: int) -> None:
        """Nothing can be written."""
        self._view.copy(ref | AFTER, source)

    def update(self, ref: int, how: Callable[[Any], Any]) -> None:
        """Nothing can be written."""
        self._view.update(ref | AFTER, how)

    def choose(self, options: Iterable[Any]) -> Any:
        """One of the options."""
        return self._view.choose(options)


class Scene(Protocol):
    """What can be looked at: one moment of a world, or of a run."""

    roots: tuple[str, ...]
    """Where the store keeps the kinds that the world has."""

    def entry(self, key: str) -> Entry | None:
        """What the store has under a key."""
        ...

    def keys(self, prefix: str) -> list[str]:
        """The store's keys under a prefix, in order."""
        ...

    def in_version(self, kind: type[Resource], value: bytes) -> bytes:
        """A stored object in a kind's own version."""
        ...

    def external(self, protocol: Any) -> Any:
        """The model of an outside system."""
        ...

    def budget(self, label: str) -> int:
        """How often a user may still act."""
        ...

    def workers(self) -> dict[tuple[str, Key], int]:
        """For each controller and key: on how many hosts it is being reconciled."""
        ...


EVENTS = ("core/events/", "events.k8s.io/events/")
"""Where the store keeps Events."""


class Moment:
    """A world in one state; the scene that the checker looks at."""

    def __init__(self, universe: Universe, view: View, seen: set[str] | None = None) -> None:
        """``seen`` is told the roots of the kinds that are looked at."""
        self._universe, self._view, self._seen = universe, view, seen
        self.roots = universe.roots

    def entry(self, key: str) -> Entry | None:
        """What the store has under a key."""
        self._note(key)
        with self._universe.stage.on(self._view):
            return self._universe.storage.entry(key)

    def keys(self, prefix: str) -> list[str]:
        """The store's keys under a prefix, in order."""
        self._note(prefix)
        with self._universe.stage.on(self._view):
            return self._universe.storage.keys(prefix)

    def _note(self, where: str) -> None:
        if self._seen is not None:
            self._seen.add(root_of(where))
            if root_of(where) in EVENTS:
                self._universe.stage.reads_events("a claim")

    def in_version(self, kind: type[Resource], value: bytes) -> bytes:
        """A stored object in a kind's own version."""
        return in_version(self._universe.world.webhooks, kind, value)

    def external(self, protocol: Any) -> Any:
        """The model of an outside system, in this state."""
        with self._universe.stage.on(self._view):
            return self._universe.external(protocol).state.get().value

    def budget(self, label: str) -> int:
        """How often a user may still act."""
        with self._universe.stage.on(self._view):
            left: int = self._universe.stage.slot("user", label).get()
        return left

    def workers(self) -> dict[tuple[str, Key], int]:
        """For each controller and key: on how many hosts it is being reconciled."""
        found: dict[tuple[str, Key], int] = {}
        with self._universe.stage.on(self._view):
            for host in self._universe.hosts:
                for worker in host.workers:
                    for key in worker.keys:
                        place = worker.declared.name, key
                        found[place] = found.get(place, 0) + (worker.running(key).get() is not None)
        return found


class WorldState:
    """What a property sees: the stored objects of a world at one moment, typed, and its outside systems; read-only."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def find(self, kind: type[R], key: Key | tuple[str, str]) -> R | None:
        """A stored object; ``None`` when there is none."""
        entry = self._scene.entry(store_key(kind, Key(*key)))
        return None if entry is None else self._decoded(kind, entry)

    def get(self, kind: type[R], key: Key | tuple[str, str]) -> R:
        """A stored object.

        Raises:
            LookupError: There is none.
        """
        found = self.find(kind, key)
        if found is None:
            raise LookupError(f"there is no {kind.__name__} {Key(*key)}")
        return found

    def versions(self) -> tuple[tuple[str, int], ...]:
        """Every stored object by key, with the version of its content."""
        found = [self._scene.entry(key) for root in self._scene.roots for key in self._scene.keys(root)]
        return tuple((entry.key, entry.revision) for entry in found if entry is not None)

    def list(self, kind: type[R], namespace: str = "") -> list[R]:
        """The stored objects of a kind, in the order of their keys; of one namespace, or of all."""
        found = [self._scene.entry(key) for key in self._scene.keys(prefix(kind, namespace))]
        return [self._decoded(kind, entry) for entry in found if entry is not None]

    def _decoded(self, kind: type[R], entry: Entry) -> R:
        value = entry.value
        if kind.resource_info.group and b'"apiVersion":"%b"' % kind.gvk.api_version.encode() not in value:
            value = self._scene.in_version(kind, value)
        codec = typed_codec(kind)  # pyright: ignore[reportArgumentType]
        made: R = codec.decode(with_version(value, entry.revision))
        return made

    def external(self, protocol: Any) -> Any:
        """The model of an outside system, as it is at this moment."""
        return self._scene.external(protocol)

    def budget(self, label: str) -> int:
        """How often a user may still act, or how many steps of a script are left, by the user's label."""
        return self._scene.budget(label)

    def workers(self) -> dict[tuple[str, Key], int]:
        """For each controller and key, how many hosts are reconciling it."""
        return self._scene.workers()


def prefix(kind: type[Resource], namespace: str = "") -> str:
    """Where the store keeps a kind's objects."""
    info = kind.resource_info
    root = f"{info.group or 'core'}/{info.resource}/"
    return f"{root}{namespace}/" if namespace and info.namespaced else root


def store_key(kind: type[Resource], key: Key) -> str:
    """Where the store keeps an object."""
    return f"{prefix(kind, key.namespace)}{key.name}"


def root(kind: type[Resource]) -> str:
    """The root of a kind's keys."""
    return root_of(prefix(kind) + "x")


def in_version(webhooks: Iterable[Webhook], kind: type[Resource], value: bytes) -> bytes:
    """A stored object in a kind's own version, as conversions make it; as it is stored where there are none."""
    versions = WebhookSet(webhooks).versions_of(kind)
    return value if versions is None else orjson.dumps(versions.converted(orjson.loads(value), kind.gvk.api_version))
