"""``Guard``: what an API server refuses, given the object before and after, and who asks. Pure; no server in it.

A guard joins a table to a kind: where the state is kept, and which actors a user is. Whoever runs an API server asks it
about every write (``attractor.embedded.lifecycles`` is the plug-in for ours). What it refuses:

- a state that one of the user's actors may not move, or not to there; the text names state and actor;
- a field of the status that is said to belong to an actor, changed by another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from attractor.lifecycle.table import Refused, WrongActor

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from attractor.lifecycle.table import Lifecycle
    from attractor.objects.json_types import JsonObject

S = TypeVar("S", bound=str)
A = TypeVar("A", bound=str)


class Requester(NamedTuple):
    """The user of a request: the name and the groups that authentication found."""

    name: str
    groups: tuple[str, ...] = ()


ActorsOf: TypeAlias = Callable[[Requester, "JsonObject"], "AbstractSet[Any]"]
"""The actors that a user is, with respect to an object."""


@dataclass(frozen=True)
class Guard(Generic[S, A]):
    """Keeps objects of one kind to their table."""

    lifecycle: Lifecycle[S, A]
    parse: Callable[[str], S]
    """From the text in an object to a state, such as the class of an enum; ValueError for one there is not."""
    actors_of: ActorsOf
    state_field: str = "state"
    """Where in the status the state is; absent means the initial one."""
    owned: Mapping[str, AbstractSet[A]] = field(default_factory=dict)
    """Other fields of the status, and who may change them; an empty value is the same as none."""

    def state_of(self, obj: JsonObject | None) -> S:
        """The state that an object is in; raises ``ValueError``."""
        text = ((obj or {}).get("status") or {}).get(self.state_field)
        return self.lifecycle.initial if text is None else self.parse(text)

    def check(self, old: JsonObject | None, new: JsonObject, who: Requester) -> None:
        """Check that this user may make ``new`` of ``old``; raises ``Refused``."""
        subject = self._subject(new)
        actors = self.actors_of(who, new)
        before = self.state_of(old)
        try:
            after = self.state_of(new)
        except ValueError:
            named = (new.get("status") or {}).get(self.state_field)
            raise Refused(f"{subject} has no state {named!r}; there are {', '.join(self.lifecycle.states)}") from None
        if before != after:
            self.lifecycle.check(before, sorted(actors) or ["user " + who.name], after, subject)  # type: ignore[list-item]
        was, now = ((each or {}).get("status") or {} for each in (old, new))
        for name, owners in self.owned.items():
            if (was.get(name) or None) != (now.get(name) or None) and not owners & set(actors):
                named = " or ".join(f"the {actor}" for actor in sorted(actors)) or f"user {who.name}"
                raise WrongActor(
                    f"status.{name} of {subject} belongs to the {' and the '.join(sorted(owners))}: {named} may not "
                    "change it"
                )

    def _subject(self, obj: JsonObject) -> str:
        metadata = obj.get("metadata") or {}
        key = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
        return f"{self.lifecycle.name} {key}".rstrip()
