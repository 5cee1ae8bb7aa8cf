"""``Parts``: what a world turned out to contain, beyond what its author named.

Which keys a controller reconciles, which kinds anybody writes, and whether field ownership matters decides how many
slots and steps a model has; it is known for certain only when the world has been explored. So it is found out: a step
that meets something unknown raises ``Grown``, and the world is composed again with that part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attractor.check.errors import Grown
    from attractor.objects.gvk import Key


@dataclass
class Parts:
    """The parts discovered so far."""

    roots: set[str] = field(default_factory=set)
    """Roots of kinds that somebody writes."""
    keys: set[tuple[str, Key]] = field(default_factory=set)
    """Controllers, and keys that they are asked to reconcile."""
    keeps_managers: bool = False
    """Whether somebody uses server-side apply, so that ownership of fields must be stored."""
    leaves_bounds: bool = False
    """Whether some step leads out of the bounds within which the world is explored."""

    def take(self, grown: Grown) -> None:
        """Take up a part."""
        part: Any = grown.part
        match grown.what:
            case "kinds":
                self.roots.add(part)
            case "keys":
                self.keys.add(part)
            case "managers":
                self.keeps_managers = True
            case "bounds":
                self.leaves_bounds = True
            case _:
                raise grown

    def told(self) -> list[list[Any]]:
        """What was found, as JSON."""
        keys = [["keys", [name, list(key)]] for name, key in sorted(self.keys)]
        managers = [["managers", "managedFields"]] if self.keeps_managers else []
        return [*(["kinds", root] for root in sorted(self.roots)), *keys, *managers]
