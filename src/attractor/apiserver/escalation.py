"""Nobody hands out permissions that they do not have: admission of roles and bindings, as RBAC in Kubernetes has it.

Writing a role takes every permission in it, or the verb ``escalate`` on it; binding a role takes every permission of
the role, or the verb ``bind`` on it; a rule of aggregation takes all permissions. What comes from inside the
process, and so has neither of the groups that authentication gives, is trusted.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import msgspec

from attractor.apiserver.admission import Plugin
from attractor.apiserver.authorization import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from attractor.apiserver.authorization import Attributes as Asked
from attractor.apiserver.rbac import GROUP, Rule, bound_role, roles_of
from attractor.objects.errors import Forbidden, NotFound
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attractor.apiserver.admission import Attributes
    from attractor.apiserver.authorization import Authorizer
    from attractor.apiserver.operation import User
    from attractor.objects.jsontypes import JsonObject
    from attractor.store.contract import Snapshot

_ROLES, _BINDINGS = {"roles", "clusterroles"}, {"rolebindings", "clusterrolebindings"}
_EVERYTHING = (
    Rule(verbs=("*",), api_groups=("*",), resources=("*",)),
    Rule(verbs=("*",), non_resource_urls=("*",)),
)


def single_rules(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Rules broken down into such that allow one verb on one resource, name or path each."""
    for rule in rules:
        for verb, url in product(rule.verbs, rule.non_resource_urls):
            yield Rule(verbs=(verb,), non_resource_urls=(url,))
        for verb, group, resource in product(rule.verbs, rule.api_groups, rule.resources):
            if not rule.resource_names:
                yield Rule((verb,), (group,), (resource,))
            for name in rule.resource_names:
                yield Rule((verb,), (group,), (resource,), (name,))


def covers(owned: Sequence[Rule], single: Rule) -> bool:
    """Whether some owned rule allows all that a single rule allows."""
    return any(_covers(rule, single) for rule in owned)


def _covers(rule: Rule, single: Rule) -> bool:
    if "*" not in rule.verbs and single.verbs[0] not in rule.verbs:
        return False
    if single.non_resource_urls:
        url = single.non_resource_urls[0]
        return any(
            owned in {"*", url} or (owned.endswith("*") and url.startswith(owned.rstrip("*")))
            for owned in rule.non_resource_urls
        )
    if "*" not in rule.api_groups and single.api_groups[0] not in rule.api_groups:
        return False
    resource = single.resources[0]
    _, slash, subresource = resource.partition("/")
    if not ({"*", resource} & set(rule.resources) or (slash and f"*/{subresource}" in rule.resources)):
        return False
    return not rule.resource_names or (bool(single.resource_names) and single.resource_names[0] in rule.resource_names)


class NoEscalation(Plugin):
    """Refuses roles and bindings that would give more than the writer has."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def validate(self, attributes: Attributes) -> None:
        """Look at what the object, as it will be stored, hands out."""
        op, kind, obj, old = attributes.op, attributes.kind, attributes.obj, attributes.old
        if kind.gvk.group != GROUP or obj is None or not {AUTHENTICATED, UNAUTHENTICATED} & set(op.user.groups):
            return
        if MASTERS in op.user.groups:
            return
        if kind.resource in _ROLES:
            self._check_role(attributes, obj, old or {})
        elif kind.resource in _BINDINGS and (old is None or obj.get("subjects") != old.get("subjects")):
            self._check_binding(attributes, obj)

    def _check_role(self, attributes: Attributes, obj: JsonObject, old: JsonObject) -> None:
        if obj.get("rules") == old.get("rules") and obj.get("aggregationRule") == old.get("aggregationRule"):
            return
        if self._may(attributes, "escalate", attributes.kind.resource, obj["metadata"].get("name", "")):
            return
        given = msgspec.convert(obj.get("rules") or (), tuple[Rule, ...])
        if obj.get("aggregationRule"):
            given = (*given, *_EVERYTHING)
        self._check(attributes, given, obj)

    def _check_binding(self, attributes: Attributes, obj: JsonObject) -> None:
        reference = obj["roleRef"]
        resource = "clusterroles" if reference["kind"] == "ClusterRole" else "roles"
        if self._may(attributes, "bind", resource, reference["name"]):
            return
        snapshot = attributes.txn.snapshot
        role = bound_role(reference["kind"], reference["name"], attributes.op.namespace, snapshot)
        if role.missing:
            raise NotFound.of(GroupResource(GROUP, resource), reference["name"])
        self._check(attributes, role.rules, obj)

    def _may(self, attributes: Attributes, verb: str, resource: str, name: str) -> bool:
        asked = Asked(verb, GROUP, "v1", resource, "", attributes.op.namespace, name)
        return self._authorizer.decide(attributes.op.user, asked, attributes.txn.snapshot).allowed

    def _check(self, attributes: Attributes, given: Iterable[Rule], obj: JsonObject) -> None:
        op = attributes.op
        owned = owned_rules(op.user, op.namespace, attributes.txn.snapshot)
        lacking = [single for single in single_rules(given) if not covers(owned, single)]
        if lacking:
            groups = " ".join(f'"{group}"' for group in op.user.groups)
            who = f'user "{op.user.name}" (groups=[{groups}])'
            why = f"{who} is attempting to grant RBAC permissions not currently held:\n"
            listed = "\n".join(_text(rule) for rule in _merged(lacking))
            raise Forbidden.of(attributes.kind.group_resource, obj["metadata"].get("name", ""), why + listed)


def owned_rules(user: User, namespace: str, snapshot: Snapshot) -> list[Rule]:
    """Every rule that applies to a user in a namespace."""
    return [rule for role in roles_of(user, namespace, snapshot) for rule in role.rules]


def _merged(singles: Iterable[Rule]) -> Iterator[Rule]:
    """Single rules on the same thing as one with all their verbs."""
    found: dict[Rule, list[str]] = {}
    for rule in singles:
        found.setdefault(msgspec.structs.replace(rule, verbs=()), []).extend(rule.verbs)
    for what, verbs in found.items():
        yield msgspec.structs.replace(what, verbs=tuple(dict.fromkeys(verbs)))


def _text(rule: Rule) -> str:
    parts = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "ResourceNames": rule.resource_names,
        "NonResourceURLs": rule.non_resource_urls,
        "Verbs": rule.verbs,
    }
    shown = [
        f"{name}:[{' '.join(f'{chr(34)}{one}{chr(34)}' for one in values)}]" for name, values in parts.items() if values
    ]
    return f"{{{', '.join(shown)}}}"
