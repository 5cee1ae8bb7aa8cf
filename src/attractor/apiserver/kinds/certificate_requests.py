"""Fields of a CertificateSigningRequest that the server sets: who asks, and when it was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attractor.apiserver.admission.plugin import Plugin
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject

_FROM_THE_USER = ("username", "uid", "groups", "extra")


class CertificateRequests(Plugin):
    """A request names whoever makes it, whatever it says, and each condition has its times."""

    concerns: ClassVar[frozenset[GroupResource] | None] = frozenset(
        {GroupResource("certificates.k8s.io", "certificatesigningrequests")}
    )

    def admit(self, attributes: Attributes) -> None:
        """Write down the user of a new request, or the times of new conditions."""
        request, old = attributes.obj, attributes.old
        if request is not None and old is None:
            _name_the_user(request["spec"], attributes)
        elif request is not None and old is not None and attributes.op.subresource:
            _time_conditions(request, old, attributes.txn.now)


def _name_the_user(spec: JsonObject, attributes: Attributes) -> None:
    for field in _FROM_THE_USER:
        spec.pop(field, None)
    user = attributes.op.user
    extra = {name: list(values) for name, values in user.extra}
    said = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    spec.update((field, value) for field, value in said.items() if value)


def _time_conditions(request: JsonObject, old: JsonObject, now: str) -> None:
    before = (old.get("status") or {}).get("conditions") or ()
    for condition in (request.get("status") or {}).get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            same = (one for one in before if all(one.get(name) == condition.get(name) for name in ("type", "status")))
            kept = next((one["lastTransitionTime"] for one in same if one.get("lastTransitionTime")), now)
            condition["lastTransitionTime"] = kept
