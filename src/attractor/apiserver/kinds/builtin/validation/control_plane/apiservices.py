"""Rules of APIServices: which group and version, how important, and who serves it."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.rules import named, required
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import Validator
    from attractor.objects.json_types import JsonObject

_PRIORITIES = (("groupPriorityMinimum", 20000), ("versionPriority", 1000))


def validate_api_service(service: JsonObject) -> list[FieldError]:
    """Its name is its version and group, and its priorities have bounds."""
    spec, name = service["spec"], service["metadata"].get("name", "")
    group, version = spec.get("group", ""), spec.get("version", "")
    errors: list[FieldError] = []
    if name and name != f"{version}.{group}":
        detail = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
        errors.append(FieldError.invalid("metadata.name", name, detail))
    if not group and version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        errors.append(FieldError.required("spec.group", why))
    errors += named(names.dns1123_subdomain, group, "spec.group") if group else []
    errors += named(names.dns1035_label, version, "spec.version")
    for field, limit in _PRIORITIES:
        value = spec.get(field) or 0
        if not 0 < value <= limit:
            errors.append(FieldError.invalid(f"spec.{field}", value, f"must be positive and less than {limit}"))
    return errors + _server_errors(spec)


def _server_errors(spec: JsonObject) -> list[FieldError]:
    """A local service needs no certificates; another one has an address."""
    bundle, insecure = b64decode(spec.get("caBundle") or ""), bool(spec.get("insecureSkipTLSVerify"))
    server = spec.get("service")
    errors: list[FieldError] = []
    if server is None:
        if bundle:
            why = "local APIServices may not have a caBundle"
            errors.append(FieldError.invalid("spec.caBundle", f"{len(bundle)} bytes", why))
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(FieldError.invalid("spec.insecureSkipTLSVerify", insecure, why))
        return errors
    errors += required(server, "spec.service", "namespace", "name")
    wrong = names.port_number(server.get("port") or 0)
    if wrong:
        why = f"port is not valid: {', '.join(wrong)}"
        errors.append(FieldError.invalid("spec.service.port", server.get("port") or 0, why))
    if insecure and bundle:
        why = "may not be true if caBundle is present"
        errors.append(FieldError.invalid("spec.insecureSkipTLSVerify", insecure, why))
    return errors


VALIDATE: Mapping[tuple[str, str], Validator] = {("apiregistration.k8s.io", "APIService"): validate_api_service}
