"""Warnings to writers of pods and pod templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.validation.rules import amount, each
from attractor.objects import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject

DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_COMPARED_PORTS = 16
"""With so many of the same number each port is compared: more warnings than that nobody is told."""
_NO_SELECTOR = "a null labelSelector results in matching no pod"


def pod_warnings(spec: JsonObject, metadata: JsonObject, path: str, *, is_template: bool) -> Iterator[str]:
    """Everything worth a warning, in the order in which Kubernetes looks; ``path`` ends in a dot, or is empty."""
    annotations = metadata.get("annotations") or {}
    yield from _scheduling(spec, f"{path}spec")
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    yield from _volumes(spec, f"{path}spec")
    yield from _repeated(spec, f"{path}spec")
    if _SECCOMP in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        at = f"{path}metadata.annotations[{_SECCOMP}]"
        yield f'{at}: non-functional in v1.27+; use the "seccompProfile" field instead'
    for container, at in _containers(spec, f"{path}spec"):
        key = f"{_APP_ARMOR}{container.get('name')}"
        if is_template and key in annotations and not (container.get("securityContext") or {}).get("appArmorProfile"):
            yield f'{path}metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
        yield from _fractions(container, at)
        yield from _hidden_variables(container, at)
    yield from _ports(spec, f"{path}spec")
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        at = f"{path}spec.terminationGracePeriodSeconds"
        yield f"{at}: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _pod_affinity(spec, f"{path}spec.affinity")


def _containers(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from each(spec, field, path)


def _scheduling(spec: JsonObject, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    affinity, at = (spec.get("affinity") or {}).get("nodeAffinity") or {}, f"{path}.affinity.nodeAffinity"
    for term, where in each(affinity.get(_REQUIRED), "nodeSelectorTerms", f"{at}.{_REQUIRED}"):
        yield from term_warnings(term, where, with_values=False)
    for term, where in each(affinity, _PREFERRED, at):
        yield from term_warnings(term.get("preference") or {}, f"{where}.preference", with_values=True)
    for constraint, where in each(spec, "topologySpreadConstraints", path):
        key = constraint.get("topologyKey")
        if key in DEPRECATED_LABELS:
            yield f"{where}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"


def term_warnings(term: JsonObject, path: str, *, with_values: bool) -> Iterator[str]:
    """Labels of nodes in a selector's term that are out of use, and values that no label has."""
    for expression, at in each(term, "matchExpressions", path):
        key = expression.get("key")
        if key in DEPRECATED_LABELS:
            yield f"{at}.key: {key} is {DEPRECATED_LABELS[key]}"
        for value, where in each(expression, "values", at) if with_values else ():
            for text in names.label_value(value):
                yield f"{where}: {value} is invalid, {text}"


def _volumes(spec: JsonObject, path: str) -> Iterator[str]:
    for volume, at in each(spec, "volumes", path):
        for name, text in _VOLUMES.items():
            if volume.get(name) is not None:
                yield f"{at}.{'storageOS' if name == 'storageos' else name}: {text}"
    for volume, _ in each(spec, "volumes", path):
        for field, what in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
            source = volume.get(field) or {}
            named = source.get("secretName" if field == "secret" else "name", "")
            said = what if field == "downwardAPI" else f'{what} "{named}"'
            for text in _overlaps([(item.get("path", ""), "") for item in source.get("items") or ()]):
                yield f'volume "{volume.get("name")}" ({said}): overlapping paths: {text}'
        if volume.get("projected") is not None:
            yield from _projected(volume)


def _projected(volume: JsonObject) -> Iterator[str]:
    paths: list[tuple[str, str]] = []
    for source in volume["projected"].get("sources") or ():
        if not source:
            yield f'volume "{volume.get("name")}" (Projected) has no sources provided'
        for field, what in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
            said = source.get(field) or {}
            shown = what if field == "downwardAPI" else f'{what} "{said.get("name", "")}"'
            paths += [(item.get("path", ""), shown) for item in said.get("items") or ()]
        if source.get("serviceAccountToken") is not None:
            paths.append((source["serviceAccountToken"].get("path", ""), "ServiceAccountToken"))
    for text in _overlaps(paths):
        yield f'volume "{volume.get("name")}" (Projected): overlapping paths: {text}'


def _overlaps(paths: list[tuple[str, str]]) -> Iterator[str]:
    """Each path that is another one, or lies in it, with that other one."""
    seen: list[tuple[str, str]] = []
    for path, source in paths:
        needle = path.rstrip("/")
        for other, origin in seen:
            if needle and other and (f"{other}/".startswith(f"{needle}/") or f"{needle}/".startswith(f"{other}/")):
                yield f"{_quoted(needle, source)} with {_quoted(other, origin)}"
        seen.append((needle, source))


def _quoted(path: str, source: str) -> str:
    return f'"{path}" ({source})' if source else f'"{path}"'


def _repeated(spec: JsonObject, path: str) -> Iterator[str]:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[Any] = set()
        for item, at in each(spec, field, path):
            value = item.get(key, "")
            if value in seen:
                yield f'{at}.{key}: duplicate {key} "{value}"'
            seen.add(value)
    for item, at in each(spec, "imagePullSecrets", path):
        if not item.get("name"):
            yield f'{at}.name: invalid empty name ""'
    for name in ("memory", "ephemeral-storage"):
        yield from _fraction(spec.get("overhead"), name, f"{path}.overhead")


def _fractions(container: JsonObject, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for field in ("limits", "requests"):
            yield from _fraction(resources.get(field), name, f"{path}.resources.{field}")


def _fraction(amounts: JsonObject | None, name: str, path: str) -> Iterator[str]:
    value = (amounts or {}).get(name)
    if value is not None and amount(value).nanos // 10**6 % 1000:
        yield f'{path}[{name}]: fractional byte value "{value}" is invalid, must be an integer'


def _hidden_variables(container: JsonObject, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for variable, at in each(container, "env", path):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        hides = variable.get("valueFrom") is not None or value == reference or reference not in value
        if name in seen and hides:
            yield f'{at}: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _ports(spec: JsonObject, path: str) -> Iterator[str]:
    taken: dict[Any, list[tuple[JsonObject, str]]] = {}
    for container, at in _containers(spec, path):
        for port, where in each(container, "ports", at):
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{where}: hostIP set without hostPort: {_go_struct(port)}"
            others = taken.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for other, there in others:
                yield from _port_clash(port, where, other, there)
            if len(others) < _COMPARED_PORTS:
                others.append((port, where))
    named: dict[str, str] = {}
    for container, at in _containers(spec, path):
        for port, where in each(container, "ports", at):
            name = port.get("name", "")
            if name and name in named:
                first = named[name]
                yield (
                    f'{where}: duplicate port name "{name}" with {first}, '
                    f"services and probes that select ports by name will use {first}"
                )
            elif name:
                named[name] = where


def _go_struct(port: JsonObject) -> str:
    """A port as Go's ``%+v`` prints it."""
    fields = {"name": "", "hostPort": 0, "containerPort": 0, "protocol": "", "hostIP": ""}
    written = " ".join(f"{name[0].upper()}{name[1:]}:{port.get(name, zero)}" for name, zero in fields.items())
    return f"{{{written}}}"


def _port_clash(port: JsonObject, path: str, other: JsonObject, there: str) -> Iterator[str]:
    host, number = port.get("hostIP", ""), port.get("hostPort", 0)
    other_host, other_number = other.get("hostIP", ""), other.get("hostPort", 0)
    if (host, number) == (other_host, other_number):
        yield f"{path}: duplicate port definition with {there}"
    elif not number or not other_number:
        yield f"{path}: overlapping port definition with {there}"
    elif number == other_number and (not host) != (not other_host):
        yield f"{path}: dangerously ambiguous port definition with {there}"


def _pod_affinity(spec: JsonObject, path: str) -> Iterator[str]:
    for field in ("podAffinity", "podAntiAffinity"):
        said = (spec.get("affinity") or {}).get(field)
        for term, at in each(said, _REQUIRED, f"{path}.{field}"):
            if term.get("labelSelector") is None:
                yield f"{at}.labelSelector: {_NO_SELECTOR}"
        for term, at in each(said, _PREFERRED, f"{path}.{field}"):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{at}.podAffinityTerm.labelSelector: {_NO_SELECTOR}"
