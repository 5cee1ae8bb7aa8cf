"""Rights that a write needs beyond its own verb, as Kubernetes asks for them while it admits the write.

What a request is authorized for is told from its method and path. Some writes turn out to be more than that: an update
or an apply that creates is a creation, too; whoever approves or signs a certificate request acts for its signer; a
policy that reads parameters reads them with nobody's rights, so its author must be allowed to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.policies.params import kind_of
from attractor.apiserver.auth.authorizer import MASTERS, forbidden
from attractor.apiserver.auth.authorizer import Attributes as Asked
from attractor.apiserver.auth.escalation import EscalationCheck
from attractor.apiserver.request.caller import User
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.auth.authorizer import Authorizer, Decision
    from attractor.objects.json_types import JsonObject

_NOBODY = User()
"""Who asks when the server itself does."""
_CERTIFICATES = "certificates.k8s.io"
_REGISTRATION = "admissionregistration.k8s.io"
_POLICIES = frozenset({"validatingadmissionpolicies", "mutatingadmissionpolicies"})


class _Rights(Plugin):
    """A plug-in that asks an authorizer about the author of a write."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def _is_exempt(self, attributes: Attributes) -> bool:
        user = attributes.op.user
        return user == _NOBODY or MASTERS in user.groups

    def _decide(self, attributes: Attributes, asked: Asked) -> Decision:
        return self._authorizer.decide(attributes.op.user, asked, attributes.txn.snapshot)


class CreationRights(_Rights):
    """Refuses an update or an apply that creates to who may not create."""

    def validate(self, attributes: Attributes) -> None:
        """Ask for the right to create; a plain creation was asked about before."""
        op = attributes.op
        if attributes.old is not None or attributes.obj is None or op.verb not in {"update", "patch"}:
            return
        if self._is_exempt(attributes):
            return
        asked = Asked("create", op.group, op.version, op.resource, op.subresource, op.namespace, op.name)
        decision = self._decide(attributes, asked)
        if not decision.allowed:
            raise forbidden(op.user, asked, decision.reason)


class SignerRights(_Rights):
    """Refuses approvals and signatures to who may not ``approve`` or ``sign`` for the request's signer."""

    concerns: ClassVar[frozenset[GroupResource] | None] = frozenset(
        {GroupResource(_CERTIFICATES, "certificatesigningrequests")}
    )

    def validate(self, attributes: Attributes) -> None:
        """Ask for the right to act for the signer."""
        verb = self._needed(attributes)
        if not verb or attributes.old is None or self._is_exempt(attributes):
            return
        signer = attributes.old["spec"].get("signerName") or ""
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            if self._decide(attributes, Asked(verb, _CERTIFICATES, "*", "signers", name=name)).allowed:
                return
        said = "approve" if verb == "approve" else "sign"
        why = f"user not permitted to {said} requests with signerName {_quoted(signer)}"
        raise Forbidden.of(attributes.kind.group_resource, attributes.name, why)

    @staticmethod
    def _needed(attributes: Attributes) -> str:
        subresource = attributes.op.subresource
        if subresource == "approval":
            return "approve"
        if subresource != "status" or attributes.obj is None or attributes.old is None:
            return ""
        now, before = attributes.obj.get("status") or {}, attributes.old.get("status") or {}
        if now.get("certificate") != before.get("certificate") or _failed(now) != _failed(before):
            return "sign"
        return ""


class ParameterRights(_Rights):
    """Refuses policies and bindings whose parameters their author may not read."""

    concerns: ClassVar[frozenset[GroupResource] | None] = frozenset(
        GroupResource(_REGISTRATION, name)
        for name in (*_POLICIES, "validatingadmissionpolicybindings", "mutatingadmissionpolicybindings")
    )

    def validate(self, attributes: Attributes) -> None:
        """Ask for the right to read the parameters, where they are new."""
        obj, old = attributes.obj, attributes.old
        if obj is None or self._is_exempt(attributes):
            return
        field = "paramKind" if attributes.kind.resource in _POLICIES else "paramRef"
        said = (obj.get("spec") or {}).get(field)
        if not said or (old is not None and said == (old.get("spec") or {}).get(field)):
            return
        kind = said if field == "paramKind" else self._kind_of_policy(attributes, obj)
        if kind is None:
            return
        place = {"name": "*", "namespace": "*"}
        if field == "paramRef":
            place = {"name": said.get("name") or "*", "namespace": said.get("namespace") or "*"}
        asked = _read(kind, place, attributes)
        if not self._decide(attributes, asked).allowed:
            where = f"(kind={kind.get('kind')}, apiVersion={kind.get('apiVersion')})"
            what = (
                f"all objects of the referenced paramKind {where}" if field == "paramKind" else "the referenced params"
            )
            why = f'user {_quoted(attributes.op.user.name)} does not have "get" permission on {what}'
            raise Forbidden.of(attributes.kind.group_resource, attributes.name, why)

    @staticmethod
    def _kind_of_policy(attributes: Attributes, binding: JsonObject) -> JsonObject | None:
        """What kind of parameters the policy of a binding has; None while there is no such policy."""
        resource = f"{attributes.kind.resource.removesuffix('policybindings')}policies"
        entry = attributes.txn.snapshot.get(f"{_REGISTRATION}/{resource}/{binding['spec'].get('policyName')}")
        policy: JsonObject = {} if entry is None else attributes.kind.decode(entry.value)
        return (policy.get("spec") or {}).get("paramKind")


def required_rights(authorizer: Authorizer) -> tuple[Plugin, ...]:
    """All that asks for rights while a write is admitted."""
    parts = (CreationRights, EscalationCheck, SignerRights, ParameterRights)
    return tuple(part(authorizer) for part in parts)


def _read(kind: JsonObject, place: dict[str, str], attributes: Attributes) -> Asked:
    """The right to read parameters; of a kind that nobody serves, everything of its group."""
    gvk = GroupVersionKind.of(kind.get("apiVersion") or "", kind.get("kind") or "")
    found = kind_of(gvk, attributes.txn)
    resource = found.resource if found is not None else "*"
    return Asked("get", gvk.group, gvk.version, resource, "", place["namespace"], place["name"])


def _failed(status: JsonObject) -> list[JsonObject]:
    return [one for one in status.get("conditions") or () if one.get("type") == "Failed"]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
