"""The parameters of a policy: the objects that a binding's ``paramRef`` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.custom import registry as custom_registry
from attractor.apiserver.kinds.registry import builtin_kind
from attractor.k8s import catalog
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.policies.policy import Binding, ParamRef, Policy
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject


class NoParams(Exception):
    """The parameters cannot be had; the text is Kubernetes'."""


def params_of(policy: Policy, binding: Binding, attributes: Attributes) -> list[JsonObject | None]:
    """The parameters to evaluate the policy with, one after the other; raises ``NoParams``.

    A policy without a paramKind, or a binding without a paramRef, is evaluated once with ``params`` null.
    """
    ref = binding.param_ref
    if policy.param_kind is None or ref is None:
        return [None]
    gvk = GroupVersionKind.of(*policy.param_kind)
    kind = kind_of(gvk, attributes.txn)
    if kind is None:
        raise NoParams(f"failed to find resource referenced by paramKind: '{gvk}'")
    found = _objects(kind, ref, _namespace(kind, ref, attributes), attributes.txn)
    if not found and ref.is_needed:
        raise NoParams("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [*found]


def _namespace(kind: Kind, ref: ParamRef, attributes: Attributes) -> str:
    if not kind.namespaced:
        if ref.namespace:
            raise NoParams("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    namespace = ref.namespace or (attributes.op.namespace if attributes.kind.namespaced else "")
    if not namespace:
        raise NoParams("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return namespace


def _objects(kind: Kind, ref: ParamRef, namespace: str, txn: Transaction) -> list[JsonObject]:
    if ref.name:
        entry = txn.snapshot.get(kind.key(namespace, ref.name))
        return [kind.decode(entry.value)] if entry else []
    selector = LabelSelector.of_object(ref.selector) or LabelSelector()
    objects = (kind.decode(entry.value) for entry in txn.range(kind.prefix(namespace)))
    return [obj for obj in objects if selector.matches(obj["metadata"].get("labels") or {})]


def kind_of(gvk: GroupVersionKind, txn: Transaction) -> Kind | None:
    """The served kind of that name."""
    info = catalog.find_kind(gvk)
    if info is not None:
        return builtin_kind(info.gvk.group, info.gvk.version, info.resource)
    for entry in txn.range(custom_registry.PREFIX):
        kind = custom_registry.served_kinds(entry.value).get(gvk.version)
        if kind is not None and kind.gvk == gvk:
            return kind.bound_to(txn)
    return None
