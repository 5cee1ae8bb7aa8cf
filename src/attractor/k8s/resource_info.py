"""A resource as discovery tells it: its names, its scope, its verbs, its subresources."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from attractor.objects.gvk import GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.schema.node import Schema

_STABLE = re.compile(r"v[0-9]+")


class GroupInfo(NamedTuple):
    """An API group and the versions that serve it, the preferred one first."""

    name: str
    versions: tuple[str, ...]

    @property
    def preferred_version(self) -> str:
        """The version that a client takes when it is not told one."""
        return self.versions[0]


class SubresourceInfo(NamedTuple):
    """A subresource; its kind may be of another group, as ``autoscaling/v1 Scale`` is for ``deployments/scale``."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind that the subresource reads and writes."""
        return GroupVersionKind(self.group, self.version, self.kind)


@dataclass(frozen=True)
class ResourceInfo:
    """One resource of one group and version. Built-in kinds and custom ones are described alike.

    ``load_schema`` is called once, when ``schema`` is first asked for. ``definition`` is the OpenAPI name of a
    built-in kind's schema and empty for others.
    """

    group: str
    version: str
    kind: str
    resource: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, SubresourceInfo] = field(default_factory=dict, hash=False)
    group_versions: tuple[str, ...] = ()
    storage_version_hash: str = ""
    definition: str = ""
    load_schema: Callable[[], Schema] | None = field(default=None, compare=False, repr=False)

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind that the resource stores."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        """Where the resource is served."""
        return GroupVersionResource(self.group, self.version, self.resource)

    @property
    def group_resource(self) -> GroupResource:
        """The resource without its version."""
        return GroupResource(self.group, self.resource)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version that serve the resource."""
        return GroupVersion(self.group, self.version)

    @property
    def list_kind(self) -> str:
        """The kind of a list of such objects."""
        return f"{self.kind}List"

    @property
    def preferred_version(self) -> str:
        """The version of the group that a client takes when it is not told one."""
        return self.group_versions[0] if self.group_versions else self.version

    @property
    def is_preferred(self) -> bool:
        """Whether this is the group's preferred version."""
        return self.version == self.preferred_version

    @property
    def is_enabled_by_default(self) -> bool:
        """Whether a Kubernetes API server serves this version without being told to: stable ones, not alpha or beta."""
        return _STABLE.fullmatch(self.version) is not None

    @cached_property
    def schema(self) -> Schema:
        """The schema of the kind."""
        if self.load_schema is None:
            raise LookupError(f"no schema is known for {self.gvk}")
        return self.load_schema()
