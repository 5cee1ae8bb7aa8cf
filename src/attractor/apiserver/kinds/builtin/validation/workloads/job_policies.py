"""Rules of what a job's pods mean for the job: which failures count, which successes are enough, how many at most.

>>> count_indexes("0-2,5", 6)
(4, '')
>>> count_indexes("5,0-2", 6)
(0, 'non-increasing order, previous: 5, current: 0')
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.rules import at_least_zero, each, named
from attractor.objects import names
from attractor.objects.field import OMITTED, FieldError
from attractor.objects.numbers import saturated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.json_types import JsonObject

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MAX_RULES = 20
_MAX_CODES = 255
_MAX_INDEXES_BYTES = 64 * 1024
_MANY = 100_000
"""So many indexes, failed ones or pods at once a job may have; above so many completions the limits are narrower."""
_FEWER = 10_000
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def _word(value: str, path: str, known: Sequence[str]) -> list[FieldError]:
    if value in known:
        return []
    if value:
        return [FieldError.unsupported(path, value, known)]
    listed = " ".join(f'"{one}"' for one in known)
    return [FieldError.required(path, f"valid values: [{listed}]")]


def _at_most(items: Sequence[Any], path: str, limit: int) -> list[FieldError]:
    return [FieldError.too_many(path, len(items), limit)] if len(items) > limit else []


def validate_failure_policy(spec: JsonObject, path: str) -> list[FieldError]:
    """What a failed pod means: each rule says what it looks at, and what follows."""
    policy, pod = spec.get("podFailurePolicy") or {}, spec["template"]["spec"]
    errors = _at_most(policy.get("rules") or (), f"{path}.rules", _MAX_RULES)
    containers = {one.get("name", "") for field in ("containers", "initContainers") for one in pod.get(field) or ()}
    for rule, at in each(policy, "rules", path):
        action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions")
        if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            errors.append(FieldError.invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set"))
        errors += _word(action, f"{at}.action", _ACTIONS)
        if codes is not None:
            errors += _validate_exit_codes(codes, f"{at}.onExitCodes", containers)
        errors += _at_most(conditions or (), f"{at}.onPodConditions", _MAX_RULES)
        for pattern, where in each(rule, "onPodConditions", at):
            errors += named(names.qualified_name, pattern.get("type", ""), f"{where}.type")
            errors += _word(pattern.get("status", ""), f"{where}.status", _STATUSES)
        if codes is not None and conditions:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.append(FieldError.invalid(at, OMITTED, detail))
        elif codes is None and not conditions:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            errors.append(FieldError.invalid(at, OMITTED, detail))
    return errors


def _validate_exit_codes(codes: JsonObject, path: str, containers: set[str]) -> list[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values")
    errors = _word(operator, f"{path}.operator", _OPERATORS)
    container = codes.get("containerName")
    if container is not None and container not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(FieldError.invalid(f"{path}.containerName", container, detail))
    if not values:
        errors.append(FieldError.invalid(f"{path}.values", None, "at least one value is required"))
        return errors
    errors += _at_most(values, f"{path}.values", _MAX_CODES)
    seen: set[int] = set()
    for value, at in each(codes, "values", path):
        if operator == "In" and value == 0:
            errors.append(FieldError.invalid(at, value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(FieldError.duplicate(at, value))
        seen.add(value)
    if values != sorted(values):
        errors.append(FieldError.invalid(f"{path}.values", values, "must be ordered"))
    return errors


def validate_success_policy(spec: JsonObject, path: str) -> list[FieldError]:
    """Which indexes, or how many of them, are enough."""
    policy = spec.get("successPolicy")
    if policy is None:
        return []
    if spec.get("completionMode") != "Indexed":
        return [FieldError.invalid(path, shown(policy, "batch.SuccessPolicy"), "requires indexed completion mode")]
    rules = policy.get("rules") or ()
    errors = _at_most(rules, f"{path}.rules", _MAX_RULES)
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.append(FieldError.required(f"{path}.rules", detail))
    for rule, at in each(policy, "rules", path):
        errors += _validate_success_rule(rule, at, spec.get("completions") or 0)
    return errors


def _validate_success_rule(rule: JsonObject, path: str, completions: int) -> list[FieldError]:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    errors = []
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(FieldError.required(path, detail))
    if indexes is not None:
        if len(indexes.encode()) > _MAX_INDEXES_BYTES:
            errors.append(FieldError.too_long(f"{path}.succeededIndexes", _MAX_INDEXES_BYTES))
        total, trouble = count_indexes(indexes, completions)
        if trouble:
            detail = f"error parsing succeededIndexes: {trouble}"
            errors.append(FieldError.invalid(f"{path}.succeededIndexes", indexes, detail))
    errors += at_least_zero(rule, path, "succeededCount")
    limits = [(completions, "the number of specified completions")]
    if indexes is not None:
        limits.append((total, "the number of indexes in the specified succeededIndexes field"))
    for limit, what in limits:
        if count is not None and count > limit:
            detail = f"must be less than or equal to {limit} ({what})"
            errors.append(FieldError.invalid(f"{path}.succeededCount", count, detail))
    return errors


def count_indexes(text: str, completions: int) -> tuple[int, str]:
    """How many indexes a text such as ``0-2,5`` names; with what is wrong with it, none."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2:
            rule = "an index interval can have at most two parts separated by '-'"
            return 0, f'the fragment "{part}" violates the requirement that {rule}'
        for end in ends:
            if _INTEGER.fullmatch(end) is None:
                return 0, f'cannot convert string to integer for index: "{end}"'
            if saturated(end) >= completions:
                return 0, f'too large index: "{end}"'
        first, until = saturated(ends[0]), saturated(ends[-1])
        if len(ends) > 1 and first >= until:
            return 0, f"non-increasing order, previous: {first}, current: {until}"
        if last is not None and last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + until - first + 1, until
    return total, ""


def common_indexes(some: str, others: str, completions: int) -> set[int]:
    """The first indexes of what two such texts both name; parts that cannot be read name none."""

    def intervals(text: str) -> list[tuple[int, int]]:
        parts = [part.split("-") for part in text.split(",") if count_indexes(part, completions)[0]]
        return [(saturated(ends[0]), saturated(ends[-1])) for ends in parts]

    first, second = intervals(some), intervals(others)
    return _starts_within(first, second) | _starts_within(second, first)


def _starts_within(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> set[int]:
    """Where those intervals begin that begin within one of the others; the others may overlap, in any order."""
    begins: list[int] = []
    ends: list[int] = []
    for first, last in sorted(others):
        begins.append(first)
        ends.append(max(last, ends[-1]) if ends else last)
    found = ((first, bisect_right(begins, first) - 1) for first, _ in some)
    return {first for first, place in found if place >= 0 and first <= ends[place]}


def validate_indexed(spec: JsonObject, path: str) -> list[FieldError]:
    """How many pods an indexed job may have, at once and failed; what needs indexes, in a job without."""
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed, per_index = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex")
    if spec.get("completionMode") in {None, "NonIndexed"}:
        found = (("backoffLimitPerIndex", per_index), ("maxFailedIndexes", failed))
        detail = "requires indexed completion mode"
        return [FieldError.invalid(f"{path}.{name}", value, detail) for name, value in found if value is not None]
    if spec.get("completionMode") != "Indexed":
        return []
    errors = []

    def limit(name: str, value: int | None, most: int, detail: str) -> None:
        if value is not None and value > most:
            errors.append(FieldError.invalid(f"{path}.{name}", value, f"must be less than or equal to {detail}"))

    if completions is None:
        errors.append(FieldError.required(f"{path}.completions", "when completion mode is Indexed"))
    limit("parallelism", parallelism, _MANY, f"{_MANY} when completion mode is Indexed")
    if completions is not None:
        limit("maxFailedIndexes", failed, completions, "completions")
    limit("maxFailedIndexes", failed, _MANY, f"{_MANY}")
    if completions is not None and completions > _MANY and per_index is not None:
        if failed is None:
            detail = f"must be specified when completions is above {_MANY}"
            errors.append(FieldError.required(f"{path}.maxFailedIndexes", detail))
        narrower = f"{_FEWER} when completions are above {_MANY} and used with backoff limit per index"
        limit("parallelism", parallelism, _FEWER, narrower)
        limit("maxFailedIndexes", failed, _FEWER, narrower)
    return errors
