"""Role-based access control: who may do what, read from Roles, ClusterRoles and their bindings in the store.

Permissions only ever add up: a request is allowed when some binding names the user, one of the user's groups or the
service account, and some rule of the bound role covers it. ``system:masters`` needs no rule. An aggregated ClusterRole
has the rules of every ClusterRole that its selectors match, and of those that theirs match, worked out when it is asked
for: whether a controller has written them into it already makes no difference to anybody.

Pure: the answer depends on the user, the attributes and the snapshot. Stored objects are decoded once and remembered
by their bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from attractor.apiserver.auth.authorizer import MASTERS, Attributes, Decision
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.request.caller import User
    from attractor.store.contract import Snapshot

GROUP = "rbac.authorization.k8s.io"
_PREFIX = f"{GROUP}/"
_SERVICE_ACCOUNT = "system:serviceaccount:"


class Rule(msgspec.Struct, frozen=True, rename="camel"):
    """A PolicyRule."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")

    def covers(self, asked: Attributes) -> bool:
        """Whether the rule allows what is asked."""
        if "*" not in self.verbs and asked.verb not in self.verbs:
            return False
        if not asked.resource:
            return any(_url_matches(pattern, asked.path) for pattern in self.non_resource_urls)
        return (
            ("*" in self.api_groups or asked.group in self.api_groups)
            and self._covers_resource(asked)
            and (not self.resource_names or asked.name in self.resource_names)
        )

    def _covers_resource(self, asked: Attributes) -> bool:
        if "*" in self.resources:
            return True
        if not asked.subresource:
            return asked.resource in self.resources
        return f"{asked.resource}/{asked.subresource}" in self.resources or f"*/{asked.subresource}" in self.resources


def _url_matches(pattern: str, path: str) -> bool:
    return pattern in {"*", path} or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


class _Aggregation(msgspec.Struct, frozen=True, rename="camel"):
    cluster_role_selectors: list[dict[str, object]] = []


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}


class Role(msgspec.Struct, frozen=True, rename="camel"):
    """A Role or ClusterRole, as far as decisions need it."""

    metadata: _Metadata
    rules: tuple[Rule, ...] | None = ()
    aggregation_rule: _Aggregation | None = None


class _RoleRef(msgspec.Struct, frozen=True):
    kind: str
    name: str


class _Subject(msgspec.Struct, frozen=True):
    kind: str
    name: str
    namespace: str = ""


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata
    role_ref: _RoleRef
    subjects: tuple[_Subject, ...] | None = ()

    def subject_for(self, user: User) -> _Subject | None:
        """The subject by which the binding is for this user, if it is."""
        for subject in self.subjects or ():
            if _is_subject(user, subject, self.metadata.namespace):
                return subject
        return None


def _is_subject(user: User, subject: _Subject, namespace: str) -> bool:
    match subject.kind:
        case "User":
            return user.name == subject.name
        case "Group":
            return subject.name in user.groups
        case "ServiceAccount":
            return user.name == f"{_SERVICE_ACCOUNT}{subject.namespace or namespace}:{subject.name}"
    return False


_decode_role = lru_cache(maxsize=4096)(msgspec.json.Decoder(Role).decode)
_decode_binding = lru_cache(maxsize=4096)(msgspec.json.Decoder(_Binding).decode)


class BoundRole(NamedTuple):
    """A role that applies to a user by a binding, or the reason why it cannot be read."""

    rules: tuple[Rule, ...]
    missing: str
    binding: _Binding
    subject: _Subject

    @property
    def because(self) -> str:
        """Why the role applies, in Kubernetes' words."""
        name, namespace = self.binding.metadata.name, self.binding.metadata.namespace
        role, subject = self.binding.role_ref, self.subject
        whom = subject.name
        if subject.kind == "ServiceAccount":
            whom = f"{whom}/{subject.namespace or namespace}"
        what = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        return f'RBAC: allowed by {what} of {role.kind} "{role.name}" to {subject.kind} "{whom}"'


class RbacAuthorizer:
    """Decides by the roles and bindings in the store."""

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        """Whether the user may do it, and by which binding; a refusal's reason names bindings to missing roles."""
        if MASTERS in user.groups:
            return Decision(allowed=True)
        missing: dict[str, None] = {}
        for role in roles_of(user, attributes.namespace, snapshot):
            if any(rule.covers(attributes) for rule in role.rules):
                return Decision(allowed=True, reason=role.because)
            if role.missing:
                missing[role.missing] = None
        if not missing:
            return Decision(allowed=False)
        listed = ", ".join(missing) if len(missing) == 1 else f"[{', '.join(missing)}]"
        return Decision(allowed=False, reason=f"RBAC: {listed}")

    def rules(self, user: User, namespace: str, snapshot: Snapshot) -> Iterator[Rule]:
        """Every rule that applies to the user in a namespace, for SelfSubjectRulesReview."""
        for role in roles_of(user, namespace, snapshot):
            yield from role.rules


def roles_of(user: User, namespace: str, snapshot: Snapshot) -> Iterator[BoundRole]:
    """The roles bound to a user in the whole cluster and, if one is given, in a namespace."""
    for entry in snapshot.range(f"{_PREFIX}clusterrolebindings/"):
        binding = _decode_binding(entry.value)
        subject = binding.subject_for(user)
        if subject is not None:
            rules, missing = _cluster_role(binding.role_ref.name, snapshot)
            yield BoundRole(rules, missing, binding, subject)
    if not namespace:
        return
    for entry in snapshot.range(f"{_PREFIX}rolebindings/{namespace}/"):
        binding = _decode_binding(entry.value)
        subject = binding.subject_for(user)
        if subject is None:
            continue
        if binding.role_ref.kind == "ClusterRole":
            rules, missing = _cluster_role(binding.role_ref.name, snapshot)
        else:
            rules, missing = _role(namespace, binding.role_ref.name, snapshot)
        yield BoundRole(rules, missing, binding, subject)


_Rules = tuple[tuple[Rule, ...], str]
"""The rules of a role, or no rules and why."""


def effective_rules(resource: str, namespace: str, name: str, snapshot: Snapshot) -> tuple[Rule, ...] | None:
    """What a role gives to those who are bound to it, now; None when there is no such role.

    The one answer for whoever decides about a request and for whoever decides what may be granted: stored rules alone
    would say that an aggregated ClusterRole gives nothing until a controller has filled it.
    """
    found, missing = _cluster_role(name, snapshot) if resource == "clusterroles" else _role(namespace, name, snapshot)
    return None if missing else found


def _role(namespace: str, name: str, snapshot: Snapshot) -> _Rules:
    entry = snapshot.get(f"{_PREFIX}roles/{namespace}/{name}")
    if entry is None:
        return (), f'role.{GROUP} "{name}" not found'
    return _decode_role(entry.value).rules or (), ""


def _cluster_role(name: str, snapshot: Snapshot) -> _Rules:
    entry = snapshot.get(f"{_PREFIX}clusterroles/{name}")
    if entry is None:
        return (), f'clusterrole.{GROUP} "{name}" not found'
    role = _decode_role(entry.value)
    if role.aggregation_rule is None:
        return role.rules or (), ""
    return tuple(_aggregated(entry.value, snapshot)), ""


def _aggregated(value: bytes, snapshot: Snapshot) -> Iterator[Rule]:
    """The rules of a ClusterRole and of all that its selectors match, and theirs match: what controllers end with."""
    left = {entry.value: _decode_role(entry.value) for entry in snapshot.range(f"{_PREFIX}clusterroles/")}
    pending = [(value, left.pop(value))]
    while pending:
        value, role = pending.pop()
        yield from role.rules or ()
        if role.aggregation_rule is not None:
            selectors = _selectors_of(value)
            matched = [
                (other, one)
                for other, one in left.items()
                if any(selector.matches(one.metadata.labels) for selector in selectors)
            ]
            for other, _ in matched:
                del left[other]
            pending += reversed(matched)


@lru_cache(maxsize=1024)
def _selectors_of(value: bytes) -> tuple[LabelSelector, ...]:
    aggregation = _decode_role(value).aggregation_rule
    given = aggregation.cluster_role_selectors if aggregation is not None else []
    return tuple(selector for one in given if (selector := LabelSelector.of_object(one)) is not None)
