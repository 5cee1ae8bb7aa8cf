"""Which requests a webhook or a policy is about: rules, selectors and equivalent versions.

>>> rule = Rule(("CREATE",), ("apps",), ("v1",), ("deployments", "*/scale"))
>>> rule.covers("CREATE", Target("apps", "v1", "deployments"), is_namespaced=True)
True
>>> rule.covers("UPDATE", Target("apps", "v1", "deployments", "scale"), is_namespaced=True)
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from attractor.apiserver.kinds.custom import registry as custom_registry
from attractor.apiserver.kinds.registry import served_builtin
from attractor.objects.errors import NotFound
from attractor.objects.gvk import GroupResource
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

_NAMESPACES = GroupResource("", "namespaces")
_SAME = {("", "events"): ("events.k8s.io", "events"), ("events.k8s.io", "events"): ("", "events")}
"""Resources of two groups that show the same objects."""


class Target(NamedTuple):
    """A resource in a version, as a rule sees it."""

    group: str
    version: str
    resource: str
    subresource: str = ""


class Rule(msgspec.Struct, frozen=True, rename="camel"):
    """A RuleWithOperations."""

    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = "*"
    resource_names: tuple[str, ...] = ()
    """Only in policies: the names that the rule is limited to."""

    def covers(self, operation: str, target: Target, *, is_namespaced: bool, name: str = "") -> bool:
        """Whether the rule is about that operation on that resource."""
        return (
            _has(self.operations, operation)
            and _has(self.api_groups, target.group)
            and _has(self.api_versions, target.version)
            and self._covers_scope(is_namespaced)
            and any(_matches_resource(pattern, target) for pattern in self.resources)
            and (not self.resource_names or name in self.resource_names)
        )

    def _covers_scope(self, is_namespaced: bool) -> bool:
        return self.scope in {"", "*"} or (self.scope == "Namespaced") == is_namespaced


def _has(allowed: Sequence[str], value: str) -> bool:
    return "*" in allowed or value in allowed


def _matches_resource(pattern: str, target: Target) -> bool:
    """``*`` is every resource but no subresource, ``*/*`` is everything."""
    resource, _, subresource = pattern.partition("/")
    return resource in {"*", target.resource} and subresource in {"*", target.subresource}


class Selectors(NamedTuple):
    """The label selectors that limit a webhook or a policy; an absent one limits nothing."""

    namespace: LabelSelector | None = None
    object: LabelSelector | None = None

    @classmethod
    def of(cls, namespace: JsonObject | None, obj: JsonObject | None) -> Selectors:
        """From ``namespaceSelector`` and ``objectSelector``."""
        return cls(LabelSelector.of_object(namespace), LabelSelector.of_object(obj))

    def match(self, attributes: Attributes) -> bool:
        """Whether the request's namespace and object carry the labels; raises ``NotFound`` for a missing namespace."""
        return self._matches_namespace(attributes) and self._matches_object(attributes)

    def _matches_object(self, attributes: Attributes) -> bool:
        selector = self.object
        if selector is None or selector.is_everything:
            return True
        return any(selector.matches(_labels(obj)) for obj in (attributes.obj, attributes.old) if obj is not None)

    def _matches_namespace(self, attributes: Attributes) -> bool:
        selector = self.namespace
        if selector is None or selector.is_everything:
            return True
        if attributes.kind.group_resource == _NAMESPACES:
            return selector.matches(_labels(attributes.obj or attributes.old or {}))
        if not attributes.kind.namespaced:
            return True
        return selector.matches(_labels(namespace_of(attributes)))


def namespace_of(attributes: Attributes) -> JsonObject:
    """The Namespace of the request's object; raises ``NotFound``."""
    name = attributes.op.namespace
    found = attributes.txn.snapshot.get(f"core/namespaces/{name}")
    if found is None:
        raise NotFound.of(_NAMESPACES, name)
    namespace: JsonObject = orjson.loads(found.value)
    return namespace


def _labels(obj: JsonObject) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def match_rules(
    rules: Sequence[Rule], attributes: Attributes, *, excluded: Sequence[Rule] = (), is_exact: bool = False
) -> Target | None:
    """The resource as which the rules match the request: as asked, or as an equivalent one; None if they do not.

    A request for ``apps/v1`` is equivalent to one for any other served version of the same objects.
    """
    op, kind = attributes.op, attributes.kind
    asked = Target(kind.gvk.group, kind.gvk.version, kind.resource, op.subresource)
    operation, name = attributes.operation, attributes.name
    targets = (asked,) if is_exact else (asked, *_equivalents(asked, attributes.txn))

    def covered(some: Sequence[Rule], target: Target) -> bool:
        return any(rule.covers(operation, target, is_namespaced=kind.namespaced, name=name) for rule in some)

    if excluded and any(covered(excluded, target) for target in targets):
        return None
    for target in targets:
        if covered(rules, target):
            return target
    return None


def _equivalents(asked: Target, txn: Transaction) -> Iterator[Target]:
    """The other resources that show the same objects."""
    same = {(asked.group, asked.resource), _SAME.get((asked.group, asked.resource), (asked.group, asked.resource))}
    for info in served_builtin():
        if (info.gvk.group, info.resource) in same and (info.gvk.group, info.gvk.version) != asked[:2]:
            yield Target(info.gvk.group, info.gvk.version, info.resource, asked.subresource)
    definition = txn.snapshot.get(f"{custom_registry.PREFIX}{asked.resource}.{asked.group}")
    if definition is not None:
        for version in custom_registry.served_kinds(definition.value):
            if version != asked.version:
                yield asked._replace(version=version)
