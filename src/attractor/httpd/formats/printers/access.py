"""Who may do what: bindings, accounts, secrets, certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.ages import human_duration
from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    Cells,
    Column,
    age_of,
    at,
    items,
    name_of,
    prints,
    wide,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_CORE, _RBAC, _CERTIFICATES = "io.k8s.api.core.v1", "io.k8s.api.rbac.v1", "io.k8s.api.certificates.v1"


def _subjects(obj: JsonObject) -> Cells:
    listed = items(obj, "subjects")
    accounts = [
        f"{one.get('namespace', '')}/{one.get('name', '')}" for one in listed if one.get("kind") == "ServiceAccount"
    ]
    return [
        ", ".join(one.get("name", "") for one in listed if one.get("kind") == "User"),
        ", ".join(one.get("name", "") for one in listed if one.get("kind") == "Group"),
        ", ".join(accounts),
    ]


def _binding_columns(kind: str) -> tuple[Column, ...]:
    within = f"in the {kind[0].lower()}{kind[1:]}"
    return (
        NAME,
        Column("Role", about=f"{_RBAC}.{kind}#roleRef"),
        AGE,
        wide("Users", f"Users {within}"),
        wide("Groups", f"Groups {within}"),
        wide("ServiceAccounts", f"ServiceAccounts {within}"),
    )


@prints("rbac.authorization.k8s.io", "RoleBinding", *_binding_columns("RoleBinding"))
@prints("rbac.authorization.k8s.io", "ClusterRoleBinding", *_binding_columns("ClusterRoleBinding"))
def binding(obj: JsonObject, clock: Clock) -> Cells:
    """A binding."""
    role = f"{at(obj, 'roleRef', 'kind') or ''}/{at(obj, 'roleRef', 'name') or ''}"
    return [name_of(obj), role, age_of(obj, clock), *_subjects(obj)]


@prints("", "ServiceAccount", NAME, AGE)
def service_account(obj: JsonObject, clock: Clock) -> Cells:
    """A service account."""
    return [name_of(obj), age_of(obj, clock)]


@prints(
    "",
    "Secret",
    NAME,
    Column("Type", about=f"{_CORE}.Secret#type"),
    Column("Data", about=f"{_CORE}.Secret#data"),
    AGE,
)
def secret(obj: JsonObject, clock: Clock) -> Cells:
    """A secret: how many entries it has, not what they are."""
    return [name_of(obj), obj.get("type") or "", len(obj.get("data") or ()), age_of(obj, clock)]


@prints("", "ConfigMap", NAME, Column("Data", about=f"{_CORE}.ConfigMap#data"), AGE)
def config_map(obj: JsonObject, clock: Clock) -> Cells:
    """A config map."""
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, clock)]


def _request_state(obj: JsonObject) -> str:
    said = {one.get("type") for one in items(obj, "status", "conditions")}
    state = "Denied" if "Denied" in said else "Approved" if "Approved" in said else "Pending"
    if "Failed" in said:
        state += ",Failed"
    return f"{state},Issued" if at(obj, "status", "certificate") else state


@prints(
    "certificates.k8s.io",
    "CertificateSigningRequest",
    NAME,
    AGE,
    Column("SignerName", about=f"{_CERTIFICATES}.CertificateSigningRequestSpec#signerName"),
    Column("Requestor", about=f"{_CERTIFICATES}.CertificateSigningRequestSpec#request"),
    Column("RequestedDuration", about=f"{_CERTIFICATES}.CertificateSigningRequestSpec#expirationSeconds"),
    Column("Condition", about=f"{_CERTIFICATES}.CertificateSigningRequestStatus#conditions"),
)
def certificate_signing_request(obj: JsonObject, clock: Clock) -> Cells:
    """A request for a certificate."""
    lasts = at(obj, "spec", "expirationSeconds")
    return [
        name_of(obj),
        age_of(obj, clock),
        at(obj, "spec", "signerName") or NONE,
        at(obj, "spec", "username") or "",
        NONE if lasts is None else human_duration(lasts),
        _request_state(obj),
    ]
