"""Packed states of one, two and three words: each has its own path through the kernel, and all give the same answers."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import Map, Spec, action, always, check, constant, each, require, sometimes, var

VALUES = 5


class Ring(Spec):
    """A walker goes round and stamps each cell; once it may pass one of the first three cells by."""

    cells: int = constant(4)

    at: int = var(0)
    passed: bool = var(False)
    cell: Map[int, int] = each(cells, 0)

    @action(c=cells)
    def stamp(self, c: int) -> None:
        """Stamp the cell and go on."""
        require(self.at == c)
        self.cell[c] = (self.cell[c] + 1) % VALUES
        self.at = (c + 1) % self.cells

    @action(c=cells)
    def pass_by(self, c: int) -> None:
        """Go on."""
        require(self.at == c and c < 3 and not self.passed)
        self.passed = True
        self.at = (c + 1) % self.cells

    @always(c=cells)
    def no_cell_is_left_behind(self, c: int) -> bool:
        """No cell has two stamps more than the next."""
        return c + 1 == self.cells or (self.cell[c] - self.cell[c + 1]) % VALUES != 2

    @always(c=cells)
    def stamps_are_numbers(self, c: int) -> bool:
        """Nothing else is stamped."""
        return 0 <= self.cell[c] < VALUES

    @sometimes
    def home_again(self) -> bool:
        """The walker comes back to a full round."""
        return self.at == 0 and self.passed


def seen(spec: Spec, **engine: Any) -> tuple[Any, ...]:
    verdict = check(spec, **engine)
    traces = [(each.name, each.verdict, len(each.trace) if each.trace else None) for each in verdict.properties]
    return verdict.distinct, verdict.generated, verdict.depth, traces


@pytest.mark.parametrize(("cells", "words"), [(15, 1), (22, 2), (50, 3)])
@pytest.mark.parametrize("threads", [1, 2])
def test_states_of_several_words_are_explored_as_by_the_python_engine(cells: int, words: int, threads: int) -> None:
    bits = cells * (VALUES - 1).bit_length() + (cells - 1).bit_length() + 1
    assert -(-bits // 64) == words
    expected = seen(Ring(cells=cells), engine="python")
    assert seen(Ring(cells=cells), engine="native", threads=threads) == expected
    distinct, _, _, traces = expected
    assert distinct == (1 + 3) * VALUES * cells
    assert ("no_cell_is_left_behind", "violated", cells + 1) in traces
    assert ("stamps_are_numbers", "holds", None) in traces


class Crowd(Spec):
    """Runners who all do the same, each with a lane of its own, but for the first, whose lane the others look at."""

    runners: int = constant(4)

    running: int = var(0)
    gone: int = var(0)
    lane: Map[int, int] = each(runners, 0)

    @action(r=runners)
    def start(self, r: int) -> None:
        """Two may run at once, six in all."""
        require(self.lane[r] == 0 and self.running < 2 and self.gone < 6)
        self.lane[r] = 1
        self.running += 1
        self.gone += 1

    @action(r=runners)
    def run(self, r: int) -> None:
        """One step, or two while the first one has begun and not gone on."""
        require(0 < self.lane[r] < VALUES - 1)
        self.lane[r] += 2 if self.lane[0] == 1 and self.lane[r] < 3 else 1

    @action(r=runners)
    def arrive(self, r: int) -> None:
        """Leave the lane."""
        require(self.lane[r] == VALUES - 1)
        self.lane[r] = 0
        self.running -= 1

    @always
    def two_at_most(self) -> bool:
        """No third one runs."""
        return self.running <= 2

    @always(r=runners)
    def nobody_is_ahead_of_the_first(self, r: int) -> bool:
        """Not so."""
        return self.lane[0] != 1 or self.lane[r] != 3


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("runners", [4, 22])
def test_what_one_of_many_alike_does_holds_for_the_others_in_states_of_one_word_and_of_two(
    runners: int, threads: int
) -> None:
    crowd = Crowd(runners=runners)
    assert seen(crowd, engine="native", threads=threads) == seen(crowd, engine="python")
