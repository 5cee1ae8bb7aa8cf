"""A log of every request that a client made, for assertions: how many, which, in what order, answered how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.client import ClientRequest

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


def require_verb(verb: str) -> None:
    """Raise ``ValueError`` for a verb that no request has: what is asked of it would be true of nothing."""
    if verb and verb not in VERBS:
        raise ValueError(f"there is no verb {verb!r}; there are: {', '.join(VERBS)}")


@dataclass(frozen=True)
class LoggedRequest:
    """One request in Kubernetes' words, and its outcome."""

    verb: str
    """``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete`` or ``deletecollection``."""
    group: str
    """The API group; empty for the core group."""
    resource: str
    """The resource, such as ``configmaps``."""
    namespace: str
    """The namespace; empty for cluster-scoped resources."""
    name: str
    """The object's name; empty for collections."""
    subresource: str
    """Such as ``status``; empty for the object itself."""
    at_s: float = 0.0
    """When it was sent, in the event loop's time."""
    code: int = 0
    """The HTTP status; 0 when no answer came."""
    client: str = ""
    """Who sent it, where several clients share a log."""

    @property
    def is_write(self) -> bool:
        """Return whether it could change something."""
        return self.verb not in {"get", "list", "watch"}

    def __str__(self) -> str:
        target = "/".join(part for part in (self.resource, self.namespace, self.name, self.subresource) if part)
        return f"{self.verb} {target} -> {self.code or 'no answer'}"


def describe(request: ClientRequest) -> LoggedRequest | None:
    """Return the description of a request; None for requests that are about no resource, such as discovery."""
    parts = request.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in {"status", "finalize"}):
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    resource, name, subresource = (*rest, "", "")[:3]
    verb = _VERBS.get(request.method, "get")
    if not name and verb == "get":
        verb = "watch" if ("watch", "1") in request.query or ("watch", "true") in request.query else "list"
    if not name and verb == "delete":
        verb = "deletecollection"
    return LoggedRequest(verb, group, resource, namespace, name, subresource)


class RequestLog:
    """Every request that controllers made, oldest first; iterate over it."""

    def __init__(self) -> None:
        self._entries: list[LoggedRequest] = []

    def append(self, entry: LoggedRequest) -> None:
        """Add a request. For transports."""
        self._entries.append(entry)

    def clear(self) -> None:
        """Forget all requests so far."""
        self._entries.clear()

    def __iter__(self) -> Iterator[LoggedRequest]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def writes(self) -> list[LoggedRequest]:
        """The requests that could change something."""
        return [entry for entry in self._entries if entry.is_write]

    def count(self, verb: str = "", resource: str = "", *, name: str = "", code: int = 0) -> int:
        """Return the number of requests that match; the arguments are those of ``select``."""
        return len(self.select(verb, resource, name=name, code=code))

    def select(self, verb: str = "", resource: str = "", *, name: str = "", code: int = 0) -> list[LoggedRequest]:
        """The requests that match everything that is given.

        Args:
            verb: Such as ``create``.
            resource: Such as ``configmaps``.
            name: The object's name.
            code: The HTTP status.

        Raises:
            ValueError: There is no such verb.
        """
        require_verb(verb)
        return [
            entry
            for entry in self._entries
            if (not verb or entry.verb == verb)
            and (not resource or entry.resource == resource)
            and (not name or entry.name == name)
            and (not code or entry.code == code)
        ]

    def __str__(self) -> str:
        return "\n".join(str(entry) for entry in self._entries)
