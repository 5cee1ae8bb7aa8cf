"""Nobody grants what they do not have: the escalation check of role-based access control.

A Role or ClusterRole is written only by who holds every permission in it, or may ``escalate`` that role. A binding is
written only by who holds every permission of the role it refers to, or may ``bind`` that role. An aggregated
ClusterRole can come to hold anything, so it takes everything to write one. ``system:masters`` have everything.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.auth.authorizer import MASTERS
from attractor.apiserver.auth.authorizer import Attributes as Asked
from attractor.apiserver.auth.rbac import GROUP, Rule, effective_rules, roles_of
from attractor.apiserver.request.caller import User
from attractor.objects.budget import Budget, OverBudget
from attractor.objects.errors import Forbidden, NotFound
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.objects.json_types import JsonObject

_ROLES = frozenset({"roles", "clusterroles"})
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})
_GARBAGE_FIELDS = ("ownerReferences", "finalizers")
_NOBODY = User()
"""Who asks when the server itself does."""
FREE_COMPARISONS = 50_000
"""How many permissions may be compared with rules for one write, however short it is: some hundredths of a second."""
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
        rules = effective_rules(resource, attributes.op.namespace, ref["name"], attributes.txn.snapshot)
        if rules is None:
            raise NotFound.of(GroupResource(GROUP, attributes.op.resource), ref["name"])
        _refuse_missing(attributes, rules)


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
    try:
        missing = list(_missing(wanted, held))
    except OverBudget:
        text = (
            "its rules grant more permissions than can be compared with those of "
            f'user "{user.name}"; split the rules, or have somebody write it who may escalate'
        )
        raise Forbidden.of(attributes.kind.group_resource, attributes.name, text) from None
    if not missing:
        return
    groups = " ".join(f'"{group}"' for group in user.groups)
    listed = "\n".join(sorted(set(described(missing))))
    text = (
        f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n{listed}'
    )
    raise Forbidden.of(attributes.kind.group_resource, attributes.name, f"{why}: {text}" if why else text)


def _missing(wanted: Iterable[Rule], held: Sequence[Rule]) -> Iterator[Permission]:
    """The permissions of rules that no rule held gives; raises ``OverBudget``, for a few names can mean millions."""
    rules = list(wanted)
    size = sum(sum(map(len, part)) + len(part) for rule in rules for part in msgspec.structs.astuple(rule))
    budget = Budget(FREE_COMPARISONS + 2 * size)
    names = {id(rule): frozenset(rule.resource_names) for rule in held}
    for rule in rules:
        budget.charge(len(held))
        if any(_covers_whole(one, rule) for one in held):
            continue
        for verb in rule.verbs:
            budget.charge(len(held))
            able = [one for one in held if "*" in one.verbs or verb in one.verbs]
            for url in rule.non_resource_urls:
                budget.charge(1 + len(able))
                if not any(_url_covers(pattern, url) for one in able for pattern in one.non_resource_urls):
                    yield Permission(url=url, verb=verb)
            for group, resource in product(rule.api_groups, rule.resources):
                budget.charge(1 + len(able))
                fitting = [one for one in able if _covers_thing(one, group, resource)]
                for name in rule.resource_names or ("",):
                    budget.charge(1 + len(fitting))
                    if not any(not names[id(one)] or (name and name in names[id(one)]) for one in fitting):
                        yield Permission(group, resource, name, verb=verb)


def _covers_thing(rule: Rule, group: str, resource: str) -> bool:
    return ("*" in rule.api_groups or group in rule.api_groups) and _resource_covers(rule.resources, resource)


def _covers_whole(rule: Rule, wanted: Rule) -> bool:
    """Whether one rule that is held includes all of another; that it does not says nothing."""
    if "*" not in rule.verbs and not set(wanted.verbs) <= set(rule.verbs):
        return False
    if "*" not in rule.non_resource_urls and not set(wanted.non_resource_urls) <= set(rule.non_resource_urls):
        return False
    return (
        ("*" in rule.api_groups or set(wanted.api_groups) <= set(rule.api_groups))
        and ("*" in rule.resources or set(wanted.resources) <= set(rule.resources))
        and not rule.resource_names
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
