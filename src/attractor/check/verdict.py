"""Verdicts: *holds*, *holds within* bounds, *violated* with a trace, or *inconclusive*.

*Holds* means that every reachable state was seen. *Holds within* means that every state was seen which can be reached
within bounds that cut something off: ``binding`` names them, with the way to raise each. *Inconclusive* comes with the
limit that stopped the search. Warnings say where a *holds* may mean less than it seems: a premise that never came true,
fairness that never mattered, an action never taken.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.check.engine.model import Bound
    from attractor.check.trace import Trace

Answer = Literal["holds", "holds within", "violated", "inconclusive"]


class HoldsWithin(UserWarning):
    """Warning: a specification holds within bounds that cut something off; what lies beyond them was not seen."""


class NotShown(AssertionError):
    """Raised by ``assert_holds`` and ``assert_violated``; the message has the traces."""

    def __init__(self, text: str, verdict: Verdict) -> None:
        super().__init__(text)
        self.verdict = verdict


@dataclass(frozen=True)
class PropertyVerdict:
    """The verdict on one property."""

    name: str
    """The property's name."""
    kind: str
    """What kind of property it is, such as ``always`` or ``leads_to``."""
    verdict: Answer
    """*holds*, *holds within*, *violated* or *inconclusive*."""
    trace: Trace | None = None
    """The shortest violation with the fewest faults, or the state that a ``sometimes`` asked for."""
    vacuous: str | None = None
    """Why a *holds* says little, such as a premise that never came true; ``None`` when it does not."""
    faults: int | None = None
    """How many faults the trace has; ``None`` where faults are not counted."""
    is_fewest: bool = True
    """False where the search for a trace with fewer faults was cut short."""

    def to_json(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
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
    """Coverage of one action: times taken, runs of its Python code, the most slots that one run read."""

    name: str
    taken: int
    executed: int
    widest: int


@dataclass(frozen=True)
class Verdict:
    """The verdict on a specification, with the numbers of states as TLC counts them."""

    spec: str
    """What was checked, by name."""
    distinct: int
    """Distinct states."""
    generated: int
    """Generated states, duplicates included."""
    depth: int
    """Levels of the search."""
    seconds: float
    """How long it took."""
    properties: tuple[PropertyVerdict, ...]
    """The verdict on each property; also by name, as in ``verdict["never_both"]``."""
    bound: str | None = None
    """The limit that stopped the search; ``None`` when every state was seen."""
    engine: str = "python"
    """Which engine explored."""
    threads: int = 1
    """With how many threads."""
    table_bytes: int = 0
    """Memory for remembered steps."""
    within: tuple[str, ...] = ()
    """What else the verdict is relative to, in words."""
    binding: tuple[Bound, ...] = ()
    """The bounds that cut off a step or a distinction: beyond them there is more, which was not seen."""
    warnings: tuple[str, ...] = ()
    """Where a *holds* may mean less than it seems."""
    advice: tuple[str, ...] = ()
    """How to make the check faster."""
    coverage: tuple[ActionCoverage, ...] = field(default=(), repr=False)
    """How often each action was taken and executed."""
    source: Any = field(default=None, repr=False, compare=False)
    """What was checked."""
    origin: str = field(default="", repr=False, compare=False)
    """The test that asked for it, if one did."""

    @property
    def verdict(self) -> Answer:
        """*violated* if a property is; otherwise *inconclusive* if one is; otherwise *holds* or *holds within*."""
        answers = {each.verdict for each in self.properties}
        if "violated" in answers:
            return "violated"
        if "inconclusive" in answers or self.bound:
            return "inconclusive"
        return "holds within" if self.binding else "holds"

    @property
    def word(self) -> str:
        """The verdict as text; *holds within* names its bounds."""
        bounds = ", ".join(each.text for each in self.binding)
        return f"holds within {bounds}" if self.verdict == "holds within" else self.verdict

    def __getitem__(self, name: str) -> PropertyVerdict:
        """The verdict on the property of that name, with underscores or spaces: a function's own name will do."""
        for each in self.properties:
            if each.name.replace("_", " ") == name.replace("_", " "):
                return each
        raise KeyError(f"{self.spec} has no property {name!r}; it has: {', '.join(p.name for p in self.properties)}")

    def violations(self) -> tuple[PropertyVerdict, ...]:
        """The properties that are violated."""
        return tuple(each for each in self.properties if each.verdict == "violated")

    def assert_holds(self, *, within: Iterable[str] | None = None) -> Verdict:
        """Return the verdict if everything holds.

        Args:
            within: Bounds that you know of and accept, such as ``["lag"]``; any other bound that cuts something off is
                then a failure, and ``()`` accepts none. By default every bound is accepted, with a ``HoldsWithin``
                warning.

        Raises:
            NotShown: A property is violated or inconclusive, or a bound is not accepted; the message has the shortest
                traces.
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
        """Return the trace that violates a property.

        Raises:
            NotShown: The property is not violated.
            KeyError: There is no such property.
        """
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

            return failure(self)
        return self.text()

    def save(self, directory: Path | str) -> tuple[Path, ...]:
        """Write what was found to files below ``directory``, which is made if need be; answers their paths.

        For each violated property that is a JSON file, for ``attractor replay`` and ``trace-to-test``; of a world also
        the space-time diagram, an HTML page. A verdict without counterexamples writes nothing.
        """
        from attractor.check.report.counterexample import Written, save_artefacts

        paths: list[Path] = []
        for files in save_artefacts(self, Path(directory)).values():
            paths += [files.json, files.html] if isinstance(files, Written) else [files]
        return tuple(paths)

    def to_json(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
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
        """The verdict for a terminal: counts, properties, traces, warnings."""
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
