"""Rules of pods and pod templates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.pods.containers import (
    validate_containers,
    validate_ids,
    validate_seccomp,
)
from attractor.apiserver.kinds.builtin.validation.pods.scheduling import validate_scheduling
from attractor.apiserver.kinds.builtin.validation.pods.volumes import validate_volumes
from attractor.apiserver.kinds.builtin.validation.rules import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    each,
    ip_address,
    named,
    one_of,
)
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX = 2**31 - 1
_MAX_NAMESERVERS = 3


def validate_pod(pod: JsonObject) -> list[FieldError]:
    """A new pod: ephemeral containers come later, and a node only when nothing holds the pod back."""
    spec = pod["spec"]
    errors = validate_pod_spec(spec, "spec", in_pod=True)
    if spec.get("ephemeralContainers"):
        errors.append(FieldError.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(FieldError.forbidden("spec.nodeName", detail))
    return errors


def validate_pod_spec(spec: JsonObject, path: str, *, in_pod: bool = False) -> list[FieldError]:
    """The spec of a pod, in a pod or in a template."""
    volumes, errors = validate_volumes(spec, path)
    errors += validate_containers(spec, path, volumes, in_pod=in_pod)
    errors += one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", (ALWAYS, ON_FAILURE, NEVER))
    errors += one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES)
    errors += names.validate_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    errors += validate_ids(spec.get("securityContext") or {}, f"{path}.securityContext")
    errors += validate_seccomp(spec.get("securityContext") or {}, f"{path}.securityContext")
    errors += _validate_context(spec, path)
    errors += _validate_system(spec, path)
    for alias, at in each(spec, "hostAliases", path):
        errors += ip_address(alias.get("ip", ""), f"{at}.ip")
        for name, where in each(alias, "hostnames", at):
            errors += named(names.dns1123_subdomain, name, where)
    errors += validate_scheduling(spec, path)
    errors += _validate_dns(spec, path)
    for field, rule in (("serviceAccountName", names.dns1123_subdomain), ("nodeName", names.dns1123_subdomain),
                        ("hostname", names.dns1123_label), ("subdomain", names.dns1123_label),
                        ("priorityClassName", names.dns1123_subdomain),
                        ("runtimeClassName", names.dns1123_subdomain)):  # fmt: skip
        if spec.get(field):
            errors += named(rule, spec[field], f"{path}.{field}")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        errors.append(FieldError.invalid(f"{path}.activeDeadlineSeconds", deadline, names.range_error(1, _INT32_MAX)))
    return errors


_NOT_ON_WINDOWS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
    "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_NOT_IN_WINDOWS_CONTAINERS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


_SYSCTL = re.compile(r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$")
_MAX_SYSCTL = 253
_WORDS = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}


def _validate_context(spec: JsonObject, path: str) -> list[FieldError]:
    """What the pod's security context says for all containers, and what the host shares."""
    context, at = spec.get("securityContext") or {}, f"{path}.securityContext"
    errors: list[FieldError] = []
    for group, where in each(context, "supplementalGroups", at):
        if not 0 <= group <= _INT32_MAX:
            errors.append(FieldError.invalid(where, group, names.range_error(0, _INT32_MAX)))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(FieldError.invalid(f"{at}.shareProcessNamespace", True, detail))
    seen: set[str] = set()
    for sysctl, where in each(context, "sysctls", at):
        name = sysctl.get("name", "")
        if not name:
            errors.append(FieldError.required(f"{where}.name"))
        elif len(name) > _MAX_SYSCTL or not _SYSCTL.match(name):
            detail = f"must have at most {_MAX_SYSCTL} characters and match regex {_SYSCTL.pattern}"
            errors.append(FieldError.invalid(f"{where}.name", name, detail))
        elif name in seen:
            errors.append(FieldError.duplicate(f"{where}.name", name))
        seen.add(name)
    for field, words in _WORDS.items():
        errors += one_of(context.get(field), f"{at}.{field}", words, optional=True)
    if spec.get("hostUsers") is False:
        shared = [field for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
        errors += [FieldError.forbidden(f"{path}.{field}", "when `hostUsers` is false") for field in shared]
    return errors


def _validate_system(spec: JsonObject, path: str) -> list[FieldError]:
    """The operating system, and what the other one does not know."""
    system = spec.get("os")
    if system is None:
        return []
    name = system.get("name", "")
    if not name:
        return [FieldError.required(f"{path}.os.name")]
    if name not in {"linux", "windows"}:
        return [FieldError.unsupported(f"{path}.os", name, ("linux", "windows"))]
    if name == "linux":
        return []
    detail, context = "cannot be set for a windows pod", spec.get("securityContext") or {}
    wrong = [f"{path}.securityContext.{field}" for field in _NOT_ON_WINDOWS if context.get(field) is not None]
    hosts = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
    wrong += [f"{path}.{field}" for field in hosts if spec.get(field)]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container, at in each(spec, field, path):
            said = container.get("securityContext") or {}
            wrong += [f"{at}.securityContext.{one}" for one in _NOT_IN_WINDOWS_CONTAINERS if said.get(one) is not None]
    return [FieldError.forbidden(at, detail) for at in wrong]


def _validate_dns(spec: JsonObject, path: str) -> list[FieldError]:
    config, at = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [FieldError.required(at, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [FieldError.required(f"{at}.nameservers", detail)]
    errors: list[FieldError] = []
    servers = (config or {}).get("nameservers") or []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(FieldError.invalid(f"{at}.nameservers", servers, detail))
    for server, where in each(config, "nameservers", at):
        errors += ip_address(server, where)
    for option, where in each(config, "options", at):
        if not option.get("name"):
            errors.append(FieldError.required(where, "must not be empty"))
    for search, where in each(config, "searches", at):
        errors += named(names.dns1123_subdomain_with_underscore, search.removesuffix("."), where)
    return errors


def validate_template_metadata(template: JsonObject, path: str) -> list[FieldError]:
    """Labels and annotations of a pod template; refusals leave ``metadata`` out of the path."""
    metadata = template.get("metadata") or {}
    errors = names.validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    return errors + names.validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")


def validate_template(template: JsonObject, path: str) -> list[FieldError]:
    """A pod template: its labels, its annotations, its spec."""
    errors = validate_template_metadata(template, path) + validate_pod_spec(template["spec"], f"{path}.spec")
    if template["spec"].get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(FieldError.forbidden(f"{path}.spec.ephemeralContainers", detail))
    return errors
