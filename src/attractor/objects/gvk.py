"""Names of kinds, resources and objects, in Kubernetes' own words."""

from __future__ import annotations

import re
from typing import NamedTuple


class GroupVersion(NamedTuple):
    """An API group at one version; the core group is the empty string."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read ``apiVersion`` as objects carry it: ``v1`` or ``group/version``.

        >>> GroupVersion.parse("apps/v1")
        GroupVersion(group='apps', version='v1')
        """
        group, slash, version = api_version.partition("/")
        if not slash:
            return cls("", group)
        if "/" in version:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        return cls(group, version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupVersionKind(NamedTuple):
    """API group, version and kind, such as ``apps``, ``v1`` and ``Deployment``; the core group is the empty string."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        """From an object's ``apiVersion`` and ``kind``."""
        group, version = GroupVersion.parse(api_version)
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of such objects: ``apps/v1``, or ``v1`` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        """Group and kind, without the version."""
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupKind(NamedTuple):
    """A kind, whatever its version; prints as ``Kind.group``."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    """A resource, whatever its version; prints as ``resource.group``."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionResource(NamedTuple):
    """Where objects of a kind are served."""

    group: str
    version: str
    resource: str

    @property
    def group_resource(self) -> GroupResource:
        """The resource without its version."""
        return GroupResource(self.group, self.resource)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version that serve it."""
        return GroupVersion(self.group, self.version)


class Key(NamedTuple):
    """Namespace and name of an object; prints as ``namespace/name``. Cluster-scoped objects have no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


_KUBE_VERSION = re.compile(r"v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?")


def version_order(version: str) -> tuple[int, int, int, str]:
    """The sort key that puts the version that Kubernetes prefers first.

    >>> sorted(["foo1", "v1beta1", "v10", "v2", "v11alpha2", "v1beta3"], key=version_order)
    ['v10', 'v2', 'v1beta3', 'v1beta1', 'v11alpha2', 'foo1']
    """
    found = _KUBE_VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stability = {None: 0, "beta": 1, "alpha": 2}[found.group(2)]
    return (stability, -int(found.group(1)), -int(found.group(3) or 0), version)
