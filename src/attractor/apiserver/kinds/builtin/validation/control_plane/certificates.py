"""Rules of CertificateSigningRequests: what is asked for, who may decide, and what is issued."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.validation.rules import each
from attractor.objects import names
from attractor.objects.field import FieldError, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_KIND = ("certificates.k8s.io", "CertificateSigningRequest")
_USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_MIN_LIFETIME_S = 600
_DECISIONS = ("Approved", "Denied")
_FINAL = (*_DECISIONS, "Failed")
_AT = "status.conditions"


def validate_csr(csr: JsonObject) -> list[FieldError]:
    """A request in PEM, a signer with a domain, usages that are known, conditions that agree."""
    spec = csr["spec"]
    errors: list[FieldError] = []
    request = spec.get("request")
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in b64decode(request or ""):
        errors.append(FieldError.invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST"))
    errors += _usage_errors(spec) + _signer_errors(spec)
    lifetime_s: Any = spec.get("expirationSeconds")
    if lifetime_s is not None and lifetime_s < _MIN_LIFETIME_S:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(FieldError.invalid("spec.expirationSeconds", lifetime_s, detail))
    return errors + _condition_errors(csr)


def _usage_errors(spec: JsonObject) -> list[FieldError]:
    usages = spec.get("usages") or []
    errors = [] if usages else [FieldError.required("spec.usages")]
    errors += [
        FieldError.unsupported(at, usage, _USAGES) for usage, at in each(spec, "usages", "spec") if usage not in _USAGES
    ]
    twice = sorted(repeated(usages))
    return errors + [FieldError.duplicate(f"spec.usages[{index}]", usages[index]) for index in twice]


def _signer_errors(spec: JsonObject) -> list[FieldError]:
    at, signer = "spec.signerName", spec.get("signerName", "")
    if not signer:
        return [FieldError.required(at)]
    if signer == _LEGACY_SIGNER:
        return [FieldError.invalid(at, signer, "the legacy signerName is not allowed via this API version")]
    if signer.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [FieldError.invalid(at, signer, detail)]
    domain, _, path = signer.partition("/")
    errors = _label_errors(names.dns1123_label, domain, at)
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        errors.append(FieldError.invalid(at, domain, detail))
    return errors + _label_errors(names.dns1123_subdomain, path, at)


def _label_errors(rule: Callable[[str], list[str]], text: str, at: str) -> list[FieldError]:
    """What is wrong with the first of a text's labels that is wrong."""
    for label in text.split("."):
        if found := rule(label):
            return [FieldError.invalid(at, text, f'validating label "{label}": {why}') for why in found]
    return []


def _condition_errors(csr: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for condition, at in each(csr.get("status"), "conditions", "status"):
        kind, status = condition.get("type", ""), condition.get("status", "")
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not kind:
            errors.append(FieldError.required(f"{at}.type"))
        if not status:
            errors.append(FieldError.required(f"{at}.status"))
        elif status not in allowed:
            errors.append(FieldError.unsupported(f"{at}.status", status, allowed))
        if kind in _DECISIONS and any(other in seen for other in _DECISIONS if other != kind):
            errors.append(FieldError.invalid(_AT, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in seen:
            errors.append(FieldError.duplicate(f"{at}.type", kind))
        seen.add(kind)
    return errors


def _of_type(csr: JsonObject, kind: str) -> list[JsonObject]:
    return [one for one in (csr.get("status") or {}).get("conditions") or () if one.get("type") == kind]


def _update_errors(csr: JsonObject, old: JsonObject) -> list[FieldError]:
    """Decisions stay, whatever is written."""
    gone = [kind for kind in _FINAL if len(_of_type(csr, kind)) < len(_of_type(old, kind))]
    return _condition_errors(csr) + [
        FieldError.forbidden(_AT, f'updates may not remove a condition of type "{kind}"') for kind in gone
    ]


def validate_approval(csr: JsonObject, old: JsonObject) -> list[FieldError]:
    """A request is approved or denied once, and never both."""
    return _update_errors(csr, old)


def validate_csr_status(csr: JsonObject, old: JsonObject) -> list[FieldError]:
    """A certificate is issued once; who may write the status does not decide."""
    errors: list[FieldError] = []
    issued, before = ((one.get("status") or {}).get("certificate") or "" for one in (csr, old))
    if issued != before and issued and b"-----BEGIN CERTIFICATE-----" not in b64decode(issued):
        detail = "must contain at least one CERTIFICATE PEM block"
        errors.append(FieldError.invalid("status.certificate", "<certificate data>", detail))
    errors += _update_errors(csr, old)
    for kind in _DECISIONS:
        if len(_of_type(csr, kind)) > len(_of_type(old, kind)):
            errors.append(FieldError.forbidden(_AT, f'updates may not add a condition of type "{kind}"'))
    if issued != before and before:
        errors.append(FieldError.forbidden("status.certificate", "updates may not modify existing certificate content"))
    return errors


CREATE: Mapping[tuple[str, str], Validator] = {_KIND: validate_csr}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {_KIND: validate_csr_status}
