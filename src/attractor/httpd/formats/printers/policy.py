"""Limits and rules: quotas, budgets, priorities, admission, flow control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    at,
    condition,
    count,
    field,
    flag,
    length,
    name_of,
    number,
    of,
    prints,
    selector,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_SCHEDULING, _FLOW = "io.k8s.api.scheduling.v1", "io.k8s.api.flowcontrol.v1"
_ADMISSION = "admissionregistration.k8s.io"


def _used(*, limits: bool) -> Cell:
    def cell(obj: JsonObject, _clock: Clock) -> str:
        hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
        shown = (name for name in sorted(hard) if name.startswith("limits.") is limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in shown)

    return cell


_REQUEST = "Request represents a minimum amount of cpu/memory that a container may consume."
_LIMIT = (
    "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."
)
prints(
    "",
    "ResourceQuota",
    NAME,
    Column("Request", _used(limits=False), _REQUEST),
    Column("Limit", _used(limits=True), _LIMIT),
    AGE,
)


def _amount(name: str) -> Cell:
    return lambda obj, _clock: "N/A" if (value := at(obj, "spec", name)) is None else str(value)


_ALLOWED = "Calculated number of pods that may be disrupted at this time."
prints(
    "policy",
    "PodDisruptionBudget",
    NAME,
    Column("Min Available", _amount("minAvailable"), "The minimum number of pods that must be available."),
    Column("Max Unavailable", _amount("maxUnavailable"), "The maximum number of pods that may be unavailable."),
    Column("Allowed Disruptions", count("status", "disruptionsAllowed"), _ALLOWED, "integer"),
    AGE,
)
prints(
    "scheduling.k8s.io",
    "PriorityClass",
    NAME,
    Column("Value", count("value"), f"{_SCHEDULING}.PriorityClass#value", "integer"),
    Column("Global-Default", flag("globalDefault"), f"{_SCHEDULING}.PriorityClass#globalDefault", "boolean"),
    AGE,
    Column("PreemptionPolicy", field("preemptionPolicy"), f"{_SCHEDULING}.PriorityClass#preemptionPolicy"),
)


def _param_kind(obj: JsonObject) -> str:
    found = at(obj, "spec", "paramKind")
    return UNSET if found is None else f"{found.get('apiVersion', '')}/{found.get('kind', '')}"


def _param_ref(obj: JsonObject) -> str:
    ref = at(obj, "spec", "paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    return UNSET if ref.get("selector") is None else selector(ref["selector"])


_WEBHOOKS = "Webhooks indicates the number of webhooks registered in this configuration"
_VALIDATIONS = "Validations indicates the number of validation rules defined in this configuration"
_MUTATIONS = "Mutation indicates the number of mutations rules defined in this configuration"
_PARAMS = Column(
    "ParamKind", of(_param_kind), "ParamKind specifies the kind of resources used to parameterize this policy"
)
_POLICY_NAME = "PolicyName indicates the policy definition which the policy binding binded to"
_PARAM_REF = "ParamRef indicates the param resource which sets the configuration param"
for _kind, _rules in (("Validating", _VALIDATIONS), ("Mutating", _MUTATIONS)):
    _counted = "Validations" if _kind == "Validating" else "Mutations"
    prints(
        _ADMISSION,
        f"{_kind}WebhookConfiguration",
        NAME,
        Column("Webhooks", length("webhooks"), _WEBHOOKS, "integer"),
        AGE,
    )
    prints(
        _ADMISSION,
        f"{_kind}AdmissionPolicy",
        NAME,
        Column(_counted, length("spec", _counted.lower()), _rules, "integer"),
        _PARAMS,
        AGE,
    )
    prints(
        _ADMISSION,
        f"{_kind}AdmissionPolicyBinding",
        NAME,
        Column("PolicyName", field("spec", "policyName"), _POLICY_NAME),
        Column("ParamRef", of(_param_ref), _PARAM_REF),
        AGE,
    )


def _distinguisher(obj: JsonObject) -> str:
    method = at(obj, "spec", "distinguisherMethod")
    return NONE if method is None else method.get("type", "")


def _dangling(obj: JsonObject) -> str:
    dangling = condition(obj, "Dangling")
    return "?" if dangling is None else dangling.get("status", "")


prints(
    "flowcontrol.apiserver.k8s.io",
    "FlowSchema",
    NAME,
    Column(
        "PriorityLevel",
        field("spec", "priorityLevelConfiguration", "name"),
        f"{_FLOW}.PriorityLevelConfigurationReference#name",
    ),
    Column("MatchingPrecedence", count("spec", "matchingPrecedence"), f"{_FLOW}.FlowSchemaSpec#matchingPrecedence"),
    Column("DistinguisherMethod", of(_distinguisher), f"{_FLOW}.FlowSchemaSpec#distinguisherMethod"),
    AGE,
    Column("MissingPL", of(_dangling), "references a broken or non-existent PriorityLevelConfiguration"),
    order=lambda schema: (number(schema, "spec", "matchingPrecedence"), name_of(schema)),
)


def _limited(name: str, *path: str) -> Cell:
    """A number of a limited level; none where what holds it is absent."""
    return lambda obj, _clock: NONE if (found := at(obj, "spec", "limited", *path)) is None else number(found, name)


def _queuing(title: str, name: str) -> Column:
    return Column(title, _limited(name, "limitResponse", "queuing"), f"{_FLOW}.QueuingConfiguration#{name}")


prints(
    "flowcontrol.apiserver.k8s.io",
    "PriorityLevelConfiguration",
    NAME,
    Column("Type", field("spec", "type"), f"{_FLOW}.PriorityLevelConfigurationSpec#type"),
    Column(
        "NominalConcurrencyShares",
        _limited("nominalConcurrencyShares"),
        f"{_FLOW}.LimitedPriorityLevelConfiguration#nominalConcurrencyShares",
    ),
    _queuing("Queues", "queues"),
    _queuing("HandSize", "handSize"),
    _queuing("QueueLengthLimit", "queueLengthLimit"),
    AGE,
)
