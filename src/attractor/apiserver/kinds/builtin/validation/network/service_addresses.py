"""Rules of a service's addresses and IP families, which are looked at before anything is allocated for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.service_network import HEADLESS
from attractor.apiserver.kinds.builtin.validation.rules import each, ip_address, known
from attractor.objects.field import FieldError, repeated

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_AT = "spec.clusterIPs"
_ONCE_SET = "may not change once set"


def validate_addresses(spec: JsonObject) -> list[FieldError]:
    """Addresses agree with each other and with the families; a service that is only a name has none to judge."""
    if spec.get("type") == "ExternalName":
        return []
    errors = _agreement_errors(spec)
    twice = repeated(spec.get("ipFamilies") or ())
    for index, (family, at) in enumerate(each(spec, "ipFamilies", "spec")):
        errors += known(family, at, _FAMILIES)
        if index in twice:
            errors.append(FieldError.duplicate(at, family))
    errors += known(spec.get("ipFamilyPolicy"), "spec.ipFamilyPolicy", _POLICIES)
    addresses = spec.get("clusterIPs") or []
    malformed = _malformed(spec, addresses)
    errors += malformed
    if len(addresses) > 2:
        errors.append(FieldError.invalid(_AT, addresses, "may only hold up to 2 values"))
    return errors if malformed else errors + _family_errors(spec, addresses)


def _agreement_errors(spec: JsonObject) -> list[FieldError]:
    """``clusterIP`` is the first of ``clusterIPs``."""
    first, addresses = spec.get("clusterIP"), spec.get("clusterIPs") or []
    if addresses and not first:
        return [FieldError.invalid(_AT, addresses, "must be empty when `clusterIP` is not specified")]
    if addresses and first != addresses[0]:
        return [FieldError.invalid(_AT, addresses, "first value must match `clusterIP`")]
    return []


def _malformed(spec: JsonObject, addresses: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, (address, at) in enumerate(each(spec, "clusterIPs", "spec")):
        if index or address != HEADLESS:
            errors += ip_address(address, at)
        elif len(addresses) > 1:
            errors.append(FieldError.invalid(_AT, addresses, "'None' must be the first and only value"))
    return errors


def _family_errors(spec: JsonObject, addresses: list[str]) -> list[FieldError]:
    found = [_family(address) for address in addresses]
    errors: list[FieldError] = []
    if len(addresses) > 1 and set(found) != set(_FAMILIES):
        detail = "may specify no more than one IP for each IP family"
        errors.append(FieldError.invalid(_AT, addresses, detail))
    if spec.get("clusterIP") == HEADLESS:
        return errors
    for index, (said, family) in enumerate(zip(spec.get("ipFamilies") or (), found, strict=False)):
        if said != family and said in _FAMILIES:
            detail = f"expected an {said} value as indicated by `ipFamilies[{index}]`"
            errors.append(FieldError.invalid(f"{_AT}[{index}]", addresses[index], detail))
    return errors


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def update_addresses(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Addresses and families stay, once given, unless the service stops or starts to be only a name."""
    if "ExternalName" in {spec.get("type"), before.get("type")}:
        return []
    is_headless, was_headless = (one.get("clusterIP") == HEADLESS for one in (spec, before))
    if is_headless and was_headless:
        return []
    addresses, had = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    errors: list[FieldError] = []
    if len(had) > len(addresses) and not addresses:
        errors.append(FieldError.invalid(f"{_AT}[0]", addresses, "primary clusterIP can not be unset"))
    elif had and addresses and had[0] != addresses[0]:
        errors.append(FieldError.invalid(f"{_AT}[0]", addresses, _ONCE_SET))
    families, were = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if not is_headless and not was_headless and families and were and families[0] != were[0]:
        shown = families if len(families) == len(were) else addresses
        errors.append(FieldError.invalid("spec.ipFamilies[0]", shown, _ONCE_SET))
    return errors
