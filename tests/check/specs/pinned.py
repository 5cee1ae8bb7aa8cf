"""What a specification's test pins: the counts and the violated properties, on every engine, and nothing vacuous."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from attractor.check import Spec, Verdict, check
from attractor.check.engine.selection import EngineName

ENGINES: list[tuple[EngineName, int]] = [("python", 1), ("native", 1), ("native", 2)]
"""Engine and threads."""
MANY_STEPS = 12_000
"""A second of the engine in Python; the native one takes a hundredth of it. More is for the nightly run."""


@dataclass(frozen=True)
class Pinned:
    """A specification with its counts (distinct, generated, depth) and the length of each violated property's trace."""

    spec: type[Spec]
    constants: dict[str, Any]
    counts: tuple[int, int, int]
    violated: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """For the names of tests."""
        return "-".join([self.spec.__name__, *(f"{name}={value}" for name, value in self.constants.items())])

    def demand(self, engine: tuple[EngineName, int]) -> Verdict:
        """Check it on one engine, and compare everything that is pinned."""
        verdict = check(self.spec(**self.constants), engine=engine[0], threads=engine[1])
        found = {each.name: len(each.trace) for each in verdict.violations() if each.trace is not None}
        assert (verdict.distinct, verdict.generated, verdict.depth) == self.counts, verdict.text()
        assert found == self.violated, verdict.text()
        assert verdict.bound is None
        assert not [each.name for each in verdict.properties if each.vacuous], verdict.text()
        never = [each.name for each in verdict.properties if each.kind == "sometimes" and each.verdict != "holds"]
        assert not never, "not reached: " + ", ".join(never)
        return verdict


def on_every_engine(every: Iterable[Pinned]) -> list[Any]:
    """Parameters ``pinned`` and ``engine``: all on the native engine, and in Python those that are small."""
    return [
        pytest.param(
            pinned,
            engine,
            id=f"{pinned}-{engine}",
            marks=pytest.mark.nightly if engine[0] == "python" and pinned.counts[1] > MANY_STEPS else (),
        )
        for pinned in every
        for engine in ENGINES
    ]
