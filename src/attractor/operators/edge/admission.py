"""Admission of the edge operator: refuses moves by the wrong actor, and wishes that nobody would fulfil now.

Who is who: the agent of version V in namespace N is the service account ``agent-V`` there; the coordinator is the group
``edge:coordinators``, or an administrator; administrators (``system:masters``) may override. Everybody else is a user.

On a server without this plug-in the coordinator and the agents still do nothing that the tables do not have: they check
every move of their own. What is lost is that others are refused, and that users hear at once why nothing happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.auth.authorizer import MASTERS
from attractor.embedded.lifecycles import LifecycleAdmission
from attractor.lifecycle import Guard, Refused, Requester
from attractor.objects.errors import Forbidden
from attractor.operators.edge.api.access import PREFIX
from attractor.operators.edge.api.intents import (
    cloudlet_refusal,
    cluster_status,
    lifecycle_of,
    override_of,
    status_of,
    wanted,
)
from attractor.operators.edge.api.states import (
    AGENT,
    APP_INST,
    CLOUDLET,
    CLUSTER_INST,
    Actor,
    CloudletState,
    TrackedState,
)
from attractor.operators.edge.api.types import GROUP, OVERRIDE, AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.controllers.upgrades import cloudlet_status

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject
    from attractor.operators.edge.api.types import Instance

COORDINATORS = "edge:coordinators"
T = TrackedState
_CRM = frozenset({Actor.CRM})
_COORDINATOR = frozenset({Actor.USER, Actor.CONTROLLER})


def agent_version(who: Requester, namespace: str) -> str:
    """The version of the agent that asks; empty when it is no agent of this namespace."""
    prefix = f"system:serviceaccount:{namespace}:{PREFIX}"
    return who.name.removeprefix(prefix) if who.name.startswith(prefix) else ""


def actors_of(who: Requester, obj: JsonObject) -> frozenset[Actor]:
    """The actors that somebody is, with respect to an object."""
    if agent_version(who, (obj.get("metadata") or {}).get("namespace") or ""):
        return _CRM
    if MASTERS in who.groups:
        return _COORDINATOR | {Actor.ADMIN}
    return _COORDINATOR if COORDINATORS in who.groups else frozenset({Actor.USER})


_OWNED = {"current": _CRM | {Actor.ADMIN}, "attempts": _CRM, "target": _COORDINATOR, "operation": _COORDINATOR}
TABLES = LifecycleAdmission(
    {
        ClusterInst.gvk.group_kind: Guard(
            CLUSTER_INST, TrackedState, actors_of, owned={**_OWNED, "apps": _COORDINATOR, "reservedBy": _COORDINATOR}
        ),
        AppInst.gvk.group_kind: Guard(APP_INST, TrackedState, actors_of, owned=_OWNED),
        Cloudlet.gvk.group_kind: Guard(
            CLOUDLET,
            TrackedState,
            actors_of,
            owned={"version": _COORDINATOR, "upgradingTo": _COORDINATOR, "cloudletState": _COORDINATOR},
        ),
    }
)


class AgentAdmission(Plugin):
    """An agent says only what it is itself, along its table; only the version that serves speaks for instances.

    Beside it only an administrator speaks of an agent, and only along the overrides of that table.
    """

    def validate(self, attributes: Attributes) -> None:
        """Refuse what an agent may not say."""
        if attributes.kind.gvk.group != GROUP or attributes.obj is None or attributes.op.subresource != "status":
            return
        user, namespace = attributes.op.user, attributes.op.namespace
        who = Requester(user.name, user.groups)
        version = agent_version(who, namespace)
        if attributes.kind.gvk.kind == Cloudlet.gvk.kind:
            try:
                self._check_agents(attributes, who, version)
            except Refused as refusal:
                raise Forbidden.of(attributes.kind.group_resource, attributes.name, str(refusal)) from None
        elif version:
            cloudlet = stored(attributes, Cloudlet, namespace)
            serving = "" if cloudlet is None else cloudlet_status(cloudlet).version
            if serving != version:
                why = f"agent {version} does not serve Cloudlet {namespace}, agent {serving or '(none)'} does"
                raise Forbidden.of(attributes.kind.group_resource, attributes.name, why)

    def _check_agents(self, attributes: Attributes, who: Requester, version: str) -> None:
        was, now = (_agents(obj) for obj in (attributes.old, attributes.obj))
        actors = actors_of(who, attributes.obj or {})
        for name in sorted(was.keys() | now.keys()):
            before, after = was.get(name), now.get(name)
            if before == after or after is None:
                continue
            if name == version:
                self._check_version(attributes, version)
            elif Actor.ADMIN not in actors:
                raise Refused(f"what agent {name} of Cloudlet {attributes.name} is, says only agent {name} itself")
            first = CloudletState.INIT if before is None else CloudletState(before["state"])
            then = CloudletState(after["state"])
            if first != then:
                asking = [Actor.CRM_V1, Actor.CRM_V2] if name == version else [Actor.ADMIN]
                AGENT.check(first, asking, then, f"agent {name} of Cloudlet {attributes.name}")

    def _check_version(self, attributes: Attributes, version: str) -> None:
        cloudlet = Cloudlet.from_dict(attributes.old or {})
        status = cloudlet_status(cloudlet)
        allowed = [name for name in (status.version or cloudlet.spec.version, status.upgrading_to) if name]
        if version not in allowed:
            raise Refused(
                f"agent {version} does not match Cloudlet {attributes.name}, which wants {' or '.join(allowed)}"
            )


class WishAdmission(Plugin):
    """Users hear at once what cannot be done now: on busy objects, in upgrades, to clusters with apps."""

    def validate(self, attributes: Attributes) -> None:
        """Refuse a wish that would have to wait for something that the user should know of."""
        kind, op = attributes.kind, attributes.op
        if kind.gvk.group != GROUP or op.subresource:
            return
        who = Requester(op.user.name, op.user.groups)
        if agent_version(who, op.namespace) or COORDINATORS in who.groups or op.user.name.startswith("system:"):
            return
        why = ""
        if kind.gvk.kind == Cloudlet.gvk.kind:
            why = self._cloudlet(attributes)
        elif kind.gvk.kind in {ClusterInst.gvk.kind, AppInst.gvk.kind}:
            why = self._instance(attributes, who)
        if why:
            raise Forbidden.of(kind.group_resource, attributes.name, why)

    def _cloudlet(self, attributes: Attributes) -> str:
        old, new = attributes.old, attributes.obj
        namespace = attributes.op.namespace
        if new is None:
            held = [kind for kind in (ClusterInst, AppInst) if attributes.txn.has_any(_prefix(kind, namespace))]
            return f"it still has {held[0].__name__}s; delete them first" if held else ""
        if attributes.name != namespace:
            return f"a Cloudlet has the name of its namespace: {namespace}"
        if old is None:
            return ""
        before, after = Cloudlet.from_dict(old), Cloudlet.from_dict(new)
        if before.spec == after.spec:
            return ""
        state = cloudlet_status(before).state
        if state is T.NOT_PRESENT:
            return "no agent has come up yet, so there is nothing to upgrade"
        is_repair = state is T.UPDATE_ERROR and MASTERS in attributes.op.user.groups
        return "" if is_repair else cloudlet_refusal(before, namespace)

    def _instance(self, attributes: Attributes, who: Requester) -> str:
        cls: Any = ClusterInst if attributes.kind.gvk.kind == ClusterInst.gvk.kind else AppInst
        old = None if attributes.old is None else cls.from_dict(attributes.old)
        new = None if attributes.obj is None else cls.from_dict(attributes.obj)
        if new is not None and MASTERS not in who.groups and _annotation(old) != _annotation(new):
            return f"only administrators may set the annotation {OVERRIDE}"
        if new is None or old is None:
            return self._deletion(attributes, old) if old is not None else self._cloudlet_refusal(attributes, new)
        if wanted(old).settings == wanted(new).settings:
            return ""
        if why := self._cloudlet_refusal(attributes, new):
            return why
        if old.metadata.is_deleting:
            return f"{_named(old)} is already under deletion"
        if status_of(old).state not in lifecycle_of(old).resting | {T.UPDATE_ERROR, T.CREATE_ERROR}:
            return f"{_named(old)} is busy, cannot be updated: it is {status_of(old).state}"
        return ""

    def _cloudlet_refusal(self, attributes: Attributes, wish: Instance | None) -> str:
        namespace = attributes.op.namespace
        allowed = None if wish is None else override_of(wish)
        return cloudlet_refusal(stored(attributes, Cloudlet, namespace), namespace, allowed)

    def _upgrade_refusal(self, attributes: Attributes) -> str:
        """Return why nothing is deleted in an upgrade, or after a failed one; else empty."""
        cloudlet = stored(attributes, Cloudlet, attributes.op.namespace)
        if cloudlet is None or cloudlet_status(cloudlet).state in {T.NOT_PRESENT, T.READY}:
            return ""
        return cloudlet_refusal(cloudlet, attributes.op.namespace)

    def _deletion(self, attributes: Attributes, obj: Instance) -> str:
        state, allowed = status_of(obj).state, override_of(obj)
        if obj.metadata.is_deleting:
            return ""
        if why := self._upgrade_refusal(attributes):
            return why
        if state in lifecycle_of(obj).busy and not (allowed is not None and allowed.is_past_work):
            return f"{_named(obj)} is busy, cannot be deleted: it is {state}"
        if isinstance(obj, ClusterInst):
            holding = [name for name in sorted(cluster_status(obj).apps) if self._holds(attributes, name)]
            if holding:
                return f"AppInst {', '.join(holding)} in it would be lost; delete them first, or give them autoDelete"
        return ""

    def _holds(self, attributes: Attributes, name: str) -> bool:
        app = stored(attributes, AppInst, name)
        return app is not None and not app.spec.auto_delete and not app.metadata.is_deleting


def _agents(obj: JsonObject | None) -> dict[str, Any]:
    return dict(((obj or {}).get("status") or {}).get("agents") or {})


def _annotation(obj: Instance | None) -> str:
    return "" if obj is None else obj.metadata.annotations.get(OVERRIDE, "")


def _named(obj: Instance) -> str:
    return f"{obj.kind} {obj.metadata.name}"


def _prefix(kind: Any, namespace: str) -> str:
    return f"{GROUP}/{kind.resource_info.resource}/{namespace}/"


def stored(attributes: Attributes, kind: Any, name: str) -> Any:
    """An object of the same namespace, as of this transaction, which fails if it changes meanwhile."""
    entry = attributes.txn.get(_prefix(kind, attributes.op.namespace) + name)
    return None if entry is None else kind.from_dict(orjson.loads(entry.value))


PLUGINS: tuple[Plugin, ...] = (TABLES, AgentAdmission(), WishAdmission())
"""What an API server of the edge operator is started with."""
