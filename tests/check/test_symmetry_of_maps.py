"""Which maps belong to interchangeable elements: those over the same finite set, not those that happen to be as large."""

from __future__ import annotations

import pytest

from attractor.check import Map, Spec, action, always, check, constant, each, interchangeable, require


class Badges(Spec):
    """Each guest takes the badge of the same number, once; guests are interchangeable only if badges do not count."""

    guests: int = constant(2)
    badges: int = constant(2)

    here: Map[int, bool] = each(guests, False)
    taken: Map[int, bool] = each(badges, False)

    same_guests = interchangeable(guests)

    @action(g=guests)
    def arrive(self, g: int) -> None:
        """A guest comes in."""
        require(not self.here[g])
        self.here[g] = True

    @action(b=badges)
    def take(self, b: int) -> None:
        """Badges are taken in their order."""
        require(not self.taken[b] and (b == 0 or self.taken[b - 1]))
        self.taken[b] = True

    @always(b=badges)
    def in_order(self, b: int) -> bool:
        """No badge is taken before the one before it."""
        return b == 0 or not self.taken[b] or self.taken[b - 1]


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_map_over_another_set_of_the_same_size_is_not_permuted(engine: str) -> None:
    whole = check(Badges(), engine=engine, deadlock=False).assert_holds()  # type: ignore[arg-type]
    reduced = check(Badges(), engine=engine, deadlock=False, symmetry=True).assert_holds()  # type: ignore[arg-type]
    assert (whole.distinct, reduced.distinct) == (4 * 3, 3 * 3)
