"""PodSecurity: a namespace's labels say how far the pods in it may go.

The checks are those of the Pod Security Standards as of the newest version; older versions that a label may name are
read, shown, and not told apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from attractor.apiserver.admission.plugin import NAMESPACES, Plugin
from attractor.apiserver.admission.plugins.lookup import PODS, TEMPLATES, every, find, forbidden
from attractor.apiserver.admission.plugins.pod_standards import violations
from attractor.objects.errors import Invalid
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupKind, GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.plugins.pod_standards import Violation
    from attractor.objects.json_types import JsonObject

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
_MODES = ("enforce", "audit", "warn")
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")


class _Policy(NamedTuple):
    level: str
    version: str

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


class PodSecurity(Plugin):
    """Refuses pods that their namespace does not allow, and warns about templates of such pods."""

    concerns = frozenset({NAMESPACES, PODS, *(GroupResource(*place) for place in TEMPLATES)})

    def validate(self, attributes: Attributes) -> None:
        """Judge pods by what is enforced, everything by what is warned of, and namespaces by their labels."""
        obj, kind = attributes.obj, attributes.kind
        if obj is None or attributes.op.subresource not in {"", "ephemeralcontainers"}:
            return
        place = kind.gvk.group, kind.resource
        if place == ("", "namespaces") and not attributes.op.subresource:
            _check_namespace(attributes, obj)
        elif place == ("", "pods"):
            if attributes.old is None or attributes.old["spec"] != obj["spec"]:
                _judge(attributes, obj["spec"], is_pod=True)
        elif place in TEMPLATES and not attributes.op.subresource:
            template = _at(obj, TEMPLATES[place])
            if template and (attributes.old is None or _at(attributes.old, TEMPLATES[place]) != template):
                _judge(attributes, template.get("spec") or {}, is_pod=False)


def _at(obj: JsonObject, path: tuple[str, ...]) -> JsonObject:
    for field in path:
        obj = obj.get(field) or {}
    return obj


def _policy(namespace: JsonObject | None, mode: str) -> _Policy:
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    level, version = labels.get(f"{PREFIX}{mode}", "privileged"), labels.get(f"{PREFIX}{mode}-version", "latest")
    if level not in LEVELS:
        level = "restricted" if mode == "enforce" else "privileged"
    return _Policy(level, version if _VERSION.fullmatch(version) else "latest")


def _judge(attributes: Attributes, spec: JsonObject, *, is_pod: bool) -> None:
    namespace = find(attributes.txn, "", "namespaces", "", attributes.op.namespace)
    if is_pod:
        enforced = _policy(namespace, "enforce")
        wrong = violations(spec, enforced.level)
        if wrong:
            raise forbidden(attributes, f'violates PodSecurity "{enforced}": {_details(wrong)}')
    warned = _policy(namespace, "warn")
    wrong = violations(spec, warned.level)
    if wrong:
        attributes.txn.warn(f'would violate PodSecurity "{warned}": {_details(wrong)}')


def _details(wrong: list[Violation]) -> str:
    return ", ".join(f"{one.reason} ({one.detail})" for one in wrong)


def _check_namespace(attributes: Attributes, namespace: JsonObject) -> None:
    before = ((attributes.old or {}).get("metadata") or {}).get("labels") or {}
    errors = list(_label_errors(namespace["metadata"].get("labels") or {}))
    if errors and errors != list(_label_errors(before)):
        raise Invalid.of(GroupKind("", "Namespace"), attributes.name, errors)
    if attributes.old is None:
        return
    policy, old = _policy(namespace, "enforce"), _policy(attributes.old, "enforce")
    if LEVELS.index(policy.level) > LEVELS.index(old.level):
        for text in _about_existing_pods(attributes, policy):
            attributes.txn.warn(text)


def _label_errors(labels: JsonObject) -> Iterator[FieldError]:
    for mode in _MODES:
        level, version = labels.get(f"{PREFIX}{mode}"), labels.get(f"{PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            detail = f"must be one of {', '.join(LEVELS)}"
            yield FieldError.invalid(f"metadata.labels[{PREFIX}{mode}]", level, detail)
        if version is not None and version != "latest" and not _VERSION.fullmatch(version):
            at = f"metadata.labels[{PREFIX}{mode}-version]"
            yield FieldError.invalid(at, version, 'must be "latest" or "v1.x"')


def _about_existing_pods(attributes: Attributes, policy: _Policy) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for pod in every(attributes.txn, "", "pods", attributes.name):
        wrong = violations(pod["spec"], policy.level)
        if wrong:
            names.setdefault(", ".join(one.reason for one in wrong), []).append(pod["metadata"]["name"])
    if names:
        yield f'existing pods in namespace "{attributes.name}" violate the new PodSecurity enforce level "{policy}"'
    for first, others, reasons in sorted((min(pods), len(pods) - 1, reasons) for reasons, pods in names.items()):
        more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        yield f"{first}{more}: {reasons}"
