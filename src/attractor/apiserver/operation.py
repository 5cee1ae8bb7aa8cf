"""What a caller asks for, after routing: a verb on a resource, with its options and body."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from attractor.objects.gvk import GroupVersionResource
    from attractor.objects.jsontypes import Json, JsonObject

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

PatchType = Literal[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]
JSON_PATCH: PatchType = "application/json-patch+json"
MERGE_PATCH: PatchType = "application/merge-patch+json"
STRATEGIC_PATCH: PatchType = "application/strategic-merge-patch+json"
APPLY_PATCH: PatchType = "application/apply-patch+yaml"

FieldValidation = Literal["Ignore", "Warn", "Strict"]


class User(msgspec.Struct, frozen=True):
    """Who asks."""

    name: str = "system:anonymous"
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Preconditions(msgspec.Struct, frozen=True):
    """What must still be true of the object for a delete to happen."""

    uid: str | None = None
    resource_version: str | None = None


class WriteOptions(msgspec.Struct, frozen=True):
    """Options of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: FieldValidation = "Warn"
    force: bool = False


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of delete and deletecollection."""

    dry_run: bool = False
    preconditions: Preconditions = Preconditions()
    propagation: Literal["", "Background", "Foreground", "Orphan"] = ""
    grace_period_s: int | None = None
    waits_for_dependents: bool = False
    """Whether ``orphanDependents: false`` was said, whose answer is "accepted" while the object is still there."""


class ListOptions(msgspec.Struct, frozen=True):
    """Options of list, watch and deletecollection."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: Literal["", "Exact", "NotOlderThan"] = ""
    allow_bookmarks: bool = False
    send_initial_events: bool = False
    timeout_s: int | None = None


class Operation(msgspec.Struct, frozen=True):
    """One request that has been understood: the core's input."""

    verb: Verb
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    body: Json = None
    """The decoded body of a write: an object, or the operations of a JSON patch."""
    duplicates: tuple[str, ...] = ()
    """Fields that stood twice in the body; the last one counted."""
    patch_type: PatchType = MERGE_PATCH
    write: WriteOptions = WriteOptions()
    delete: DeleteOptions = DeleteOptions()
    list: ListOptions = ListOptions()
    user: User = User()
    user_agent: str = ""

    @property
    def manager(self) -> str:
        """The field manager: as given, else the first word of the user agent, else ``unknown``, as in Kubernetes."""
        return self.write.field_manager or _manager_of(self.user_agent)


@lru_cache(maxsize=1024)
def _manager_of(user_agent: str) -> str:
    agent = user_agent.split("/", 1)[0]
    return "".join(c for c in agent if c.isprintable())[:128] or "unknown"


def status_update(
    where: GroupVersionResource, obj: JsonObject, revision: int, status: JsonObject, manager: str
) -> Operation:
    """The operation that makes this a stored object's status, unless somebody else was faster."""
    metadata = obj["metadata"]
    return Operation(
        "update",
        *where,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        subresource="status",
        body={**obj, "metadata": {**metadata, "resourceVersion": str(revision)}, "status": status},
        write=WriteOptions(field_manager=manager),
    )
