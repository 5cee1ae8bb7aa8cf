"""``RestMapping``: from the names that people type to resources.

    >>> mapping = RestMapping()
    >>> str(mapping.resolve("deploy").gvk), str(mapping.resolve("horizontalpodautoscalers.v1.autoscaling").gvk)
    ('apps/v1, Kind=Deployment', 'autoscaling/v1, Kind=HorizontalPodAutoscaler')

A name is a plural, a singular, a kind (in any case) or a short name, alone, with a group (``name.group``) or with
version and group (``name.version.group``). Without a version the group's preferred one is taken. Where several groups
have a name, the built-in one that discovery lists first wins, as in kubectl; between custom groups the name is
refused as ambiguous.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from attractor.k8s import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attractor.k8s.resource_info import ResourceInfo
    from attractor.objects.gvk import GroupKind, GroupVersionKind, GroupVersionResource


class MappingError(LookupError):
    """A name stands for no resource, or for more than one."""


class UnknownName(MappingError):
    """No resource has this name; the message says which names are close."""


class AmbiguousName(MappingError):
    """Several custom groups have this name; ``candidates`` can each be named in full."""

    def __init__(self, name: str, candidates: list[ResourceInfo]) -> None:
        self.candidates = candidates
        listed = " or ".join(str(info.group_resource) for info in candidates)
        super().__init__(f"{name!r} is the name of several resources: say {listed}")


class RestMapping:
    """Resources by name, kind and category. Starts with the built-in stable versions; custom ones are added."""

    def __init__(self, infos: Iterable[ResourceInfo] | None = None) -> None:
        if infos is None:
            infos = (info for info in catalog.resources() if info.is_enabled_by_default)
        self._by_resource: dict[GroupVersionResource, ResourceInfo] = {}
        self._by_kind: dict[GroupVersionKind, ResourceInfo] = {}
        self._by_name: dict[str, dict[GroupVersionResource, ResourceInfo]] = {}
        for info in infos:
            self.add(info)

    def __iter__(self) -> Iterator[ResourceInfo]:
        return iter(self._by_resource.values())

    def add(self, info: ResourceInfo) -> None:
        """Take up a resource; one of the same group, version and plural is replaced."""
        self.discard(info.gvr)
        self._by_resource[info.gvr] = info
        self._by_kind[info.gvk] = info
        for name in _names(info):
            self._by_name.setdefault(name, {})[info.gvr] = info

    def discard(self, gvr: GroupVersionResource) -> None:
        """Forget a resource, if it is there."""
        info = self._by_resource.pop(gvr, None)
        if info is None:
            return
        if self._by_kind.get(info.gvk) is info:
            del self._by_kind[info.gvk]
        for name in _names(info):
            left = self._by_name[name]
            left.pop(gvr, None)
            if not left:
                del self._by_name[name]

    def find(self, gvr: GroupVersionResource) -> ResourceInfo | None:
        """The resource served there, if any."""
        return self._by_resource.get(gvr)

    def find_kind(self, gvk: GroupVersionKind) -> ResourceInfo | None:
        """The resource that stores a kind, if any."""
        return self._by_kind.get(gvk)

    def for_kind(self, kind: GroupKind) -> ResourceInfo:
        """The resource of a kind in its group's preferred version; UnknownName when there is none."""
        found = [info for gvk, info in self._by_kind.items() if gvk.group_kind == kind]
        if not found:
            raise UnknownName(f"no resource of kind {kind} is known{self._close(kind.kind)}")
        return _preferred(found)

    def category(self, name: str) -> list[ResourceInfo]:
        """The resources of a category such as ``all``, each in its preferred version; empty when there is none."""
        by_group_resource: dict[tuple[str, str], list[ResourceInfo]] = {}
        for info in self:
            if name in info.categories:
                by_group_resource.setdefault(info.group_resource, []).append(info)
        return [_preferred(found) for found in by_group_resource.values()]

    def resolve(self, name: str) -> ResourceInfo:
        """The one resource that a name stands for; UnknownName or AmbiguousName otherwise."""
        lowered = name.lower()
        short, _, rest = lowered.partition(".")
        candidates = list(self._by_name.get(short, {}).values())
        if rest:
            version, _, group = rest.partition(".")
            candidates = [
                info for info in candidates if info.group == rest or (info.version, info.group) == (version, group)
            ]
        if not candidates:
            raise UnknownName(f"the server doesn't have a resource type {name!r}{self._close(lowered)}")
        by_group: dict[str, list[ResourceInfo]] = {}
        for info in candidates:
            by_group.setdefault(info.group, []).append(info)
        if len(by_group) > 1 and not candidates[0].definition:
            raise AmbiguousName(name, [_preferred(found) for found in by_group.values()])
        return _preferred(by_group[candidates[0].group])

    def _close(self, name: str) -> str:
        close = difflib.get_close_matches(name.partition(".")[0].lower(), self._by_name, n=3, cutoff=0.7)
        return f"; did you mean {' or '.join(close)}?" if close else ""


def _names(info: ResourceInfo) -> set[str]:
    names = {info.resource, info.singular, info.kind.lower(), *info.short_names}
    return {name for name in names if name}


def _preferred(found: list[ResourceInfo]) -> ResourceInfo:
    """The one of the group's preferred version, else the one that the group lists first."""
    order = found[0].group_versions
    return min(found, key=lambda info: order.index(info.version) if info.version in order else len(order))
