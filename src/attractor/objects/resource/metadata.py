"""The metadata that every Kubernetes object carries, and the small types that many kinds share.

All of them leave out what is empty, as Kubernetes does: an empty text, list or map, a zero, ``None``.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads annotations at run time
from typing import Any, Literal

from attractor.objects.resource.struct import Struct, field


class TypeMeta(Struct, omitempty=True):
    """The API version and kind of an object."""

    api_version: str = ""
    kind: str = ""


class OwnerReference(Struct, omitempty=True):
    """Another object that this one belongs to; when all owners are gone, garbage collection deletes this one."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Struct, omitempty=True):
    """Which fields one manager set, and when."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: datetime | None = None
    fields_type: str = ""
    fields_v1: dict[str, Any] | None = None
    subresource: str = ""


class ObjectMeta(Struct, omitempty=True):
    """Metadata of every object: names, labels, owners, finalizers, versions and times."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    self_link: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}  # noqa: RUF012 - msgspec makes a new one for each object
    annotations: dict[str, str] = {}  # noqa: RUF012
    owner_references: list[OwnerReference] = []  # noqa: RUF012
    finalizers: list[str] = []  # noqa: RUF012
    managed_fields: list[ManagedFieldsEntry] = []  # noqa: RUF012

    @property
    def is_deleting(self) -> bool:
        """Whether deletion was requested, and finalizers still hold the object."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The controlling owner; ``None`` when there is none."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ListMeta(Struct, omitempty=True):
    """The metadata of a list."""

    self_link: str = ""
    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None


class Condition(Struct, omitempty=True):
    """One aspect of an object's state, in the form that Kubernetes tools understand."""

    type: str
    status: Literal["True", "False", "Unknown"]
    last_transition_time: datetime
    reason: str
    message: str
    observed_generation: int = 0


class LabelSelectorRequirement(Struct, omitempty=True):
    """One rule of a selector: a label is (not) one of some values, or is (not) there."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] = []  # noqa: RUF012


class LabelSelector(Struct, omitempty=True):
    """Chooses objects by their labels; all rules must hold, and an empty selector chooses everything."""

    match_labels: dict[str, str] = {}  # noqa: RUF012
    match_expressions: list[LabelSelectorRequirement] = []  # noqa: RUF012
