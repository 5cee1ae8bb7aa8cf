"""The proof: the states are closed under the rows, what is claimed is true in them, and ranks fall.

What a rank means: no step raises it, and in a state whose rank has a helpful fairness condition (``rank % (conditions +
1)`` is its number) that condition is enabled, and every step of it lowers the rank. So a fair run ends up in a rank
without one. In a *region*, the states that still owe a promise, there is no such rank; so every fair run leaves it.
Where all states are ranked (the *end*), the promises are true in ranks without a helpful condition.
"""

from __future__ import annotations

import time
import zlib
from array import array
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor_verify.certificate import Certificate, Rejected, require
from attractor_verify.closure import Closure
from attractor_verify.replay import Replay, rows
from attractor_verify.subject import Subject, found

if TYPE_CHECKING:
    from pathlib import Path

REGIONS = {"eventually", "until", "leads_to", "always_eventually"}
ENDS = {"eventually_always", "settles"}
OTHERS = {"always", "sometimes", "always_step", "refines"}


class Verified(NamedTuple):
    """The result of verifying a certificate; ``bounds`` cut something off: beyond them there is more."""

    title: str
    properties: tuple[str, ...]
    bounds: tuple[str, ...]
    within: tuple[str, ...]
    states: int
    rows: int
    seconds: float


def verify(path: Path, spec: Any = None) -> Verified:
    """Check a certificate; raises ``Rejected``. ``spec`` is what it should be about, or ``MODULE:NAME`` of that."""
    started = time.monotonic()
    certificate = Certificate(path)
    header = certificate.header
    try:
        subject = found(header, spec)
        states = certificate.columns("states", "Q", 8 * header["words"])
        fields = [slot[2:5] for slot in header["slots"]]
        closure = Closure(subject.labels, subject.actions, fields, header["words"], states)
        _execute(certificate, subject, closure)
        closure.prepare()
        Proof(header, subject, closure).check(certificate.columns("ranks", "I", 4, len(header["columns"])))
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError, zlib.error) as problem:
        raise Rejected(f"the certificate makes no sense: {problem!r}") from problem
    names = ["deadlock"] * header["deadlock"] + [name for name, _ in header["properties"]]
    within = (*header["within"], *subject.left_out())
    numbers = header["states"], header["rows"], time.monotonic() - started
    return Verified(header["title"], tuple(names), tuple(header["bounds"]), within, *numbers)


def _execute(certificate: Certificate, subject: Subject, closure: Closure) -> None:
    """Execute each of the rows again; what the initial states are is known then, too."""
    header = certificate.header
    replay = Replay(subject, header["slots"])
    for vector, values in zip(header["initial"], subject.initial, strict=True):
        slots = [replay.slot(ref) for ref in range(len(values))]
        for slot, value in zip(slots, values, strict=True):
            replay.bind(slot, vector[slot], value)
        is_so = all(vector[slot] == replay.defaults[slot] for slot in {*range(len(vector))} - {*slots})
        require(is_so, "an initial state has values in slots that the source does not begin with")
    for row, update in rows(certificate.numbers(), subject.actions):
        if row:
            replay.execute(*row)
            closure.add(*row)
        else:
            replay.update(*update)
            closure.add_update(*update)
    unsaid = {each.text for each in subject.model.binding.values()} - set(header["bounds"])
    require(not unsaid, f"it holds only within {', '.join(sorted(unsaid))}, which the certificate does not say")


class Proof:
    """The claims of a certificate against its states and rows."""

    def __init__(self, header: dict[str, Any], subject: Subject, closure: Any) -> None:
        self.header, self.subject, self.closure = header, subject, closure
        self.everywhere = b"\1" * closure.count
        closure.conditions = len(subject.fairness)
        self.claimed = [self._claimed(name, kind) for name, kind in header["properties"]]

    def _claimed(self, name: str, kind: str) -> Any:
        claim = self.subject.properties.get(name)
        is_it = claim is not None and claim.kind == kind and kind in REGIONS | ENDS | OTHERS
        require(is_it, f"there is no property `{name}` of the kind {kind} that can be verified")
        return claim

    def _cases(self, *kinds: str) -> list[Any]:
        return [case for each in self.claimed if each.kind in kinds for case in each.cases]

    def check(self, ranks: array[int]) -> None:
        """Raise ``Rejected`` at the first thing that is not as claimed."""
        hold, subject, actions = self.closure.hold, self.subject, range(self.subject.actions)
        initial, size = self._initial(), self.closure.count
        told = {(each["property"], each["case"]): n * size for n, each in enumerate(self.header["columns"])}
        wanted = [(claim, n) for claim in self.claimed if claim.kind in REGIONS for n in range(len(claim.cases))]
        columns, owed, settled = array("I"), b"", b""
        for claim, number in wanted:
            require((claim.name, number) in told, f"there are no ranks for `{claim.name}`")
            column = ranks[told[claim.name, number] :][:size]
            owed += self._owed(claim.kind, claim.cases[number], column, initial)
            columns += column
        if self._cases(*ENDS):
            require((None, 0) in told, "there are no ranks for promises of the end")
            column = ranks[told[None, 0] :][:size]
            owed, settled = owed + self.everywhere, self._settled(column)
            columns += column
        judges = [[c.steps[a] for c in self._cases("always_step", "refines") if a in c.steps] for a in actions]
        helps = bytes(action in group for action in actions for group in subject.fairness)
        for name, each in {
            "invariant": [case.operands[0] for case in self._cases("always")],
            "constraint": subject.constraints,
            "terminal": subject.model.terminal,
        }.items():
            hold("i", **{name: each})
            setattr(self.closure, f"{name}s", len(each))
        hold("i", judge=[each for some in judges for each in some], judge_at=[*accumulate(map(len, judges), initial=0)])
        hold("B", helps=helps, owed=owed, settled=settled)
        hold("I", ranks=columns)
        self.closure.deadlock = self.header["deadlock"]
        self.closure.columns, self.closure.settling = len(columns) // max(size, 1), len(settled) // max(size, 1)
        self.closure.check()
        self._check_runs(initial)

    def _initial(self) -> set[int]:
        """The numbers of the initial states; each is among the states, or outside the constraint."""
        numbers = set()
        for state, number in zip(map(tuple, self.header["initial"]), self.header["starts"], strict=True):
            if number is not None and self.closure.state(number) == state:
                numbers.add(number)
            elif all(self.closure.is_true(each, state) for each in self.subject.constraints):
                raise Rejected("an initial state is not among the states")
            is_start = all(self.closure.is_true(case.operands[0], state) for case in self._cases("refines"))
            require(is_start, "an initial state is none of the specification that is refined")
        return numbers

    def _check_runs(self, initial: set[int]) -> None:
        """For each ``sometimes`` there is a run from an initial state to one that it asks for."""
        shown = {each["property"]: each for each in self.header["witnesses"]}
        for claim in (each for each in self.claimed if each.kind == "sometimes"):
            run = shown[claim.name]["run"]
            is_run = all(after in self.closure.targets(before) for before, after in pairwise(run))
            require(is_run, f"the run for `{claim.name}` makes a step that there is not")
            operand = claim.cases[shown[claim.name]["case"]].operands[0]
            is_it = run[0] in initial and self.closure.is_true(operand, self.closure.state(run[-1]))
            require(is_it, f"the run for `{claim.name}` does not lead from a beginning to where it is true")

    # Promises

    def _owed(self, kind: str, case: Any, ranks: array[int], initial: set[int]) -> bytes:
        """The states that owe a promise; wherever it begins to be owed there is a rank."""
        ranked, ends = self.closure.ranked(ranks)
        require(1 not in ends, "a state that owes something has no helpful condition")
        owed = _minus(self.everywhere, self.closure.mask(case.operands[-1], self.everywhere))
        begins = self.everywhere
        if kind == "leads_to":
            begins = self.closure.mask(case.operands[0], self.everywhere)
            owed = _minus(owed, _minus(self.everywhere, begins)) if case.henceforth else owed
        elif kind != "always_eventually":
            begins = bytes(number in initial for number in range(self.closure.count))
        is_ranked = not any(_minus(_minus(owed, ranked), _minus(self.everywhere, begins)))
        require(is_ranked, f"a state that owes what a promise ({kind}) says has no rank")
        is_kept = kind != "until" or self.closure.mask(case.operands[0], ranked) == ranked
        require(is_kept, "what must be true until something else is, is not")
        return owed

    def _settled(self, ranks: array[int]) -> bytes:
        """What settles, in the states of ranks where nothing is helpful; every promise of the end is kept there."""
        ranked, within = self.closure.ranked(ranks)
        require(0 not in ranked, "a state has no rank")
        is_kept = all(
            self.closure.mask(case.operands[-1], within) == within for case in self._cases("eventually_always")
        )
        require(is_kept, "a promise of the end is not kept where runs end")
        return b"".join(self.closure.mask(case.operands[-1], within) for case in self._cases("settles"))


def _minus(one: bytes, other: bytes) -> bytes:
    """The states of one mask that are not in the other."""
    left = int.from_bytes(one, "little") & ~int.from_bytes(other, "little")
    return left.to_bytes(len(one), "little")
