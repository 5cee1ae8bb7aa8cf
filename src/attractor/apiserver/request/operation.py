"""``Operation``: a verb on a resource, with its options and body, as routing understood the request."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from attractor.apiserver.request.caller import DeleteOptions, ListOptions, User

if TYPE_CHECKING:
    from attractor.objects.gvk import GroupVersionResource
    from attractor.objects.json_types import Json, JsonObject

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

PatchType = Literal[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]
JSON_PATCH: Final[PatchType] = "application/json-patch+json"
MERGE_PATCH: Final[PatchType] = "application/merge-patch+json"
STRATEGIC_PATCH: Final[PatchType] = "application/strategic-merge-patch+json"
APPLY_PATCH: Final[PatchType] = "application/apply-patch+yaml"

FieldValidation = Literal["Ignore", "Warn", "Strict"]


class WriteOptions:
    """Options of create, update and patch."""

    __slots__ = ("dry_run", "field_manager", "field_validation", "force")

    def __init__(
        self,
        *,
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: FieldValidation = "Warn",
        force: bool = False,
    ) -> None:
        self.dry_run = dry_run
        self.field_manager = field_manager
        self.field_validation: FieldValidation = field_validation
        self.force = force


NO_WRITE_OPTIONS: Final = WriteOptions()
NO_DELETE_OPTIONS: Final = DeleteOptions()
NO_LIST_OPTIONS: Final = ListOptions()
NOBODY: Final = User()


class Operation:
    """One request that has been understood: the core's input."""

    __slots__ = (
        "body", "delete", "duplicates", "group", "list", "name", "namespace", "patch_type", "resource", "subresource",
        "user", "user_agent", "verb", "version", "write",
    )  # fmt: skip

    def __init__(
        self,
        verb: Verb,
        group: str,
        version: str,
        resource: str,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        body: Json = None,
        duplicates: tuple[str, ...] = (),
        patch_type: PatchType = MERGE_PATCH,
        write: WriteOptions = NO_WRITE_OPTIONS,
        delete: DeleteOptions = NO_DELETE_OPTIONS,
        list: ListOptions = NO_LIST_OPTIONS,  # noqa: A002 - its name is that of the options
        user: User = NOBODY,
        user_agent: str = "",
    ) -> None:
        self.verb: Verb = verb
        self.group = group
        self.version = version
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.subresource = subresource
        self.body = body
        """The decoded body of a write: an object, or the operations of a JSON patch."""
        self.duplicates = duplicates
        """Fields that stood twice in the body; the last one counted."""
        self.patch_type: PatchType = patch_type
        self.write = write
        self.delete = delete
        self.list = list
        self.user = user
        self.user_agent = user_agent

    def said(self) -> tuple[object, ...]:
        """Everything it says, in words that are equal for equal operations and can be written down."""
        write = self.write
        how = (self.patch_type, write.dry_run, write.field_manager, write.field_validation, write.force)
        where = (self.group, self.version, self.resource, self.namespace, self.name, self.subresource)
        who = (self.user, self.user_agent)
        return self.verb, where, self.body, self.duplicates, how, self.delete, self.list, who

    def copy(self) -> Operation:
        """The same, to be changed."""
        return Operation(
            self.verb, self.group, self.version, self.resource, self.namespace, self.name, self.subresource, self.body,
            self.duplicates, self.patch_type, self.write, self.delete, self.list, self.user, self.user_agent,
        )  # fmt: skip

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
