"""Limits and rules: quotas, budgets, priorities, admission, flow control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cells,
    Column,
    age_of,
    at,
    condition,
    items,
    name_of,
    number,
    prints,
    selector,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_SCHEDULING, _FLOW = "io.k8s.api.scheduling.v1", "io.k8s.api.flowcontrol.v1"
_ADMISSION = "admissionregistration.k8s.io"


@prints(
    "",
    "ResourceQuota",
    NAME,
    Column("Request", about="Request represents a minimum amount of cpu/memory that a container may consume."),
    Column(
        "Limit",
        about="Limits control the maximum amount of cpu/memory that a container may use independent of contention "
        "on the node.",
    ),
    AGE,
)
def resource_quota(obj: JsonObject, clock: Clock) -> Cells:
    """A quota: what is used of it."""
    hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
    rows = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [row for name, row in rows.items() if name.startswith("limits.")]
    requests = [row for name, row in rows.items() if not name.startswith("limits.")]
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age_of(obj, clock)]


def _amount(value: Any) -> str:
    return "N/A" if value is None else str(value)


@prints(
    "policy",
    "PodDisruptionBudget",
    NAME,
    Column("Min Available", about="The minimum number of pods that must be available."),
    Column("Max Unavailable", about="The maximum number of pods that may be unavailable."),
    Column("Allowed Disruptions", "integer", "Calculated number of pods that may be disrupted at this time."),
    AGE,
)
def pod_disruption_budget(obj: JsonObject, clock: Clock) -> Cells:
    """A budget."""
    return [
        name_of(obj),
        _amount(at(obj, "spec", "minAvailable")),
        _amount(at(obj, "spec", "maxUnavailable")),
        number(obj, "status", "disruptionsAllowed"),
        age_of(obj, clock),
    ]


@prints(
    "scheduling.k8s.io",
    "PriorityClass",
    NAME,
    Column("Value", "integer", f"{_SCHEDULING}.PriorityClass#value"),
    Column("Global-Default", "boolean", f"{_SCHEDULING}.PriorityClass#globalDefault"),
    AGE,
    Column("PreemptionPolicy", about=f"{_SCHEDULING}.PriorityClass#preemptionPolicy"),
)
def priority_class(obj: JsonObject, clock: Clock) -> Cells:
    """A priority."""
    is_default = bool(obj.get("globalDefault"))
    return [name_of(obj), number(obj, "value"), is_default, age_of(obj, clock), obj.get("preemptionPolicy") or ""]


_WEBHOOKS = Column("Webhooks", "integer", "Webhooks indicates the number of webhooks registered in this configuration")
_PARAM_KIND = Column("ParamKind", about="ParamKind specifies the kind of resources used to parameterize this policy")


@prints(_ADMISSION, "MutatingWebhookConfiguration", NAME, _WEBHOOKS, AGE)
@prints(_ADMISSION, "ValidatingWebhookConfiguration", NAME, _WEBHOOKS, AGE)
def webhooks(obj: JsonObject, clock: Clock) -> Cells:
    """A list of webhooks."""
    return [name_of(obj), len(items(obj, "webhooks")), age_of(obj, clock)]


def _param_kind(obj: JsonObject) -> str:
    found = at(obj, "spec", "paramKind")
    return UNSET if found is None else f"{found.get('apiVersion', '')}/{found.get('kind', '')}"


@prints(
    _ADMISSION,
    "ValidatingAdmissionPolicy",
    NAME,
    Column(
        "Validations",
        "integer",
        "Validations indicates the number of validation rules defined in this configuration",
    ),
    _PARAM_KIND,
    AGE,
)
def validating_policy(obj: JsonObject, clock: Clock) -> Cells:
    """A policy."""
    return [name_of(obj), len(items(obj, "spec", "validations")), _param_kind(obj), age_of(obj, clock)]


@prints(
    _ADMISSION,
    "MutatingAdmissionPolicy",
    NAME,
    Column("Mutations", "integer", "Mutation indicates the number of mutations rules defined in this configuration"),
    _PARAM_KIND,
    AGE,
)
def mutating_policy(obj: JsonObject, clock: Clock) -> Cells:
    """A policy that changes objects."""
    return [name_of(obj), len(items(obj, "spec", "mutations")), _param_kind(obj), age_of(obj, clock)]


_BINDING_COLUMNS = (
    NAME,
    Column("PolicyName", about="PolicyName indicates the policy definition which the policy binding binded to"),
    Column("ParamRef", about="ParamRef indicates the param resource which sets the configuration param"),
    AGE,
)


@prints(_ADMISSION, "ValidatingAdmissionPolicyBinding", *_BINDING_COLUMNS)
@prints(_ADMISSION, "MutatingAdmissionPolicyBinding", *_BINDING_COLUMNS)
def policy_binding(obj: JsonObject, clock: Clock) -> Cells:
    """A binding of a policy to its parameters."""
    ref = at(obj, "spec", "paramRef")
    shown = UNSET
    if ref is not None and ref.get("name"):
        shown = f"{ref.get('namespace') or '*'}/{ref['name']}"
    elif ref is not None and ref.get("selector") is not None:
        shown = selector(ref["selector"])
    return [name_of(obj), at(obj, "spec", "policyName") or "", shown, age_of(obj, clock)]


@prints(
    "flowcontrol.apiserver.k8s.io",
    "FlowSchema",
    NAME,
    Column("PriorityLevel", about=f"{_FLOW}.PriorityLevelConfigurationReference#name"),
    Column("MatchingPrecedence", about=f"{_FLOW}.FlowSchemaSpec#matchingPrecedence"),
    Column("DistinguisherMethod", about=f"{_FLOW}.FlowSchemaSpec#distinguisherMethod"),
    AGE,
    Column("MissingPL", about="references a broken or non-existent PriorityLevelConfiguration"),
    order=lambda schema: (number(schema, "spec", "matchingPrecedence"), name_of(schema)),
)
def flow_schema(obj: JsonObject, clock: Clock) -> Cells:
    """A flow."""
    method, dangling = at(obj, "spec", "distinguisherMethod"), condition(obj, "Dangling")
    return [
        name_of(obj),
        at(obj, "spec", "priorityLevelConfiguration", "name") or "",
        number(obj, "spec", "matchingPrecedence"),
        NONE if method is None else method.get("type", ""),
        age_of(obj, clock),
        "?" if dangling is None else dangling.get("status", ""),
    ]


@prints(
    "flowcontrol.apiserver.k8s.io",
    "PriorityLevelConfiguration",
    NAME,
    Column("Type", about=f"{_FLOW}.PriorityLevelConfigurationSpec#type"),
    Column("NominalConcurrencyShares", about=f"{_FLOW}.LimitedPriorityLevelConfiguration#nominalConcurrencyShares"),
    Column("Queues", about=f"{_FLOW}.QueuingConfiguration#queues"),
    Column("HandSize", about=f"{_FLOW}.QueuingConfiguration#handSize"),
    Column("QueueLengthLimit", about=f"{_FLOW}.QueuingConfiguration#queueLengthLimit"),
    AGE,
)
def priority_level(obj: JsonObject, clock: Clock) -> Cells:
    """A level."""
    limited = at(obj, "spec", "limited")
    queuing = at(limited, "limitResponse", "queuing")
    return [
        name_of(obj),
        at(obj, "spec", "type") or "",
        NONE if limited is None else number(limited, "nominalConcurrencyShares"),
        *(NONE if queuing is None else number(queuing, name) for name in ("queues", "handSize", "queueLengthLimit")),
        age_of(obj, clock),
    ]
