"""Nobody grants what they do not have: the escalation check of role-based access control.

A Role or ClusterRole is written only by who holds every permission in it, or may ``escalate`` that role. A binding is
written only by who holds every permission of the role it refers to, or may ``bind`` that role. An aggregated
ClusterRole can come to hold anything, so it takes everything to write one. ``system:masters`` have everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from attractor.apiserver.admission import Plugin
from attractor.apiserver.asked import User
from attractor.apiserver.authorization import MASTERS
from attractor.apiserver.authorization import Attributes as Asked
from attractor.apiserver.rbac import GROUP, Rule, roles_of
from attractor.objects.errors import Forbidden, NotFound
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attractor.apiserver.admission import Attributes
    from attractor.apiserver.authorization import Authorizer
    from attractor.objects.jsontypes import JsonObject

_ROLES = frozenset({"roles", "clusterroles"})
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})
_GARBAGE_FIELDS = ("ownerReferences", "finalizers")
_NOBODY = User()
"""Who asks when the server itself does."""
_EVERYTHING = (
    Rule(verbs=("*",), api_groups=("*",), resources=("*",)),
    Rule(verbs=("*",), non_resource_urls=("*",)),
)


class Permission(NamedTuple):
    """One verb on one thing."""

    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""
    verb: str = ""


class EscalationCheck(Plugin):
    """Refuses roles and bindings that give more than their writer has."""

    concerns = frozenset(GroupResource(GROUP, resource) for resource in _ROLES | _BINDINGS)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def validate(self, attributes: Attributes) -> None:
        """Check a new or changed role or binding."""
        user, obj, kind = attributes.op.user, attributes.obj, attributes.kind
        if obj is None or user == _NOBODY or MASTERS in user.groups:
            return
        if attributes.old is not None and _only_garbage_fields_differ(obj, attributes.old):
            return
        if kind.resource in _ROLES:
            self._check_role(attributes, obj)
        elif kind.resource in _BINDINGS:
            self._check_binding(attributes, obj)

    def _may(self, attributes: Attributes, verb: str, resource: str, name: str) -> bool:
        asked = Asked(verb, GROUP, "v1", resource, "", attributes.op.namespace, name)
        return self._authorizer.decide(attributes.op.user, asked, attributes.txn.snapshot).allowed

    def _check_role(self, attributes: Attributes, role: JsonObject) -> None:
        if self._may(attributes, "escalate", attributes.kind.resource, attributes.name):
            return
        rules = _rules(role)
        if role.get("aggregationRule"):
            why = "must have cluster-admin privileges to use an aggregationRule"
            _refuse_missing(attributes, _EVERYTHING, why)
        _refuse_missing(attributes, rules)

    def _check_binding(self, attributes: Attributes, binding: JsonObject) -> None:
        ref = binding["roleRef"]
        resource = "clusterroles" if ref["kind"] == "ClusterRole" else "roles"
        if self._may(attributes, "bind", resource, ref["name"]):
            return
        place = "" if resource == "clusterroles" else f"{attributes.op.namespace}/"
        entry = attributes.txn.snapshot.get(f"{GROUP}/{resource}/{place}{ref['name']}")
        if entry is None:
            raise NotFound.of(GroupResource(GROUP, attributes.op.resource), ref["name"])
        _refuse_missing(attributes, _rules(orjson.loads(entry.value)))


def _only_garbage_fields_differ(obj: JsonObject, old: JsonObject) -> bool:
    """Whether the write only lets the garbage collector do its work."""

    def rest(one: JsonObject) -> JsonObject:
        dropped = {*_GARBAGE_FIELDS, "managedFields", "resourceVersion"}
        metadata = {name: value for name, value in one["metadata"].items() if name not in dropped}
        return {**one, "metadata": metadata}

    return rest(obj) == rest(old)


def _rules(role: JsonObject) -> tuple[Rule, ...]:
    return msgspec.convert(role.get("rules") or (), tuple[Rule, ...])


def _refuse_missing(attributes: Attributes, wanted: Iterable[Rule], why: str = "") -> None:
    user = attributes.op.user
    held = [rule for role in roles_of(user, attributes.op.namespace, attributes.txn.snapshot) for rule in role.rules]
    missing = [one for rule in wanted for one in _permissions(rule) if not any(_covers(rule, one) for rule in held)]
    if not missing:
        return
    groups = " ".join(f'"{group}"' for group in user.groups)
    listed = "\n".join(sorted(set(described(missing))))
    text = (
        f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n{listed}'
    )
    raise Forbidden.of(attributes.kind.group_resource, attributes.name, f"{why}: {text}" if why else text)


def _permissions(rule: Rule) -> Iterator[Permission]:
    """A rule, taken apart."""
    for verb in rule.verbs:
        for url in rule.non_resource_urls:
            yield Permission(url=url, verb=verb)
        for group in rule.api_groups:
            for resource in rule.resources:
                for name in rule.resource_names or ("",):
                    yield Permission(group, resource, name, verb=verb)


def _covers(rule: Rule, wanted: Permission) -> bool:
    """Whether a rule that is held includes a permission."""
    if "*" not in rule.verbs and wanted.verb not in rule.verbs:
        return False
    if wanted.url:
        return any(_url_covers(pattern, wanted.url) for pattern in rule.non_resource_urls)
    return (
        ("*" in rule.api_groups or wanted.group in rule.api_groups)
        and _resource_covers(rule.resources, wanted.resource)
        and (not rule.resource_names or (bool(wanted.name) and wanted.name in rule.resource_names))
    )


def _url_covers(pattern: str, url: str) -> bool:
    return pattern in {"*", url} or (pattern.endswith("*") and url.startswith(pattern[:-1]))


def _resource_covers(held: Sequence[str], wanted: str) -> bool:
    if "*" in held or wanted in held:
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def described(missing: Sequence[Permission]) -> Iterator[str]:
    """Permissions as Kubernetes writes rules, those on one thing together.

    >>> list(described([Permission("", "pods", verb="get"), Permission("", "pods", verb="list")]))
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']
    """
    verbs: dict[Permission, list[str]] = {}
    for one in missing:
        verbs.setdefault(one._replace(verb=""), []).append(one.verb)
    for thing, said in verbs.items():
        parts = []
        if thing.url:
            parts.append(f'NonResourceURLs:["{thing.url}"]')
        else:
            parts += [f'APIGroups:["{thing.group}"]', f'Resources:["{thing.resource}"]']
            if thing.name:
                parts.append(f'ResourceNames:["{thing.name}"]')
        parts.append("Verbs:[" + " ".join(f'"{verb}"' for verb in dict.fromkeys(said)) + "]")
        yield "{" + ", ".join(parts) + "}"
