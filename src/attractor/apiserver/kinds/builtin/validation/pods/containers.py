"""Rules of containers: names, images, ports, variables, mounts, probes, resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.resources import validate_requirements
from attractor.apiserver.kinds.builtin.validation.rules import (
    PROTOCOLS,
    at_least_zero,
    each,
    known,
    named,
    one_of,
    port_number,
    port_number_or_name,
    relative_path,
    required,
    required_name,
)
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from attractor.objects.json_types import JsonObject

_MAX_RESTART_RULES = 20
FIELD_PATHS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_KNOWN_FIELDS = frozenset(
    (
        *FIELD_PATHS,
        "metadata.annotations",
        "metadata.labels",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
    )
)
_RESOURCE_FIELDS = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_MAX_ID = 2**31 - 1
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_NOT_EPHEMERAL = ("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"


def validate_containers(
    spec: JsonObject, path: str, volumes: Mapping[str, JsonObject], *, in_pod: bool
) -> list[FieldError]:
    """Every container of a pod: the list itself, each container, and names across all lists."""
    errors = []
    if not spec.get("containers"):
        errors.append(FieldError.required(f"{path}.containers"))
    found = []
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for container, at in each(spec, field, path):
            errors += _validate_container(container, at, volumes, field)
            image = container.get("image", "")
            if in_pod and image != image.strip():
                detail = "must not have leading or trailing whitespace"
                errors.append(FieldError.invalid(f"{at}.image", image, detail))
            found.append((container.get("name", ""), f"{at}.name"))
    errors += _validate_ephemeral(spec, path) + _validate_sleeps(spec, path) + _validate_host_port_clashes(spec, path)
    if spec.get("hostNetwork"):
        errors += _validate_host_ports(spec, path, in_pod=in_pod)
    return errors + _validate_unique(found)


def _validate_unique(found: Iterable[tuple[str, str]]) -> list[FieldError]:
    """No two containers have one name, not even none; only an init container without a name is not remembered."""
    seen: set[str] = set()
    errors = []
    for name, at in found:
        if name in seen:
            errors.append(FieldError.duplicate(at, name))
        elif name or ".initContainers[" not in at:
            seen.add(name)
    return errors


def _validate_ephemeral(spec: JsonObject, path: str) -> list[FieldError]:
    """Ephemeral containers help with others and do no work of their own."""
    others = {one.get("name") for field in ("containers", "initContainers") for one in spec.get(field) or ()}
    errors = []
    for container, at in each(spec, "ephemeralContainers", path):
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(FieldError.not_found(f"{at}.targetContainerName", target))
        wrong = [f"{at}.{field}" for field in _NOT_EPHEMERAL if container.get(field)]
        for mount, where in each(container, "volumeMounts", at):
            wrong += [f"{where}.{field}" for field in ("subPath", "subPathExpr") if mount.get(field)]
        errors += [FieldError.forbidden(field, "cannot be set for an Ephemeral Container") for field in wrong]
    return errors


def _validate_sleeps(spec: JsonObject, path: str) -> list[FieldError]:
    """A container sleeps no longer than the pod may take to stop."""
    grace = spec.get("terminationGracePeriodSeconds") or 0
    errors = []
    for container, at in each(spec, "containers", path):
        for hook, action in (container.get("lifecycle") or {}).items():
            seconds = (action.get("sleep") or {}).get("seconds") if isinstance(action, dict) else None
            if seconds is not None and not 0 <= seconds <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                errors.append(FieldError.invalid(f"{at}.lifecycle.{hook}.sleep", seconds, detail))
    return errors


def _validate_host_port_clashes(spec: JsonObject, path: str) -> list[FieldError]:
    """Containers of one pod share the host's ports."""
    taken: set[str] = set()
    errors = []
    for container, at in each(spec, "containers", path):
        for port, where in each(container, "ports", at):
            if port.get("hostPort"):
                name = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if name in taken:
                    errors.append(FieldError.duplicate(f"{where}.hostPort", name))
                taken.add(name)
    return errors


def _validate_host_ports(spec: JsonObject, path: str, *, in_pod: bool) -> list[FieldError]:
    """On the host's network a container has the host's ports; a template may leave that to the pod."""
    errors = []
    for container, at in each(spec, "containers", path):
        for port, where in each(container, "ports", at):
            host_port = port.get("hostPort", 0)
            if (in_pod or host_port) and host_port != port.get("containerPort", 0):
                detail = "must match `containerPort` when `hostNetwork` is true"
                errors.append(FieldError.invalid(f"{where}.hostPort", host_port, detail))
    return errors


def _validate_container(
    container: JsonObject, path: str, volumes: Mapping[str, JsonObject], kind: str
) -> list[FieldError]:
    errors = required_name(names.dns1123_label, container.get("name"), f"{path}.name")
    errors += required(container, path, "image")
    errors += one_of(container.get("terminationMessagePolicy"), f"{path}.terminationMessagePolicy", _MESSAGE_POLICIES)
    errors += _validate_ports(container, path)
    for variable, at in each(container, "env", path):
        errors += _validate_variable(variable, at)
    for source, at in each(container, "envFrom", path):
        errors += _validate_env_from(source, at, f"{path}.envFrom")
    errors += _validate_mounts(container, path, volumes)
    errors += one_of(container.get("imagePullPolicy"), f"{path}.imagePullPolicy", _PULL_POLICIES)
    errors += validate_requirements(container.get("resources"), f"{path}.resources")
    errors += _validate_security_context(container.get("securityContext"), f"{path}.securityContext")
    for policy in container.get("resizePolicy") or ():
        words = ("NotRequired", "RestartContainer")
        errors += one_of(policy.get("restartPolicy"), f"{path}.resizePolicy", words)
        errors += one_of(policy.get("resourceName"), f"{path}.resizePolicy", ("cpu", "memory"))
    if kind != "ephemeralContainers":
        errors += _validate_restart(container, path)
    return errors + _validate_probes(container, path, kind)


def _validate_restart(container: JsonObject, path: str) -> list[FieldError]:
    """When a container begins again, whatever its pod says: a policy, and exceptions from it by exit codes."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    errors = known(policy, f"{path}.restartPolicy", ("Always", "Never", "OnFailure"))
    if policy is None and rules:
        why = "must specify restartPolicy when restart rules are used"
        errors.append(FieldError.required(f"{path}.restartPolicy", why))
    if len(rules) > _MAX_RESTART_RULES:
        errors.append(FieldError.too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RESTART_RULES))
    for rule, at in each(container, "restartPolicyRules", path):
        errors += known(rule.get("action", ""), f"{at}.action", ("Restart", "RestartAllContainers"))
        codes = rule.get("exitCodes")
        if codes is None:
            errors.append(FieldError.required(f"{at}.exitCodes", "must be specified"))
        else:
            errors += known(codes.get("operator", ""), f"{at}.exitCodes.operator", ("In", "NotIn"))
    return errors


def _validate_ports(container: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for port, at in each(container, "ports", path):
        name, number, host_port = port.get("name", ""), port.get("containerPort", 0), port.get("hostPort", 0)
        wrong = named(names.port_name, name, f"{at}.name") if name else []
        if not wrong and name in seen:
            wrong = [FieldError.duplicate(f"{at}.name", name)]
        seen.update([name] if name and not wrong else [])
        errors += wrong
        errors += port_number(number, f"{at}.containerPort") if number else required(port, at, "containerPort")
        errors += port_number(host_port, f"{at}.hostPort") if host_port else []
        errors += one_of(port.get("protocol"), f"{at}.protocol", PROTOCOLS)
    return errors


def _validate_variable(variable: JsonObject, path: str) -> list[FieldError]:
    errors = required_name(names.env_var_name, variable.get("name"), f"{path}.name")
    source = variable.get("valueFrom")
    if source is None:
        return errors
    at = f"{path}.valueFrom"
    said = [name for name in _SOURCES if source.get(name) is not None]
    if not said:
        errors.append(FieldError.invalid(at, "", _ONE_SOURCE))
    elif variable.get("value"):
        errors.append(FieldError.invalid(at, "", "may not be specified when `value` is not empty"))
    elif len(said) > 1:
        errors.append(FieldError.invalid(at, "", "may not have more than one field specified at a time"))
    if source.get("fieldRef") is not None:
        errors += validate_field_ref(source["fieldRef"], f"{at}.fieldRef", FIELD_PATHS)
    if source.get("resourceFieldRef") is not None:
        resource = source["resourceFieldRef"].get("resource", "")
        if not resource.startswith(("limits.hugepages-", "requests.hugepages-")):
            errors += one_of(resource, f"{at}.resourceFieldRef.resource", _RESOURCE_FIELDS)
        divisor = source["resourceFieldRef"].get("divisor") or "0"
        if resource.endswith(".cpu") and divisor not in {"0", "1", "1m"}:
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.append(FieldError.invalid(f"{at}.resourceFieldRef.divisor", resource, detail))
    for name in ("configMapKeyRef", "secretKeyRef"):
        if source.get(name) is not None:
            errors += named(names.dns1123_subdomain, source[name].get("name", ""), f"{at}.{name}.name")
            errors += required_name(names.config_map_key, source[name].get("key"), f"{at}.{name}.key")
    return errors


def validate_field_ref(reference: JsonObject, path: str, supported: Collection[str]) -> list[FieldError]:
    """A reference to a field of the pod itself."""
    for name in ("apiVersion", "fieldPath"):
        if not reference.get(name):
            return [FieldError.required(f"{path}.{name}")]
    field, version = reference["fieldPath"], reference["apiVersion"]
    if version != "v1":
        detail = f"error converting fieldPath: unsupported pod version: {version}"
        return [FieldError.invalid(f"{path}.fieldPath", field, detail)]
    if field in supported:
        return []
    if _is_map_entry(field):
        of, _, key = field.removesuffix("']").partition("['")
        return named(names.qualified_name, key.lower() if of == "metadata.annotations" else key, path)
    if field in _KNOWN_FIELDS:
        return [FieldError.unsupported(f"{path}.fieldPath", field, sorted(supported))]
    detail = f"error converting fieldPath: field label not supported: {field}"
    return [FieldError.invalid(f"{path}.fieldPath", field, detail)]


def _is_map_entry(field: str) -> bool:
    return field.startswith(("metadata.labels['", "metadata.annotations['")) and field.endswith("']")


def _validate_env_from(source: JsonObject, path: str, list_path: str) -> list[FieldError]:
    said = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
    errors = named(names.env_var_name, source["prefix"], f"{path}.prefix") if source.get("prefix") else []
    for name in said:
        errors += required_name(names.dns1123_subdomain, source[name].get("name"), f"{path}.{name}.name")
    if not said:  # Kubernetes names the list here, not the item
        errors.append(FieldError.invalid(list_path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif len(said) > 1:
        errors.append(FieldError.invalid(list_path, "", "may not have more than one field specified at a time"))
    return errors


def _validate_mounts(container: JsonObject, path: str, spec_volumes: Mapping[str, JsonObject]) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for mount, at in each(container, "volumeMounts", path):
        name, where = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(FieldError.required(f"{at}.name"))
        if name not in spec_volumes:
            errors.append(FieldError.not_found(f"{at}.name", name))
        if not where:
            errors.append(FieldError.required(f"{at}.mountPath"))
        if where in seen:
            errors.append(FieldError.invalid(f"{at}.mountPath", where, "must be unique"))
        seen.add(where)
        errors += _validate_mount_options(mount, at, f"{path}.volumeMounts")
    return errors + _validate_devices(container, path, spec_volumes)


def _validate_mount_options(mount: JsonObject, path: str, mounts: str) -> list[FieldError]:
    """How a volume is mounted; some refusals name the list and not the item."""
    errors = relative_path(mount.get("subPath", ""), f"{mounts}.subPath")
    if mount.get("subPathExpr"):
        if mount.get("subPath"):
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.append(FieldError.invalid(f"{path}.subPathExpr", mount["subPathExpr"], detail))
        errors += relative_path(mount["subPathExpr"], f"{mounts}.subPathExpr")
    words = ("Bidirectional", "HostToContainer", "None")
    errors += one_of(mount.get("mountPropagation"), f"{mounts}.mountPropagation", words, optional=True)
    recursive = mount.get("recursiveReadOnly")
    if recursive not in {None, "Disabled"}:
        at = f"{mounts}.recursiveReadOnly"
        if not mount.get("readOnly"):
            errors.append(FieldError.forbidden(at, "may only be specified when readOnly is true"))
        words = ("Disabled", "Enabled", "IfPossible")
        errors += one_of(recursive, at, words)
    return errors


def _validate_devices(container: JsonObject, path: str, volumes: Mapping[str, JsonObject]) -> list[FieldError]:
    """Block devices come from claims, at paths of their own."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for device, at in each(container, "volumeDevices", path):
        name, where = device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.append(FieldError.required(f"{at}.name"))
        if name not in volumes:
            errors.append(FieldError.not_found(f"{at}.name", name))
        elif volumes[name] and not {"persistentVolumeClaim", "ephemeral"} & volumes[name].keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(FieldError.invalid(f"{at}.name", name, detail))
        if not where:
            errors.append(FieldError.required(f"{at}.devicePath"))
        elif where in seen:
            errors.append(FieldError.invalid(f"{at}.devicePath", where, "must be unique"))
        seen.add(where)
    return errors


def _validate_probes(container: JsonObject, path: str, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    sidecar = container.get("restartPolicy") == "Always"
    for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        value, at = container.get(field), f"{path}.{field}"
        if value is None:
            continue
        if kind == "initContainers" and not sidecar:
            errors.append(FieldError.forbidden(at, "may not be set for init containers without restartPolicy=Always"))
        elif kind == "ephemeralContainers":
            continue
        elif field == "lifecycle":
            for hook in ("postStart", "preStop"):
                if value.get(hook) is not None:
                    errors += _validate_handler(value[hook], f"{at}.{hook}")
        else:
            errors += _validate_handler(value, at) + at_least_zero(value, at, *_PROBE_NUMBERS)
            errors += _validate_probe_grace(field, value.get("terminationGracePeriodSeconds"), at)
            threshold = value.get("successThreshold")
            if field != "readinessProbe" and threshold not in (1, None):
                errors.append(FieldError.invalid(f"{at}.successThreshold", threshold, "must be 1"))
    return errors


def _validate_probe_grace(field: str, grace: int | None, path: str) -> list[FieldError]:
    at = f"{path}.terminationGracePeriodSeconds"
    if grace is None:
        return []
    if field == "readinessProbe":
        return [FieldError.invalid(at, grace, "must not be set for readinessProbes")]
    return [FieldError.invalid(at, grace, "must be greater than 0")] if grace <= 0 else []


def _validate_handler(handler: JsonObject, path: str) -> list[FieldError]:
    said = [name for name in _HANDLERS if handler.get(name) is not None]
    if not said:
        return [FieldError.required(path, "must specify a handler type")]
    errors = [FieldError.forbidden(f"{path}.{name}", "may not specify more than 1 handler type") for name in said[1:]]
    return errors + _validate_action(said[0], handler[said[0]], f"{path}.{said[0]}")


def _validate_action(name: str, action: JsonObject, path: str) -> list[FieldError]:
    if name == "exec":
        return required(action, path, "command")
    if name == "sleep":
        return []
    port = action.get("port", 0)
    if name == "grpc":
        return port_number(port, f"{path}.port")
    errors = port_number_or_name(port, f"{path}.port")
    if name == "httpGet":
        errors += required(action, path, "path")
        errors += one_of(action.get("scheme"), f"{path}.scheme", ("HTTP", "HTTPS"))
        for header, _ in each(action, "httpHeaders", path):
            errors += named(names.http_header_name, header.get("name", ""), f"{path}.httpHeaders")
    return errors


def _validate_security_context(context: JsonObject | None, path: str) -> list[FieldError]:
    if not context:
        return []
    errors = validate_ids(context, path) + validate_seccomp(context, path)
    errors += one_of(context.get("procMount"), f"{path}.procMount", ("Default", "Unmasked"), optional=True)
    armor = context.get("appArmorProfile") or {}
    if armor.get("type") == "Localhost" and armor.get("localhostProfile") is None:
        detail = "must be set when AppArmor type is Localhost"
        errors.append(FieldError.required(f"{path}.appArmorProfile.localhostProfile", detail))
    if context.get("privileged") and context.get("allowPrivilegeEscalation") is False:
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(FieldError.invalid(path, shown(context, "core.SecurityContext"), detail))
    return errors


def validate_seccomp(context: JsonObject, path: str) -> list[FieldError]:
    """A profile of the node's own has a path there; the others have none."""
    profile, at = context.get("seccompProfile"), f"{path}.seccompProfile"
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors = [FieldError.required(f"{at}.type", "type is required when seccompProfile is set")]
    else:
        errors = one_of(kind, f"{at}.type", ("Localhost", "RuntimeDefault", "Unconfined"))
    if kind == "Localhost" and local is None:
        errors.append(FieldError.required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost"))
    elif kind != "Localhost" and local is not None:
        said = shown(profile, "core.SeccompProfile")
        detail = "can only be set when seccomp type is Localhost"
        errors.append(FieldError.invalid(f"{at}.localhostProfile", said, detail))
    return errors


def validate_ids(context: JsonObject, path: str) -> list[FieldError]:
    """User and group ids."""
    errors = []
    for field in ("runAsUser", "runAsGroup", "fsGroup"):
        value = context.get(field)
        if value is not None and not 0 <= value <= _MAX_ID:
            errors.append(FieldError.invalid(f"{path}.{field}", value, names.range_error(0, _MAX_ID)))
    return errors
