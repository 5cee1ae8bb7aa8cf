"""Privileged containers are for clusters that allow them, as kube-apiserver does with ``--allow-privileged`` only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import PODS, TEMPLATES
from attractor.objects.errors import Invalid
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject

_JUDGED = frozenset({"", "ephemeralcontainers", "resize"})
"""What validates a pod's spec: the pod itself and these subresources."""


class NoPrivilegedContainers(Plugin):
    """Refuses what would run with all rights of its node, in the words of a failed validation."""

    concerns = frozenset({PODS, *(GroupResource(*place) for place in TEMPLATES)})

    def validate(self, attributes: Attributes) -> None:
        """Refuse pods, and templates of pods, with a privileged container of any kind."""
        obj, kind = attributes.obj, attributes.kind
        if obj is None or attributes.op.subresource not in _JUDGED:
            return
        path = (*TEMPLATES.get((kind.gvk.group, kind.resource), ()), "spec")
        spec = obj
        for field in path:
            spec = spec.get(field) or {}
        errors = list(_errors(spec, ".".join(path)))
        if errors:
            raise Invalid.of(kind.said_by(obj), attributes.name, errors)


def _errors(spec: JsonObject, path: str) -> Iterator[FieldError]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            if (container.get("securityContext") or {}).get("privileged"):
                where = f"{path}.{field}[{index}].securityContext.privileged"
                yield FieldError.forbidden(where, "disallowed by cluster policy")
