"""``LifecycleAdmission``: lifecycles as a plug-in of the API server, which then refuses what a table does not have.

    cluster = EmbeddedCluster(admission=[LifecycleAdmission({GroupKind("example.org", "Door"): guard})])

A refused move is a 403 whose text names the object, its state and the actor. The object before is the one that the
write replaces, compared when it commits, so that of two actors who race one is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.admission.plugin import Plugin
from attractor.lifecycle import Refused, Requester
from attractor.objects.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.lifecycle import Guard
    from attractor.objects.gvk import GroupKind


class LifecycleAdmission(Plugin):
    """Keeps the kinds that have a guard to their tables."""

    def __init__(self, guards: Mapping[GroupKind, Guard[Any, Any]]) -> None:
        self._guards = dict(guards)

    def validate(self, attributes: Attributes) -> None:
        """Refuse a change of state that the table does not have for this user; raises ``Forbidden``."""
        guard = self._guards.get(attributes.kind.group_kind)
        if guard is None or attributes.obj is None:
            return
        user = attributes.op.user
        try:
            guard.check(attributes.old, attributes.obj, Requester(user.name, user.groups))
        except Refused as refusal:
            raise Forbidden.of(attributes.kind.group_resource, attributes.name, str(refusal)) from None
