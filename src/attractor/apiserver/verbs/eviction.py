"""``pods/eviction``: a delete that respects PodDisruptionBudgets.

The budget is what its status says: whoever counts healthy pods (the planner in ``controllers.disruption_budgets``, or
somebody else when that controller is off) writes ``disruptionsAllowed``, and an eviction takes one from it in the same
transaction that deletes the pod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from attractor.apiserver.admission.plugin import NO_PLUGINS
from attractor.apiserver.kinds import metadata as rules
from attractor.apiserver.kinds.registry import builtin_kind
from attractor.apiserver.request import options
from attractor.apiserver.request.routing import method_not_allowed
from attractor.apiserver.response import JsonBody, Response
from attractor.apiserver.transaction import Piece
from attractor.apiserver.verbs.binding import CREATED
from attractor.apiserver.verbs.call import Call
from attractor.apiserver.verbs.delete import check_preconditions, delete
from attractor.apiserver.verbs.subresource_bodies import admit, read_body
from attractor.objects.errors import BadRequest, Forbidden, InternalError, TooManyRequests
from attractor.objects.gvk import GroupResource, GroupVersionKind
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.caller import DeleteOptions
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Entry

EVICTION = GroupVersionKind("policy", "v1", "Eviction")
_BUDGETS = GroupResource("policy", "poddisruptionbudgets")
MAX_DISRUPTED_PODS = 2000
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
_PROCESSING_RETRY_S = 10
_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


def evict(call: Call) -> Response:
    """Delete the pod if its budget allows."""
    op = call.op
    if op.verb != "create":
        raise method_not_allowed()
    call = _as_sent(call)
    op = call.op
    eviction, warnings = read_body(call, EVICTION)
    pod = call.kind.decode(call.existing().value)
    admit(call, eviction)
    said = options.delete_options({}, eviction.get("deleteOptions"))
    if op.write.dry_run:
        said = msgspec.structs.replace(said, dry_run=True)
    if not _goes_anyway(pod):
        _take_from_budget(call, pod, dry_run=said.dry_run)
        call.txn.keep()  # what is taken stays taken even if the pod then stays, as in Kubernetes
    if not said.dry_run:
        said = _tell_why(call, pod, said)
    # Whoever may evict need not be allowed to delete: what was admitted is the eviction.
    deletion = op.copy()
    deletion.verb, deletion.subresource, deletion.body, deletion.delete = "delete", "", None, said
    before = dict(call.txn.puts)
    delete(Call(deletion, call.kind, call.txn, NO_PLUGINS))
    if before:  # the budget, and the reason, have versions of their own
        after = [Piece({key: value}, set()) for key, value in call.txn.puts.items() if before.get(key) is not value]
        call.txn.pieces = [*(Piece({key: before[key]}, set()) for key in before), *(call.txn.pieces or after)]
    return Response(201, JsonBody(dict(CREATED)), tuple(warnings))


def _as_sent(call: Call) -> Call:
    """The call with an Eviction of the newest version; an older one is the same but for that."""
    body = call.op.body
    if not isinstance(body, dict):
        return call
    name = (body.get("metadata") or {}).get("name") if isinstance(body.get("metadata"), dict) else None
    if name and name != call.op.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    if (body.get("apiVersion"), body.get("kind")) != ("policy/v1beta1", EVICTION.kind):
        return call
    op = call.op.copy()
    op.body = {**body, "apiVersion": EVICTION.api_version}
    return Call(op, call.kind, call.txn, call.chain)


def _tell_why(call: Call, pod: JsonObject, said: DeleteOptions) -> DeleteOptions:
    """Write the reason into the pod; what the caller demands of the pod is checked before that."""
    entry = call.existing()
    check_preconditions(call.kind, pod, entry, said)
    status = pod.get("status") or {}
    conditions = [one for one in status.get("conditions") or () if one.get("type") != _CONDITION["type"]]
    told = {**_CONDITION, "lastProbeTime": None, "lastTransitionTime": call.txn.now}
    call.txn.put(entry.key, call.kind.encode({**pod, "status": {**status, "conditions": [*conditions, told]}}))
    checked = msgspec.structs.replace(said.preconditions, resource_version=None)
    return msgspec.structs.replace(said, preconditions=checked)


def _goes_anyway(pod: JsonObject) -> bool:
    """Whether the pod serves nobody: it has ended, is ending, or never began."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in {"Succeeded", "Failed", "Pending"} or bool(pod["metadata"].get("deletionTimestamp"))


def _budgets(call: Call, kind: Kind, labels: dict[str, str]) -> list[tuple[Entry, JsonObject]]:
    """The budgets that a pod with these labels counts for."""
    found = []
    for entry in call.txn.range(kind.prefix(call.op.namespace)):
        budget = kind.decode(entry.value)
        selector = LabelSelector.of_object((budget.get("spec") or {}).get("selector"))
        if selector is not None and selector.matches(labels):
            found.append((entry, budget))
    return found


def _take_from_budget(call: Call, pod: JsonObject, *, dry_run: bool) -> None:
    kind = builtin_kind("policy", "v1", "poddisruptionbudgets")
    assert kind is not None, "PodDisruptionBudgets are built in"
    budgets = _budgets(call, kind, pod["metadata"].get("labels") or {})
    if not budgets:
        return
    if len(budgets) > 1:
        why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise InternalError(why)
    ((entry, budget),) = budgets
    call.txn.get(entry.key)
    status = {**(budget.get("status") or {})}
    if not _is_ready(pod) and _spares_unready(budget, status):
        return
    name = budget["metadata"]["name"]
    _check_budget(name, budget, status)
    status["disruptionsAllowed"] -= 1
    if not status["disruptionsAllowed"]:
        status["conditions"] = _exhausted(status, call.txn.now)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: call.txn.now}
    if not dry_run:
        call.txn.put(entry.key, kind.encode(_counted(kind, budget, status, call.txn.now)))


def _counted(kind: Kind, budget: JsonObject, status: JsonObject, now: str) -> JsonObject:
    """The budget with its new status, which is the server's own doing."""
    counted = {**budget, "metadata": {**budget["metadata"]}, "status": status}
    managed = kind.fields.on_update(
        budget, counted, manager="kube-apiserver", now=now, subresource="status",
        reset=kind.strategy.reset_fields("status"),
    )  # fmt: skip
    rules.set_managed_fields(counted["metadata"], managed)
    return counted


def _exhausted(status: JsonObject, now: str) -> list[JsonObject]:
    """The conditions of a budget that has nothing left."""
    conditions: list[JsonObject] = status.get("conditions") or []
    kept = [one for one in conditions if one.get("type") == "DisruptionAllowed" and one.get("status") == "False"]
    told = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration") or 0,
        "lastTransitionTime": kept[0].get("lastTransitionTime") if kept else now,
        "reason": "InsufficientPods",
        "message": "",
    }
    if any(one.get("type") == told["type"] for one in conditions):
        return [told if one.get("type") == told["type"] else one for one in conditions]
    return [*conditions, told]


def _check_budget(name: str, budget: JsonObject, status: JsonObject) -> None:
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _violates(why, retry_after_s=_PROCESSING_RETRY_S)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise Forbidden.of(_BUDGETS, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > MAX_DISRUPTED_PODS:
        raise Forbidden.of(
            _BUDGETS, name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        )
    if allowed == 0:
        raise _violates(f"The disruption budget {name} {_why_nothing_is_allowed(status)}")


def _why_nothing_is_allowed(status: JsonObject) -> str:
    needs, has = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    conditions = status.get("conditions") or ()
    said: JsonObject = next((one for one in conditions if one.get("type") == "DisruptionAllowed"), {})
    reason, message = said.get("reason"), said.get("message") if said.get("status") == "False" else ""
    if message and reason == "SyncFailed":
        return f"does not allow evicting pods currently because it failed sync: {message}"
    if has <= needs:
        return f"needs {needs} healthy pods and has {has} currently"
    if message:
        return f"does not allow evicting pods currently ({reason}): {message}"
    return "does not allow evicting pods currently"


def _violates(why: str, retry_after_s: int = 0) -> TooManyRequests:
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    return TooManyRequests(_VIOLATES, details=details)


def _is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _spares_unready(budget: JsonObject, status: JsonObject) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    healthy, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    return healthy >= desired > 0
