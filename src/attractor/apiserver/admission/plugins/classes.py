"""DefaultStorageClass and DefaultIngressClass: what names no class gets the default one, if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import CLAIMS, every, is_about
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.transaction import Transaction

_STORAGE_DEFAULT = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_INGRESS_DEFAULT = ("ingressclass.kubernetes.io/is-default-class",)
_INGRESS_CLASS = "kubernetes.io/ingress.class"


class DefaultStorageClass(Plugin):
    """Gives new claims the default class."""

    concerns = frozenset({CLAIMS})

    def admit(self, attributes: Attributes) -> None:
        """Set it where none was asked for; the empty class is a class, too."""
        if is_about(attributes, "", "persistentvolumeclaims"):
            _set(attributes, "storage.k8s.io", "storageclasses", "storageClassName", _STORAGE_CLASS, _STORAGE_DEFAULT)


class DefaultIngressClass(Plugin):
    """Gives new ingresses the default class."""

    concerns = frozenset({GroupResource("networking.k8s.io", "ingresses")})

    def admit(self, attributes: Attributes) -> None:
        """Set it where none was asked for."""
        if is_about(attributes, "networking.k8s.io", "ingresses"):
            _set(
                attributes, "networking.k8s.io", "ingressclasses", "ingressClassName", _INGRESS_CLASS, _INGRESS_DEFAULT
            )


def _set(
    attributes: Attributes, group: str, resource: str, field: str, annotation: str, marks: tuple[str, ...]
) -> None:
    obj = attributes.obj
    if obj is None or attributes.old is not None or obj["spec"].get(field) is not None:
        return
    if annotation in (obj["metadata"].get("annotations") or {}):
        return
    name = _default(attributes.txn, group, resource, marks)
    if name is not None:
        obj["spec"][field] = name


def _default(txn: Transaction, group: str, resource: str, marks: tuple[str, ...]) -> str | None:
    """The class that is marked as default; of several the newest, then the first by name."""
    found = [
        one["metadata"]
        for one in every(txn, group, resource)
        if any((one["metadata"].get("annotations") or {}).get(mark) == "true" for mark in marks)
    ]
    if not found:
        return None
    newest = max(one["creationTimestamp"] for one in found)
    return min(str(one["name"]) for one in found if one["creationTimestamp"] == newest)
