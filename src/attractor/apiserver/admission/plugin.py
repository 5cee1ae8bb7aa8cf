"""Admission: pure plug-ins that may change or refuse a write before it happens.

The chain runs in order, first every ``admit`` (which may change the object in place), then, after the kind's own
validation, every ``validate``. A plug-in sees the request, the object, the object before, and may read through the
transaction; it refuses by raising an ``ApiError``. Adding a rule of admission means adding a plug-in to ``chain``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from attractor.objects.compiling import mypyc_attr
from attractor.objects.errors import Forbidden, NotFound
from attractor.objects.gvk import GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.operation import Operation
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

NAMESPACES: Final = GroupResource("", "namespaces")
LOCAL_ACCESS_REVIEWS: Final = GroupResource("authorization.k8s.io", "localsubjectaccessreviews")
REGISTRATIONS: Final = "admissionregistration.k8s.io/"
"""Where webhooks and policies are stored."""
MAX_PLANS = 1024
"""For so many resources at a time it is remembered which plug-ins concern them."""


class Attributes:
    """The write that a plug-in judges; ``obj`` is None on delete, ``old`` is None on create."""

    __slots__ = ("is_connecting", "kind", "obj", "old", "op", "txn", "version")

    def __init__(
        self,
        op: Operation,
        kind: Kind,
        obj: JsonObject | None,
        old: JsonObject | None,
        txn: Transaction,
        version: str = "",
        *,
        is_connecting: bool = False,
    ) -> None:
        self.op = op
        self.kind = kind
        self.obj = obj
        self.old = old
        self.txn = txn
        self.version = version
        """The resourceVersion of what is stored, empty when nothing is; the objects themselves do not say it."""
        self.is_connecting = is_connecting
        """Whether nothing is written: ``obj`` is then what a connection is asked for with."""

    @property
    def operation(self) -> str:
        """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``, by what happens: an apply of something new is a create."""
        if self.is_connecting:
            return "CONNECT"
        if self.obj is None:
            return "DELETE"
        return "CREATE" if self.old is None else "UPDATE"

    @property
    def name(self) -> str:
        """The object's name; empty for one that is yet to be generated."""
        metadata = (self.obj or self.old or {}).get("metadata") or {}
        return self.op.name or metadata.get("name") or ""

    @property
    def gvk(self) -> GroupVersionKind:
        """What the object says it is; on a subresource that is not always the resource's own kind."""
        obj = self.obj or self.old or {}
        return GroupVersionKind.of(obj.get("apiVersion") or "", obj.get("kind") or "")

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing will be kept."""
        return self.op.delete.dry_run if self.obj is None else self.op.write.dry_run


@mypyc_attr(allow_interpreted_subclasses=True)
class Plugin:
    """A plug-in that admits everything."""

    concerns: ClassVar[frozenset[GroupResource] | None] = None
    """The resources it has a say in, None for all; it is never asked about others."""
    obeys_registrations: ClassVar[bool] = False
    """Whether it only carries out what users registered under ``REGISTRATIONS``; it rests while there is nothing."""

    runs_last: ClassVar[bool] = False
    """Whether it is asked only about what everybody else lets pass."""

    def admit(self, attributes: Attributes) -> None:
        """Change the object, or refuse it."""

    def validate(self, attributes: Attributes) -> None:
        """Refuse the object as it will be stored."""


class NamespaceLifecycle(Plugin):
    """Objects are created only in namespaces that exist and stay; the first namespaces are never deleted."""

    IMMORTAL: ClassVar[frozenset[str]] = frozenset({"default", "kube-system", "kube-public"})

    def admit(self, attributes: Attributes) -> None:
        """Refuse content for a namespace that is missing or going away."""
        op, kind = attributes.op, attributes.kind
        if op.verb == "delete" and kind.group_resource == NAMESPACES:
            if op.name in self.IMMORTAL:
                raise Forbidden.of(NAMESPACES, op.name, "this namespace may not be deleted")
            return
        if attributes.old is not None or attributes.obj is None or not kind.namespaced:
            return
        if not kind.is_stored and kind.group_resource == LOCAL_ACCESS_REVIEWS:
            return  # asking about access tells nobody which namespaces there are
        entry = attributes.txn.get(f"core/namespaces/{op.namespace}")
        if entry is None:
            raise NotFound.of(NAMESPACES, op.namespace)
        # A namespace going away says so in its status; the text test avoids decoding it on every create.
        if b'"phase":"Terminating"' in entry.value:
            raise self._terminating(attributes)

    @staticmethod
    def _terminating(attributes: Attributes) -> Forbidden:
        namespace = attributes.op.namespace
        name = (attributes.obj or {}).get("metadata", {}).get("name") or ""
        error = Forbidden.of(
            attributes.kind.group_resource,
            name,
            f"unable to create new content in namespace {namespace} because it is being terminated",
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        return error


class Plan(NamedTuple):
    """The two halves of a chain, as far as they concern one resource."""

    changing: tuple[Callable[[Attributes], None], ...]
    checking: tuple[Callable[[Attributes], None], ...]

    @classmethod
    def of(cls, plugins: Sequence[Plugin]) -> Plan:
        """The halves of these plug-ins that are not empty."""
        return cls(
            tuple(one.admit for one in plugins if type(one).admit is not Plugin.admit),
            tuple(one.validate for one in plugins if type(one).validate is not Plugin.validate),
        )


class Chain:
    """The plug-ins that every write passes through, in order, each only where it has something to say."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._plans: dict[GroupResource, tuple[Plan, Plan]] = {}
        """Without and with registrations; worked out once for each resource. Custom ones come and go: bounded."""

    def admit(self, attributes: Attributes) -> None:
        """Run the changing half of the chain."""
        resource = attributes.kind.group_resource
        plans = self._plans.get(resource) or self._plans_of(resource)
        for admit in plans[attributes.txn.snapshot.has_any(REGISTRATIONS)].changing:
            admit(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Run the checking half of the chain."""
        resource = attributes.kind.group_resource
        plans = self._plans.get(resource) or self._plans_of(resource)
        for validate in plans[attributes.txn.snapshot.has_any(REGISTRATIONS)].checking:
            validate(attributes)

    def of(self, resource: GroupResource, *, is_registered: bool) -> Plan:
        """What a write of a resource passes; ``is_registered`` when users registered anything."""
        return (self._plans.get(resource) or self._plans_of(resource))[is_registered]

    def _plans_of(self, resource: GroupResource) -> tuple[Plan, Plan]:
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        concerned = [one for one in self.plugins if one.concerns is None or resource in one.concerns]
        resting = [one for one in concerned if not one.obeys_registrations]
        plans = self._plans[resource] = (Plan.of(resting), Plan.of(concerned))
        return plans


NO_PLUGINS = Chain(())
"""For a write that is part of another one, which was admitted as a whole."""
