"""What a check answers: *holds*, *violated* with a trace, or *inconclusive* with the bound that stopped it.

*Holds* means that every reachable state was seen (within declared constraints, which the verdict names). Warnings say
where a *holds* may mean less than it seems: a premise that never came true, fairness that never mattered, an action
never taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.check.trace import Trace

Answer = Literal["holds", "violated", "inconclusive"]


class NotShown(AssertionError):
    """A specification does not hold, or could not be shown to hold; the message has the traces."""

    def __init__(self, text: str, verdict: Verdict) -> None:
        super().__init__(text)
        self.verdict = verdict


@dataclass(frozen=True)
class PropertyVerdict:
    """The answer for one property. ``vacuous`` is the reason why a *holds* says little; ``trace`` shows a violation,
    or the state that a ``sometimes`` asked for."""

    name: str
    kind: str
    verdict: Answer
    trace: Trace | None = None
    vacuous: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as one JSON object."""
        return {
            "name": self.name,
            "kind": self.kind,
            "verdict": self.verdict,
            "vacuous": self.vacuous,
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
    """The bounds within which *holds* is complete, in words."""
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    coverage: tuple[ActionCoverage, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Answer:
        """*violated* if a property is; otherwise *inconclusive* if one is; otherwise *holds*."""
        answers = {each.verdict for each in self.properties}
        if "violated" in answers:
            return "violated"
        return "inconclusive" if "inconclusive" in answers or self.bound else "holds"

    def __getitem__(self, name: str) -> PropertyVerdict:
        """The verdict on the property of that name."""
        for each in self.properties:
            if each.name == name:
                return each
        raise KeyError(f"{self.spec} has no property {name!r}; it has: {', '.join(p.name for p in self.properties)}")

    def violations(self) -> tuple[PropertyVerdict, ...]:
        """The properties that are violated."""
        return tuple(each for each in self.properties if each.verdict == "violated")

    def assert_holds(self) -> Verdict:
        """Return the verdict if everything holds; otherwise fail with the shortest traces."""
        __tracebackhide__ = True
        if self.verdict != "holds":
            raise NotShown(self.text(), self)
        return self

    def assert_violated(self, name: str) -> Trace:
        """Return the trace that violates the property of that name; otherwise fail with what was found instead."""
        __tracebackhide__ = True
        found = self[name]
        if found.verdict != "violated" or found.trace is None:
            raise NotShown(f"property `{name}` is not violated\n{self.text()}", self)
        return found.trace

    def to_json(self) -> dict[str, Any]:
        """The verdict as one JSON object."""
        return {
            "spec": self.spec,
            "verdict": self.verdict,
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
            "warnings": list(self.warnings),
            "advice": list(self.advice),
        }

    def text(self) -> str:
        """The verdict for a terminal or a failing test: counts, properties, traces, warnings."""
        lines = [
            f"{self.spec}: {self.verdict}; {self.distinct:,} distinct states, {self.generated:,} generated, "
            f"depth {self.depth}, {self.seconds:.2f} s"
        ]
        if self.bound:
            lines.append(f"  stopped at: {self.bound}; what lies beyond was not seen")
        lines += self._property_lines()
        lines += [f"  within: {each}" for each in self.within]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  advice: {each}" for each in self.advice]
        return "\n".join(lines)

    def _property_lines(self) -> Iterable[str]:
        for each in self.properties:
            steps = f" after {len(each.trace)} steps" if each.trace and each.verdict == "violated" else ""
            yield f"  {each.verdict}: {each.name}{steps}" + (f" (vacuous: {each.vacuous})" if each.vacuous else "")
            if each.trace and each.verdict == "violated":
                yield from ("    " + line for line in each.trace.text().splitlines())
