"""The admission that kube-apiserver has switched on for built-in kinds, by the names it gives it.

Each plug-in is pure and stands for itself; ``DEFAULT_PLUGINS`` has them in Kubernetes' order. A bare ``Core`` runs
without them, as envtest does without ServiceAccount: whoever wants the whole of a real server's behaviour puts them
into the chain with ``chain.chain_with``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugins.certificates import CertificateSubjectRestriction
from attractor.apiserver.admission.plugins.classes import DefaultIngressClass, DefaultStorageClass
from attractor.apiserver.admission.plugins.limits import LimitRanger
from attractor.apiserver.admission.plugins.nodes import TaintNodesByCondition
from attractor.apiserver.admission.plugins.pod_security import PodSecurity
from attractor.apiserver.admission.plugins.priority import Priority
from attractor.apiserver.admission.plugins.quota import ResourceQuota
from attractor.apiserver.admission.plugins.runtime_class import RuntimeClass
from attractor.apiserver.admission.plugins.service_account import ServiceAccount
from attractor.apiserver.admission.plugins.storage import PersistentVolumeClaimResize, StorageObjectInUseProtection
from attractor.apiserver.admission.plugins.tolerations import DefaultTolerationSeconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attractor.apiserver.admission.plugin import Plugin

DEFAULT_PLUGINS: Mapping[str, Plugin] = {
    "LimitRanger": LimitRanger(),
    "ServiceAccount": ServiceAccount(),
    "TaintNodesByCondition": TaintNodesByCondition(),
    "PodSecurity": PodSecurity(),
    "Priority": Priority(),
    "DefaultTolerationSeconds": DefaultTolerationSeconds(),
    "DefaultStorageClass": DefaultStorageClass(),
    "StorageObjectInUseProtection": StorageObjectInUseProtection(),
    "PersistentVolumeClaimResize": PersistentVolumeClaimResize(),
    "RuntimeClass": RuntimeClass(),
    "CertificateSubjectRestriction": CertificateSubjectRestriction(),
    "DefaultIngressClass": DefaultIngressClass(),
    "ResourceQuota": ResourceQuota(),
}
"""By name, in the order in which they run."""

PLUGIN_NAMES: tuple[str, ...] = tuple(DEFAULT_PLUGINS)


class UnknownPlugin(ValueError):
    """There is no plug-in of that name; the text lists those there are."""


def plugins_named(names: Collection[str]) -> tuple[Plugin, ...]:
    """The plug-ins of these names in their order; raises ``UnknownPlugin``."""
    unknown = sorted(set(names) - set(DEFAULT_PLUGINS))
    if unknown:
        raise UnknownPlugin(f"there is no admission plug-in {', '.join(unknown)}; there are {', '.join(PLUGIN_NAMES)}")
    return tuple(plugin for name, plugin in DEFAULT_PLUGINS.items() if name in names)
