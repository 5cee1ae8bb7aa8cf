"""Query parameters and DeleteOptions bodies, read and validated as ``meta.k8s.io`` options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

from attractor.apiserver.request.caller import DeleteOptions, ListOptions, Preconditions
from attractor.apiserver.request.operation import FieldValidation, WriteOptions
from attractor.objects.errors import ApiError, BadRequest, Invalid
from attractor.objects.field import FieldError
from attractor.objects.go_wording import cannot_unmarshal, not_parsed
from attractor.objects.gvk import GroupKind
from attractor.objects.numbers import saturated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.json_types import Json

    Query = Mapping[str, Sequence[str]]

MAX_MANAGER_BYTES = 128
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
DEFAULTS = WriteOptions()


def _invalid(kind: str, errors: list[FieldError]) -> Invalid:
    return Invalid.of(GroupKind("meta.k8s.io", kind), "", errors)


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _flag(query: Query, name: str) -> bool:
    """A boolean parameter: present means true unless it says 0 or false, as Kubernetes' conversion has it."""
    values = query.get(name)
    return values is not None and len(values) > 0 and values[0].lower() not in {"false", "0"}


def _number(query: Query, name: str) -> int | None:
    text = _first(query, name)
    return int64_of(text) if text else None


def int64_of(text: str) -> int:
    """The number that a parameter is; raises ``BadRequest`` in the words of Go's ``strconv.ParseInt``."""
    if not _NUMBER.fullmatch(text):
        raise BadRequest(not_parsed("ParseInt", text))
    number = saturated(text)
    if not -(2**63) <= number < 2**63:
        raise BadRequest(not_parsed("ParseInt", text, "value out of range"))
    return number


def _dry_run(values: Sequence[str]) -> tuple[bool, list[FieldError]]:
    if not values:
        return False, []
    if all(value == "All" for value in values):
        return True, []
    return False, [FieldError.unsupported("dryRun", list(values), ["All"])]


def _manager_errors(manager: str) -> list[FieldError]:
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        return [FieldError.too_long("fieldManager", MAX_MANAGER_BYTES)]
    for index, character in enumerate(manager):
        if not character.isprintable():
            where = len(manager[:index].encode())
            why = f"invalid character U+{ord(character):04X} (at position {where})"
            return [FieldError.invalid("fieldManager", manager, why)]
    return []


_VALIDATIONS = sorted(["", *get_args(FieldValidation)])


def write_options(query: Query, kind: str, *, is_apply: bool = False) -> WriteOptions:
    """Options of create, update and patch; ``kind`` is CreateOptions, UpdateOptions or PatchOptions."""
    if not query and not is_apply:
        return DEFAULTS
    dry_run, errors = _dry_run(query.get("dryRun") or ())
    manager = _first(query, "fieldManager")
    force = _flag(query, "force")
    if kind == "PatchOptions" and not is_apply and "force" in query:
        errors.insert(0, FieldError.forbidden("force", "may not be specified for non-apply patch"))
    if is_apply and not manager:
        errors.insert(0, FieldError.required("fieldManager", "is required for apply patch"))
    errors += _manager_errors(manager)
    validation = _first(query, "fieldValidation")
    if validation not in _VALIDATIONS:
        errors.append(FieldError.unsupported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        raise _invalid(kind, errors)
    strictness: FieldValidation = validation or "Warn"  # type: ignore[assignment]  # checked above
    return WriteOptions(dry_run=dry_run, field_manager=manager, field_validation=strictness, force=force)


def list_options(query: Query, *, is_watch: bool) -> ListOptions:
    """Options of list, watch and deletecollection."""
    version, match = _first(query, "resourceVersion"), _first(query, "resourceVersionMatch")
    initial = _flag(query, "sendInitialEvents")
    errors = _match_errors(query, version, match, is_watch=is_watch)
    if errors:
        raise _invalid("ListOptions", errors)
    if version and (why := no_version(version)):
        raise ApiError(why) if is_watch else BadRequest(f"invalid resource version: {why}")
    limit = _number(query, "limit") or 0
    return ListOptions(
        label_selector=_first(query, "labelSelector"),
        field_selector=_first(query, "fieldSelector"),
        limit=max(limit, 0),
        continue_token=_first(query, "continue"),
        resource_version=version,
        resource_version_match=match,  # type: ignore[arg-type]  # checked by _match_errors
        allow_bookmarks=_flag(query, "allowWatchBookmarks"),
        send_initial_events=initial,
        timeout_s=_number(query, "timeoutSeconds"),
    )


def no_version(text: str) -> str:
    """What Kubernetes says of a resource version that is no number of 64 bits without a sign; empty for one that is."""
    if text.isascii() and text.isdigit():
        if saturated(text) < 2**64:
            return ""
        wrong = "value out of range"
    else:
        wrong = "invalid syntax"
    return f'resourceVersion: Invalid value: "{text}": {not_parsed("ParseUint", text, wrong)}'


def _match_errors(query: Query, version: str, match: str, *, is_watch: bool) -> list[FieldError]:
    at, initial = "resourceVersionMatch", "sendInitialEvents" in query
    is_more = FieldError.forbidden(at, "resourceVersionMatch is forbidden when continue is provided")
    from_the_start = is_watch and not initial and version in {"", "0"}
    continues = bool((match or from_the_start) and _first(query, "continue"))
    errors: list[FieldError] = []
    if is_watch:
        if initial and match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            errors.append(FieldError.forbidden(at, why))
        if match and not initial:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(FieldError.forbidden(at, why))
        if match not in {"", "NotOlderThan"}:
            errors.append(FieldError.unsupported(at, match, ["NotOlderThan"]))
        return [*errors, is_more] if continues else errors
    if match and not version:
        errors.append(FieldError.forbidden(at, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if continues:
        errors.append(is_more)
    if match not in {"", "Exact", "NotOlderThan"}:
        errors.append(FieldError.unsupported(at, match, ["Exact", "NotOlderThan", ""]))
    if match == "Exact" and version == "0":
        errors.append(FieldError.forbidden(at, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial:
        errors.append(FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def delete_options(query: Query, body: Json) -> DeleteOptions:
    """Options of delete and deletecollection: the body's, or the query's when there is no body."""
    given: dict[str, Any] = {}
    if isinstance(body, dict):
        given = body
        _check_delete_body(given)
    else:
        given = {name: _first(query, name) for name in ("propagationPolicy",) if name in query}
        if "gracePeriodSeconds" in query:
            given["gracePeriodSeconds"] = _number(query, "gracePeriodSeconds")
        if "uid" in query or "resourceVersion" in query:
            given["preconditions"] = {name: _first(query, name) for name in ("uid", "resourceVersion") if name in query}
        if "orphanDependents" in query:
            given["orphanDependents"] = _flag(query, "orphanDependents")
    dry_run, errors = _dry_run([*(given.get("dryRun") or ()), *(query.get("dryRun") or ())])
    propagation = given.get("propagationPolicy")
    orphan = given.get("orphanDependents")
    if propagation is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(FieldError.invalid("propagationPolicy", propagation, why))
    if propagation not in {None, "Background", "Foreground", "Orphan"}:
        policies = ["Foreground", "Background", "Orphan", "nil"]
        errors.append(FieldError.unsupported("propagationPolicy", propagation, policies))
    if errors:
        raise _invalid("DeleteOptions", errors)
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    conditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=dry_run,
        preconditions=Preconditions(conditions.get("uid"), conditions.get("resourceVersion")),
        propagation=propagation or "",
        grace_period_s=given.get("gracePeriodSeconds"),
        waits_for_dependents=orphan is False,
    )


_SCHEME = 'in scheme "pkg/apis/meta/internalversion/scheme/register.go:27"'
_BODY_TYPES: dict[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
}


def _check_delete_body(body: dict[str, Any]) -> None:
    """Refuse a body that is no DeleteOptions, in the words of Go's decoder."""
    kind = body.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        raise BadRequest(f'no kind "{kind}" is registered for version "{body.get("apiVersion") or "v1"}" {_SCHEME}')
    for name, (wanted, described) in _BODY_TYPES.items():
        _check_type(f"DeleteOptions.{name}", body.get(name), wanted, described)
    conditions = body.get("preconditions") or {}
    _check_type("Preconditions.preconditions.uid", conditions.get("uid"), str, "types.UID")
    _check_type("Preconditions.preconditions.resourceVersion", conditions.get("resourceVersion"), str, "string")


def _check_type(at: str, value: Any, wanted: type, described: str) -> None:
    if value is None or (isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))):
        return
    raise BadRequest(cannot_unmarshal(value, described, at))
