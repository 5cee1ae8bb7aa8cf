"""What a check answers: *holds*, *holds within* bounds, *violated* with a trace, or *inconclusive*.

*Holds* means that every reachable state was seen. *Holds within* means that every state was seen which can be reached
within bounds that cut something off: ``binding`` names them, with the way to raise each. *Inconclusive* comes with the
limit that stopped the search. Warnings say where a *holds* may mean less than it seems: a premise that never came true,
fairness that never mattered, an action never taken.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.check.engine.model import Bound
    from attractor.check.trace import Trace

Answer = Literal["holds", "holds within", "violated", "inconclusive"]


class HoldsWithin(UserWarning):
    """A specification holds within bounds that cut something off; what lies beyond them was not seen."""


class NotShown(AssertionError):
    """A specification does not hold, or could not be shown to hold; the message has the traces."""

    def __init__(self, text: str, verdict: Verdict) -> None:
        super().__init__(text)
        self.verdict = verdict


@dataclass(frozen=True)
class PropertyVerdict:
    """The answer for one property. ``vacuous`` is the reason why a *holds* says little; ``trace`` shows a violation,
    or the state that a ``sometimes`` asked for.

    A trace is the shortest of those with the fewest ``faults``, where faults are counted (None: they are not);
    ``is_fewest`` is false where the search for one with fewer was cut short.
    """

    name: str
    kind: str
    verdict: Answer
    trace: Trace | None = None
    vacuous: str | None = None
    faults: int | None = None
    is_fewest: bool = True

    def to_json(self) -> dict[str, Any]:
        """The answer as one JSON object."""
        return {
            "name": self.name,
            "kind": self.kind,
            "verdict": self.verdict,
            "vacuous": self.vacuous,
            "faults": self.faults,
            "is_fewest": self.is_fewest,
            "trace": self.trace.to_json() if self.trace else None,
        }


@dataclass(frozen=True)
class ActionCoverage:
    """How often an action was taken, how often its Python code ran, and the most slots that one run of it read."""

    name: str
    taken: int
    executed: int
    widest: int


@dataclass(frozen=True)
class Verdict:
    """The answer for a specification, with the counts as TLC counts them."""

    spec: str
    distinct: int
    generated: int
    depth: int
    seconds: float
    properties: tuple[PropertyVerdict, ...]
    bound: str | None = None
    engine: str = "python"
    threads: int = 1
    table_bytes: int = 0
    within: tuple[str, ...] = ()
    """What else the verdict is relative to, in words."""
    binding: tuple[Bound, ...] = ()
    """The bounds that cut off a step or a distinction: beyond them there is more, which was not seen."""
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    coverage: tuple[ActionCoverage, ...] = field(default=(), repr=False)
    source: Any = field(default=None, repr=False, compare=False)
    """What was checked."""
    origin: str = field(default="", repr=False, compare=False)
    """The test that asked for it, if one did."""

    @property
    def verdict(self) -> Answer:
        """*violated* if a property is; otherwise *inconclusive* if one is; otherwise *holds*, or *holds within*."""
        answers = {each.verdict for each in self.properties}
        if "violated" in answers:
            return "violated"
        if "inconclusive" in answers or self.bound:
            return "inconclusive"
        return "holds within" if self.binding else "holds"

    @property
    def word(self) -> str:
        """The verdict in words: *holds within* names its bounds."""
        bounds = ", ".join(each.text for each in self.binding)
        return f"holds within {bounds}" if self.verdict == "holds within" else self.verdict

    def __getitem__(self, name: str) -> PropertyVerdict:
        """The verdict on the property of that name."""
        for each in self.properties:
            if each.name == name:
                return each
        raise KeyError(f"{self.spec} has no property {name!r}; it has: {', '.join(p.name for p in self.properties)}")

    def violations(self) -> tuple[PropertyVerdict, ...]:
        """The properties that are violated."""
        return tuple(each for each in self.properties if each.verdict == "violated")

    def assert_holds(self, *, within: Iterable[str] | None = None) -> Verdict:
        """Return the verdict if everything holds; otherwise fail with the shortest traces.

        What holds only within bounds is accepted with a warning (``HoldsWithin``) that names them. ``within`` names the
        bounds that you know of and accept, as in ``within=["lag"]``: then there is no warning, and any other bound that
        cuts something off is a failure; ``within=()`` accepts none.
        """
        __tracebackhide__ = True
        beyond = [each for each in self.binding if within is None or each.name not in within]
        if self.verdict not in ("holds", "holds within") or (beyond and within is not None):
            raise NotShown(self._told(), self)
        if beyond:
            warnings.warn(f"{self.spec} {self.word}; {self._ways_out(beyond)}", HoldsWithin, stacklevel=2)
        return self

    @staticmethod
    def _ways_out(bounds: Iterable[Bound]) -> str:
        hints = ", ".join(each.raise_hint for each in bounds)
        names = ", ".join(repr(each.name) for each in bounds)
        return f"see what lies beyond with {hints}, or accept it: `assert_holds(within=[{names}])`"

    def assert_violated(self, name: str) -> Trace:
        """Return the trace that violates the property of that name; otherwise fail with what was found instead."""
        __tracebackhide__ = True
        found = self[name]
        if found.verdict != "violated" or found.trace is None:
            raise NotShown(f"property `{name}` is not violated\n{self._told()}", self)
        return found.trace

    def _told(self) -> str:
        """What a failing test says: of a world what the command line says, with the files that it writes."""
        if self.violations() and hasattr(self.source, "compose"):
            from attractor.check.report.verdict_text import (
                failure,  # it needs what shows stories, and no verdict else does
            )

            return failure(self, self.source)
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """The verdict as one JSON object."""
        return {
            "spec": self.spec,
            "verdict": self.verdict,
            "word": self.word,
            "distinct": self.distinct,
            "generated": self.generated,
            "depth": self.depth,
            "seconds": round(self.seconds, 6),
            "bound": self.bound,
            "engine": self.engine,
            "threads": self.threads,
            "table_bytes": self.table_bytes,
            "properties": [each.to_json() for each in self.properties],
            "within": list(self.within),
            "binding": [each._asdict() for each in self.binding],
            "warnings": list(self.warnings),
            "advice": list(self.advice),
        }

    def text(self) -> str:
        """The verdict for a terminal or a failing test: counts, properties, traces, warnings."""
        lines = [
            f"{self.spec}: {self.word}; {self.distinct:,} distinct states, {self.generated:,} generated, "
            f"depth {self.depth}, {self.seconds:.2f} s"
        ]
        if self.bound:
            lines.append(f"  stopped at: {self.bound}; what lies beyond was not seen")
        lines += self._property_lines()
        lines += [f"  within: {each}" for each in self.within]
        lines += [f"  binding: {each.text}; beyond it there is more: {each.raise_hint}" for each in self.binding]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  advice: {each}" for each in self.advice]
        return "\n".join(lines)

    def _property_lines(self) -> Iterable[str]:
        for each in self.properties:
            steps = f" after {len(each.trace)} steps" if each.trace and each.verdict == "violated" else ""
            yield f"  {each.verdict}: {each.name}{steps}" + (f" (vacuous: {each.vacuous})" if each.vacuous else "")
            if each.trace and each.verdict == "violated":
                yield from ("    " + line for line in each.trace.text().splitlines())
