"""The user of a request, and the options of delete, list and watch."""

from __future__ import annotations

from typing import Literal

import msgspec


class User(msgspec.Struct, frozen=True):
    """The user of a request."""

    name: str = "system:anonymous"
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Preconditions(msgspec.Struct, frozen=True):
    """Conditions on the object without which a delete does not happen."""

    uid: str | None = None
    resource_version: str | None = None


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
