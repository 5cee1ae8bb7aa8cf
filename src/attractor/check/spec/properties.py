"""Properties of a model: safety on states and steps, liveness on whole runs.

A property has one *case* for each value of its parameters; it holds if every case holds (``sometimes``: if one does).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from attractor.check.engine.model import Arguments, Instance
    from attractor.check.spec.refinement import FairAbstraction

Kind = Literal[
    "always",
    "sometimes",
    "always_step",
    "refines",
    "deadlock",
    "eventually",
    "leads_to",
    "eventually_always",
    "always_eventually",
    "until",
    "settles",
]
LIVENESS: frozenset[str] = frozenset(
    {"eventually", "leads_to", "eventually_always", "always_eventually", "until", "settles"}
)


@dataclass(frozen=True)
class Case:
    """One case: the predicates (by index in the model) that the property is made of.

    ``steps`` is for ``always_step`` and ``refines``: the predicate that judges each action instance; the operand of
    ``refines`` judges initial states. ``henceforth`` says that the
    first operand of ``leads_to`` stands for "from here on always".
    """

    arguments: Arguments = ()
    operands: tuple[int, ...] = ()
    henceforth: bool = False
    steps: dict[int, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Property:
    """A named claim; one that refines a specification with fairness has it in ``abstract``."""

    name: str
    kind: Kind
    cases: tuple[Case, ...]
    abstract: FairAbstraction | None = field(default=None, hash=False)

    @property
    def needs_runs(self) -> bool:
        """Whether the graph is looked at for whole runs."""
        return self.is_liveness or self.abstract is not None

    @property
    def is_liveness(self) -> bool:
        """Whether it is about whole runs, so that it needs the graph and fairness."""
        return self.kind in LIVENESS


def require_judged(name: str, actions: Iterable[Instance], judged: Collection[int]) -> None:
    """Raise ``SpecError`` for a property of steps that judges none: it would hold whatever happens."""
    if not judged:
        known = ", ".join(dict.fromkeys(each.name for each in actions))
        raise SpecError(f"`{name}` judges no step: there are the actions {known}")
