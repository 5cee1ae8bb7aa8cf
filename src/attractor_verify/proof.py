"""The proof: the states are closed under the rows, what is claimed is true in them, and ranks fall.

What a rank means: no step raises it, and in a state whose rank has a helpful fairness condition (``rank % (conditions +
1)`` is its number) that condition is enabled, and every step of it lowers the rank. So a fair run ends up in a rank
without one. In a *region*, the states that still owe a promise, there is no such rank; so every fair run leaves it.
Where all states are ranked (the *end*), the promises are true in ranks without a helpful condition.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor_verify.certificate import Certificate, Rejected, require
from attractor_verify.closure import Closure
from attractor_verify.replay import Replay, rows_of
from attractor_verify.subject import Subject, found, unaudited

if TYPE_CHECKING:
    from array import array
    from pathlib import Path

REGIONS = {"always_eventually": 0, "leads_to": 1, "eventually": 3, "until": 4}
HENCEFORTH, END = 2, 5
OTHERS = {"always", "sometimes", "always_step", "refines", "eventually_always", "settles"}


class Verified(NamedTuple):
    """The result of verifying a certificate; ``bounds`` cut something off: beyond them there is more."""

    title: str
    properties: tuple[str, ...]
    bounds: tuple[str, ...]
    within: tuple[str, ...]
    states: int
    rows: int
    seconds: float

    def __str__(self) -> str:
        counts = f"{self.states:,} states, {self.rows:,} rows executed again"
        word = f"holds within {', '.join(self.bounds)}" if self.bounds else "holds"
        lines = [f"{self.title}: verified; {counts}, {self.seconds:.2f} s"]
        lines += [f"  {word}: {name}" for name in self.properties]
        return "\n".join(lines + [f"  within: {bound}" for bound in self.within])


def verify(path: Path, spec: Any = None) -> Verified:
    """Check a certificate; raises ``Rejected``. ``spec`` is what it should be about, or ``MODULE:NAME`` of that."""
    started = time.monotonic()
    try:
        certificate = Certificate(path)
        header = certificate.header
        with unaudited():
            proof = Proof(header, found(header, spec))
            rows = proof.execute(certificate.columns["rows"], certificate.columns["states"])
            proof.check(certificate.columns["ranks"])
    except (Rejected, OSError):
        raise
    except Exception as problem:  # whatever code does that is given what it never was
        raise Rejected(f"the certificate makes no sense: {problem!r}") from problem
    names = ["deadlock"] * header["deadlock"] + [name for name, _ in header["properties"]]
    subject, seconds = proof.subject, time.monotonic() - started
    left_out = [f"states where {subject.labels[n]} is false are left out" for n in proof.constraints]
    within = (*header["within"], *left_out)
    return Verified(header["title"], tuple(names), tuple(header["bounds"]), within, proof.closure.count, rows, seconds)


class Proof:
    """The claims of a certificate against its states and rows."""

    def __init__(self, header: dict[str, Any], subject: Subject) -> None:
        self.header, self.subject = header, subject
        self.constraints = [*map(subject.instance, subject.model.constraints)]
        fields = [slot[2:5] for slot in header["slots"]]
        self.closure: Any = Closure(subject.labels, subject.actions, fields, header["words"])
        self.claimed = [self._claimed(name, kind) for name, kind in header["properties"]]

    def _claimed(self, name: str, kind: str) -> Any:
        claim = self.subject.properties.get(name)
        is_it = claim is not None and claim.kind == kind and (kind in REGIONS or kind in OTHERS) and not claim.abstract
        require(is_it, f"there is no property `{name}` of the kind {kind} that can be verified")
        return claim

    def _operands(self, *kinds: str, place: int = 0) -> list[int]:
        """The instances of what properties of these kinds say, case by case."""
        cases = [case for each in self.claimed if each.kind in kinds for case in each.cases]
        return [self.subject.instance(case.operands[place]) for case in cases]

    def execute(self, rows: array[int], states: array[int]) -> int:
        """Execute each of the rows again; answers how many there are. What numbers stand for is known then, too."""
        subject, header = self.subject, self.header
        replay, count, counts = Replay(subject, header["slots"]), 0, [0] * len(subject.labels)
        replay.begin(header["initial"])
        for row in rows_of(rows.tolist(), subject.actions):
            replay.execute(row)
            count += 1
            if row[0] < len(counts):
                counts[row[0]] += 1
        unsaid = {each.text for each in subject.model.binding.values()} - set(header["bounds"])
        require(not unsaid, f"it holds only within {', '.join(sorted(unsaid))}, which the certificate does not say")
        self.closure.prepare(states, rows, counts)
        return count

    def check(self, ranks: array[int]) -> None:
        """Raise ``Rejected`` at the first thing that is not as claimed."""
        closure, subject, actions = self.closure, self.subject, range(self.subject.actions)
        invariants, terminals = self._operands("always"), [*map(subject.instance, subject.model.terminal)]
        endings, settlings = self._operands("eventually_always", place=-1), self._operands("settles", place=-1)
        steps = [case.steps for each in self.claimed if each.kind in {"always_step", "refines"} for case in each.cases]
        judges = [subject.instance(case[action]) if action in case else 0 for action in actions for case in steps]
        helps = [action in each.instances for action in actions for each in subject.model.fairness]
        columns = [column for claim in self.claimed if claim.kind in REGIONS for column in self._regions(claim)]
        columns += [(END, 0, 0)] if endings or settlings else []
        require(len(ranks) == len(columns) * closure.count, "there are not as many ranks as properties need")
        closure.claim(invariant=invariants, constraint=self.constraints, terminal=terminals)
        closure.claim(ending=endings, settling=settlings)
        closure.hold("I", judge=judges, column=[each for column in columns for each in column], ranks=ranks)
        closure.hold("B", helps=helps)
        closure.judges, closure.conditions, closure.columns = len(steps), len(subject.model.fairness), len(columns)
        closure.deadlock = bool(self.header["deadlock"])
        initial = self._initial(columns, ranks)
        asked = {each for kind, *two in columns if kind != END for each in two[kind == REGIONS["until"] :]}
        closure.check(sorted({*invariants, *asked}))
        self._check_runs(initial)

    def _regions(self, claim: Any) -> list[tuple[int, int, int]]:
        """For each case what kind of region it is about, and two predicates; of one that has only one, it twice."""
        kinds = [HENCEFORTH if case.henceforth else REGIONS[claim.kind] for case in claim.cases]
        operands = [[self.subject.instance(each) for each in case.operands] for case in claim.cases]
        return [(kind, given[0], given[-1]) for kind, given in zip(kinds, operands, strict=True)]

    def _initial(self, columns: list[tuple[int, int, int]], ranks: array[int]) -> set[int]:
        """The numbers of the initial states; each is among the states, or outside the constraint, and begins to owe."""
        numbers = set()
        for state, number in zip(self.header["initial"], self.header["starts"], strict=True):
            if number is not None and self.closure.state(number) == state:
                numbers.add(number)
            elif all(self.closure.is_true(each, state) for each in self.constraints):
                raise Rejected("an initial state is not among the states")
            is_start = all(self.closure.is_true(each, state) for each in self._operands("refines"))
            require(is_start, "an initial state is none of the specification that is refined")
            for at, (kind, _, goal) in enumerate(columns):
                is_owed = number in numbers and kind != END and not self.closure.is_true(goal, state)
                is_ranked = not is_owed or kind in {1, 2} or ranks[at * self.closure.count + number]
                require(is_ranked, "an initial state owes what a property says, and has no rank")
        return numbers

    def _check_runs(self, initial: set[int]) -> None:
        """For each ``sometimes`` there is a run from an initial state to one that it asks for."""
        shown = {each["property"]: each for each in self.header["witnesses"]}
        for claim in (each for each in self.claimed if each.kind == "sometimes"):
            run = shown[claim.name]["run"]
            is_run = all(after in self.closure.targets(before) for before, after in pairwise(run))
            require(is_run, f"the run for `{claim.name}` makes a step that there is not")
            operand = self.subject.instance(claim.cases[shown[claim.name]["case"]].operands[0])
            is_it = run[0] in initial and self.closure.is_true(operand, self.closure.state(run[-1]))
            require(is_it, f"the run for `{claim.name}` does not lead from a beginning to where it is true")
