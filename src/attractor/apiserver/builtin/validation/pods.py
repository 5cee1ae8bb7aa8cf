"""Rules of pods and pod templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.builtin.validation.containers import (
    FIELD_PATHS,
    validate_containers,
    validate_field_ref,
    validate_ids,
    validate_seccomp,
)
from attractor.apiserver.builtin.validation.rules import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    each,
    ip_address,
    named,
    one_of,
    required,
    required_name,
    unique,
)
from attractor.apiserver.builtin.validation.scheduling import validate_scheduling
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Collection

    from attractor.objects.jsontypes import JsonObject

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX = 2**31 - 1
_MAX_NAMESERVERS = 3
_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_REQUIRED_IN_SOURCE = {
    "secret": "secretName",
    "configMap": "name",
    "persistentVolumeClaim": "claimName",
    "hostPath": "path",
}


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


def validate_pod_spec(
    spec: JsonObject, path: str, extra_volumes: Collection[str] = (), *, in_pod: bool = False
) -> list[FieldError]:
    """The spec of a pod, in a pod or in a template; ``extra_volumes`` come from claim templates."""
    errors: list[FieldError] = []
    volumes = {volume.get("name", "") for volume, _ in each(spec, "volumes", path)} | set(extra_volumes)
    errors += _validate_volumes(spec, path)
    errors += validate_containers(spec, path, volumes, in_pod=in_pod)
    errors += one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", (ALWAYS, ON_FAILURE, NEVER))
    errors += one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES)
    errors += names.validate_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    errors += validate_ids(spec.get("securityContext") or {}, f"{path}.securityContext")
    errors += validate_seccomp(spec.get("securityContext") or {}, f"{path}.securityContext")
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
    for search, where in each(config, "searches", at):
        errors += named(names.dns1123_subdomain_with_underscore, search.removesuffix("."), where)
    return errors


def validate_template(template: JsonObject, path: str, extra_volumes: Collection[str] = ()) -> list[FieldError]:
    """A pod template: its labels, its annotations, its spec."""
    metadata = template.get("metadata") or {}
    errors = names.validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    errors += names.validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")
    errors += validate_pod_spec(template["spec"], f"{path}.spec", extra_volumes)
    if template["spec"].get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(FieldError.forbidden(f"{path}.spec.ephemeralContainers", detail))
    return errors


def _validate_volumes(spec: JsonObject, path: str) -> list[FieldError]:
    errors = []
    for volume, at in each(spec, "volumes", path):
        errors += required_name(names.dns1123_label, volume.get("name"), f"{at}.name")
        sources = sorted((name for name in volume if name != "name"), key=lambda name: name != "emptyDir")
        if not sources:
            errors.append(FieldError.required(at, "must specify a volume type"))
        for name in sources[1:]:
            errors.append(FieldError.forbidden(f"{at}.{name}", "may not specify more than 1 volume type"))
        for name in sources[:1]:
            errors += _validate_source(name, volume[name] or {}, f"{at}.{name}")
    return errors + unique((volume.get("name"), f"{at}.name") for volume, at in each(spec, "volumes", path))


def _validate_source(name: str, source: JsonObject, path: str) -> list[FieldError]:
    errors = []
    if name in _REQUIRED_IN_SOURCE:
        errors += required(source, path, _REQUIRED_IN_SOURCE[name])
    if name == "hostPath" and ".." in source.get("path", "").split("/"):
        errors.append(FieldError.invalid(f"{path}.path", source["path"], "must not contain '..'"))
    if name == "hostPath" and source.get("type") not in {None, *_HOST_PATH_TYPES}:
        errors.append(FieldError.unsupported(f"{path}.type", source["type"], _HOST_PATH_TYPES))
    for item, at in each(source, "items", path):
        if name == "downwardAPI":
            errors += required(item, at, "path")
            if item.get("fieldRef") is not None:
                supported = (*FIELD_PATHS[:3], "metadata.labels", "metadata.annotations")
                errors += validate_field_ref(item["fieldRef"], f"{at}.fieldRef", supported)
        else:
            errors += required(item, at, "key", "path")
    mode = source.get("defaultMode")
    if mode is not None and not 0 <= mode <= 0o777:
        detail = "must be a number between 0 and 0777 (octal), both inclusive"
        errors.append(FieldError.invalid(f"{path}.defaultMode", mode, detail))
    return errors
