"""Columns of access control: bindings, accounts, secrets, certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.ages import human_duration
from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    Cell,
    Column,
    at,
    field,
    items,
    length,
    of,
    prints,
    wide,
)

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_CORE, _RBAC = "io.k8s.api.core.v1", "io.k8s.api.rbac.v1"
_REQUEST = "io.k8s.api.certificates.v1.CertificateSigningRequest"


def _subjects(kind: str) -> Cell:
    return lambda obj, _clock: ", ".join(
        f"{one.get('namespace', '')}/{one.get('name', '')}" if kind == "ServiceAccount" else one.get("name", "")
        for one in items(obj, "subjects")
        if one.get("kind") == kind
    )


for _kind in ("RoleBinding", "ClusterRoleBinding"):
    _within = f"in the {_kind[0].lower()}{_kind[1:]}"
    prints(
        "rbac.authorization.k8s.io",
        _kind,
        NAME,
        Column(
            "Role",
            of(lambda obj: f"{at(obj, 'roleRef', 'kind') or ''}/{at(obj, 'roleRef', 'name') or ''}"),
            f"{_RBAC}.{_kind}#roleRef",
        ),
        AGE,
        wide("Users", _subjects("User"), f"Users {_within}"),
        wide("Groups", _subjects("Group"), f"Groups {_within}"),
        wide("ServiceAccounts", _subjects("ServiceAccount"), f"ServiceAccounts {_within}"),
    )
prints("", "ServiceAccount", NAME, AGE)
prints(
    "",
    "Secret",
    NAME,
    Column("Type", field("type"), f"{_CORE}.Secret#type"),
    Column("Data", length("data"), f"{_CORE}.Secret#data"),
    AGE,
)
prints(
    "",
    "ConfigMap",
    NAME,
    Column(
        "Data",
        of(lambda obj: len(obj.get("data") or ()) + len(obj.get("binaryData") or ())),
        f"{_CORE}.ConfigMap#data",
    ),
    AGE,
)


def _duration(obj: JsonObject) -> str:
    lasts = at(obj, "spec", "expirationSeconds")
    return NONE if lasts is None else human_duration(lasts)


def _request_state(obj: JsonObject) -> str:
    said = {one.get("type") for one in items(obj, "status", "conditions")}
    state = "Denied" if "Denied" in said else "Approved" if "Approved" in said else "Pending"
    if "Failed" in said:
        state += ",Failed"
    return f"{state},Issued" if at(obj, "status", "certificate") else state


prints(
    "certificates.k8s.io",
    "CertificateSigningRequest",
    NAME,
    AGE,
    Column("SignerName", field("spec", "signerName", otherwise=NONE), f"{_REQUEST}Spec#signerName"),
    Column("Requestor", field("spec", "username"), f"{_REQUEST}Spec#request"),
    Column("RequestedDuration", of(_duration), f"{_REQUEST}Spec#expirationSeconds"),
    Column("Condition", of(_request_state), f"{_REQUEST}Status#conditions"),
)
