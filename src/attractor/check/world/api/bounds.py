"""``Bounds``: the limits that keep a world finite."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from attractor.check.errors import SpecError


@dataclass(frozen=True, repr=False)
class Bounds:
    """The limits that keep a world finite; where one keeps anything from happening, the verdict is *holds within* it.

        world = World(controllers=[pairs], objects=[...], bounds=Bounds(lag=4))

    Such a verdict says how to raise the bound; ``attractor check --widen`` raises it for you. Each is at least 1.
    """

    lag: int = 3
    """Undelivered events of each kind; a write that would exceed it waits, or closes the watch if the world says so."""
    incarnations: int = 3
    """Objects of one name, one after the other, that are told apart by their uid."""
    generations: int = 8
    """Generations of one object."""
    generated_names: int = 16
    """Generated names before they repeat."""
    ordered_names: int = 3
    """How many of the first generated names sort in any order."""
    background: int = 2
    """Pieces of a controller's background work that take steps at once."""
    answers: int = 200
    """Answers that one reconcile may ask for."""

    def __post_init__(self) -> None:
        for name, value in self.as_dict().items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise SpecError(f"the bound {name}={value!r} is not a whole number")
            if value < 1:
                raise SpecError(f"the bound {name}={value} of a world is too few; it is at least 1")

    def __repr__(self) -> str:
        """What one writes to have these bounds: those that are not the default."""
        said = ", ".join(f"{name}={value}" for name, value in self.as_dict().items() if value != getattr(Bounds, name))
        return f"Bounds({said})"

    def raising(self, name: str) -> str:
        """What one writes to raise one of them: all that are not the default, and that one in any case."""
        raised = self.raised(name).as_dict()
        said = (f"{each}={value}" for each, value in raised.items() if each == name or value != getattr(Bounds, each))
        return f"bounds=Bounds({', '.join(said)})"

    def as_dict(self) -> dict[str, int]:
        """The bounds by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def but(self, **changes: int) -> Bounds:
        """The same bounds, except for some.

        Raises:
            SpecError: There is no such bound.
        """
        if unknown := changes.keys() - self.as_dict().keys():
            raise SpecError(f"a world has no bound {', '.join(sorted(unknown))}; it has {', '.join(self.as_dict())}")
        return replace(self, **changes)

    def raised(self, name: str) -> Bounds:
        """The same bounds with one raised: by one, or doubled for ``answers``."""
        value: int = getattr(self, name)
        return self.but(**{name: 2 * value if name == "answers" else value + 1})
