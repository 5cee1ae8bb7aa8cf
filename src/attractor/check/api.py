"""``check``: explore a specification, decide its properties, and say where a *holds* means less than it seems."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from attractor.check import certificates as certifying
from attractor.check.engine.audit import advice
from attractor.check.engine.audit import audit as audit_steps
from attractor.check.engine.execution import truth
from attractor.check.engine.exploration import DEADLOCK, Exploration, Finding, Progress, Settings
from attractor.check.engine.fingerprints import fingerprint
from attractor.check.engine.liveness import JUDGED_IN_THE_CORE, Lasso, Query
from attractor.check.engine.selection import EngineName, Order, Runs, engine_advice, explore, kept, runs_of
from attractor.check.engine.unbounded import growing
from attractor.check.engine.walks import Simulation
from attractor.check.errors import SpecError
from attractor.check.growth import fitted
from attractor.check.report.origin import asked
from attractor.check.sandbox.blocking import forbidden
from attractor.check.sandbox.thread import apart
from attractor.check.spec.refinement import unfair_run
from attractor.check.trace import Trace, Tracer
from attractor.check.verdict import ActionCoverage, Answer, PropertyVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from attractor.check.engine.model import Model, State
    from attractor.check.engine.record import Record
    from attractor.check.spec.properties import Case, Property


MORE = 10_000
"""How many states are seen to find a run with fewer faults, besides twice those of the search."""


class Checkable(Protocol):
    """Anything that compiles to a model: a ``Spec``, a ``Composition``, a world of controllers."""

    def compile(self) -> Model:
        """The model to explore."""
        ...


@apart
@forbidden()
def check(
    spec: Checkable,
    *,
    engine: EngineName = "auto",
    threads: int = 1,
    order: Order = "breadth",
    properties: Iterable[str] | None = None,
    deadlock: bool = True,
    symmetry: bool = False,
    stop_at_first: bool = False,
    max_depth: int | None = None,
    max_states: int | None = None,
    max_seconds: float | None = None,
    memory_bytes: int | None = None,
    save: Path | None = None,
    resume: Path | None = None,
    certificate: Path | None = None,
    target: str = "",
    audit: Record | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Explore every reachable state of ``spec`` and decide its properties.

    The search continues after a violation, so that every property gets a verdict and the counts are complete. Reaching
    a bound, running out of memory or an interrupt makes undecided properties *inconclusive*.

    Args:
        spec: A specification, a composition of several, or a world.
        engine: ``native``, ``python``, or ``auto`` for the native one where it was built.
        threads: Threads of the native engine.
        order: ``breadth`` finds shortest traces; ``depth`` needs less memory for some models.
        properties: Decide only these, by name.
        deadlock: Whether a state without a next step is a violation.
        symmetry: Use declared interchangeability for safety properties; counts are then smaller than the full ones.
        stop_at_first: Stop soon after the first violation.
        max_depth: Bound on the levels of the search.
        max_states: Bound on the distinct states.
        max_seconds: Bound on the time.
        memory_bytes: Bound on the memory for states.
        save: Keep a search that a bound stopped in this file.
        resume: Continue a search from this file; constants, settings and code must be the same.
        certificate: Write a certificate of a *holds* to this file, for ``attractor-verify``.
        target: ``MODULE:NAME`` under which the verifier finds the specification.
        audit: Records everything that is executed, for ``attractor check --audit``.
        on_progress: Called from time to time with the counts so far.

    Raises:
        SpecError: The specification cannot be checked as it is written.
    """
    if certificate:
        certifying.require_sense(certificate, engine, order, reduced=symmetry, resumed=resume is not None)
    origin_test = asked(spec)
    settings = Settings(
        threads=threads,
        max_depth=max_depth,
        max_states=max_states,
        max_seconds=max_seconds,
        memory_bytes=memory_bytes,
        symmetry=symmetry,
        deadlock=deadlock,
        stop_at_first=stop_at_first,
        logs=certificate is not None,
        on_progress=on_progress,
    )
    origin = fingerprint(spec) if save or resume else ""
    search = Search(engine, order, save, resume, origin, certificate, target, audit, time.monotonic())
    names = None if properties is None else tuple(properties)
    decided = fitted(spec, lambda: _decided(spec, names, settings, search))
    return replace(decided, source=spec, origin=origin_test)


class Search(NamedTuple):
    """Options of a search that the engines do not see: order, files, certificate, audit."""

    engine: EngineName
    order: Order
    save: Path | None
    resume: Path | None
    origin: str
    """The fingerprint of what is saved and resumed."""
    certificate: Path | None
    target: str
    audit: Record | None
    started: float


def _decided(spec: Checkable, properties: tuple[str, ...] | None, asked_for: Settings, how: Search) -> Verdict:
    """Compile, explore and judge; raises ``Grown`` where the model turns out to lack a part."""
    model = spec.compile()
    model.record = how.audit
    wanted = selected(model, properties)
    settings = replace(
        asked_for,
        symmetry=asked_for.symmetry and bool(model.symmetries),
        deadlock=asked_for.deadlock and not model.is_composed,
        edges=any(model.properties[number].needs_runs for number in wanted),
        properties=frozenset(wanted),
    )
    found = explore(
        model,
        settings,
        how.engine,
        order=how.order,
        is_saved=how.save is not None,
        resume=how.resume,
        origin=how.origin,
    )
    judgement = Judgement(title_of(spec, model), model, wanted, settings, how.engine)
    verdict = judgement.verdict(*found, how.started, fewest_faults=how.order == "breadth")
    problems = [kept(found[0], how.save, how.origin) if how.save else ""]
    if how.certificate:
        problems.append(certifying.written(how.certificate, spec, found[0], verdict, how.target))
    if how.audit is not None:
        how.audit.note_verdict(model, verdict)
    return replace(verdict, warnings=(*verdict.warnings, *filter(None, problems)))


@apart
@forbidden()
def simulate(
    spec: Checkable,
    *,
    runs: int = 100,
    depth: int = 100,
    seed: int = 0,
    properties: Iterable[str] | None = None,
    deadlock: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Follow ``runs`` random runs of at most ``depth`` steps; the same seed takes the same runs.

    A violation that is found is a violation; everything else is *inconclusive*.

    Args:
        spec: A specification, a composition of several, or a world.
        runs: How many runs.
        depth: Steps of a run at most.
        seed: Which runs.
        properties: Look at these only, by name.
        deadlock: Whether a state without a next step is a violation.
        on_progress: Called from time to time with the counts so far.
    """
    started = time.monotonic()
    names = None if properties is None else tuple(properties)

    def attempt() -> Verdict:
        model = spec.compile()
        wanted = selected(model, names)
        settings = Settings(properties=frozenset(wanted), deadlock=deadlock, on_progress=on_progress)
        walk = Simulation(model, settings, runs=runs, depth=depth, seed=seed).run()
        judgement = Judgement(title_of(spec, model), model, wanted, settings, "python")
        return judgement.verdict(walk, "simulation", started)  # pyright: ignore[reportArgumentType]

    return fitted(spec, attempt)


def title_of(spec: Checkable, model: Model) -> str:
    """What the verdict calls the specification: with its constants, where it has a text of its own."""
    return model.name if type(spec).__repr__ is object.__repr__ else repr(spec)


def selected(model: Model, names: Iterable[str] | None) -> list[int]:
    """The indices of the named properties; all of them without names."""
    known = {each.name: number for number, each in enumerate(model.properties)}
    if names is None:
        return list(known.values())
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SpecError(f"{model.name} has no property {', '.join(unknown)}; it has: {', '.join(known) or 'none'}")
    return [known[name] for name in names]


class Judgement:
    """One verdict for each property of an explored model."""

    def __init__(self, title: str, model: Model, wanted: list[int], settings: Settings, engine: EngineName) -> None:
        self.title = title
        self.model = model
        self.wanted = wanted
        self.settings = settings
        self.engine: EngineName = engine
        self.warnings: list[str] = []

    def verdict(self, exploration: Exploration, engine: str, started: float, *, fewest_faults: bool = False) -> Verdict:
        """Decide every property by what was explored; show each violation by a run with the fewest faults, if asked."""
        audit_steps(exploration)
        answers = self._answers(exploration)
        self._warn_of_idle_actions(exploration)
        self.warnings += self.model.remarks
        if not answers and self.model.actions:
            self.warnings.append(f"nothing was decided: {self.model.name} promises nothing; declare what must hold")
        binding = tuple(self.model.binding.values())
        if binding:
            answers = [_within_bounds(each) for each in answers]
        counts = exploration.counts
        found = Verdict(
            spec=self.title,
            distinct=counts.distinct,
            generated=counts.generated,
            depth=counts.depth,
            seconds=time.monotonic() - started,
            properties=tuple(answers),
            bound=exploration.bound,
            engine=engine,
            threads=self.settings.threads if engine == "native" else 1,
            table_bytes=exploration.table_bytes(),
            within=tuple(self.model.within),
            binding=binding,
            warnings=tuple(self.warnings),
            advice=(*engine_advice(self.engine), *advice(self.model, exploration.tallies, counts.distinct)),
            coverage=self._coverage(exploration),
        )
        return self._with_fewest_faults(found, started) if fewest_faults else found

    def _with_fewest_faults(self, found: Verdict, started: float) -> Verdict:
        """The same verdict, each violation shown by a run with as few faults as any, and as few steps as any of those.

        Searches with no fault, with one, and so on: together they see at most twice the states of the first search and
        ``MORE`` beside; where that is too few the runs are what was found.
        """
        if not self.model.budgets:
            return found
        shown = {each.name: self._counted(each) for each in found.properties}
        left, most = 2 * found.distinct + MORE, 0
        while left > 0 and (claims := {each.name for each in shown.values() if (each.faults or 0) > most}):
            answers, seen = self._answers_with_faults(most, claims, left, started)
            for each in answers:
                if each.verdict == "violated":
                    shown[each.name] = replace(self._counted(each), is_fewest=shown[each.name].is_fewest)
            cut = claims - {each.name for each in answers if each.verdict != "inconclusive"}
            shown |= {name: replace(shown[name], is_fewest=False) for name in cut}
            left, most = left - seen, most + 1
        for each in shown.values():
            if (each.faults or 0) > most:
                shown[each.name] = replace(each, is_fewest=False)
        return replace(found, properties=tuple(shown[each.name] for each in found.properties))

    def _answers_with_faults(
        self, most: int, claims: set[str], max_states: int, started: float
    ) -> tuple[list[PropertyVerdict], int]:
        """The answers for these claims where at most so many faults strike, and how many states were seen for them."""
        wanted = [number for number in self.wanted if self.model.properties[number].name in claims]
        is_live = any(map(self._live, wanted))
        seconds = self.settings.max_seconds
        settings = replace(
            self.settings,
            max_states=max_states,
            max_seconds=None if seconds is None else max(0.0, seconds - (time.monotonic() - started)),
            symmetry=self.settings.symmetry and not is_live,
            stop_at_first=len(wanted) == 1 and not is_live,
            edges=is_live,
            properties=frozenset(wanted),
            logs=False,
            on_progress=None,
        )
        limited = Judgement(self.title, self.model.with_faults(most), wanted, settings, self.engine)
        try:
            exploration = explore(limited.model, settings, self.engine)[0]
            exploration.findings = {  # a search overshoots its limit by as much as time allows
                name: each for name, each in exploration.findings.items() if each.state < max_states
            }
            return limited._answers(exploration), exploration.counts.distinct
        except SpecError:  # met where the first search had no need to go: that run stands
            return [], max_states

    def _counted(self, found: PropertyVerdict) -> PropertyVerdict:
        """The answer, with how many faults its run has."""
        if found.verdict != "violated" or found.trace is None:
            return found
        faults = {self.model.actions[each].name for instances in self.model.budgets.values() for each in instances}
        return replace(found, faults=sum(step.action in faults for step in found.trace.steps))

    def _answers(self, exploration: Exploration) -> list[PropertyVerdict]:
        tracer = Tracer(exploration, self.title)
        answers = [self._safety(number, exploration, tracer) for number in self.wanted if not self._live(number)]
        if self.settings.deadlock and not self.model.is_composed:
            answers.insert(0, self._deadlock(exploration, tracer))
        live = [number for number in self.wanted if self._live(number)]
        return answers + self._liveness(live, exploration) if live else answers

    def _live(self, number: int) -> bool:
        return self.model.properties[number].is_liveness

    def _deadlock(self, exploration: Exploration, tracer: Tracer) -> PropertyVerdict:
        finding = exploration.findings.get((DEADLOCK, 0))
        trace = tracer.to(finding, "deadlock") if finding else None
        answer: Answer = "violated" if finding else "inconclusive" if exploration.bound else "holds"
        return PropertyVerdict("deadlock", "deadlock", answer, trace)

    def _safety(self, number: int, exploration: Exploration, tracer: Tracer) -> PropertyVerdict:
        claim = self.model.properties[number]
        found = [finding for (each, _), finding in exploration.findings.items() if each == number]
        if claim.kind == "refines":
            found += self._wrong_starts(claim, exploration)
        shortest = min(found, key=lambda each: len(tracer.path(each.state)) + (each.after is not None), default=None)
        trace = tracer.to(shortest, claim.name) if shortest else None
        undecided: Answer = "inconclusive" if exploration.bound else "holds"
        if claim.abstract and undecided == "holds" and not found:
            return self._fair_refinement(claim, exploration)
        if claim.kind == "sometimes":
            never: Answer = "inconclusive" if exploration.bound else "violated"
            return PropertyVerdict(claim.name, claim.kind, "holds" if found else never, trace)
        vacuous = None
        if not found and claim.name not in self.model.applied and claim.name in self._guarded():
            vacuous = "what it requires is true in no reached state" + (
                " or step" if claim.kind == "always_step" else ""
            )
        return PropertyVerdict(claim.name, claim.kind, "violated" if found else undecided, trace, vacuous)

    def _fair_refinement(self, claim: Property, exploration: Exploration) -> PropertyVerdict:
        """Whether runs keep the fairness of what they refine, once every single step does."""
        exploration = self._whole(exploration)
        if exploration.bound:
            return PropertyVerdict(claim.name, claim.kind, "inconclusive")
        assert claim.abstract is not None
        found = unfair_run(exploration, claim.abstract)
        if found is not None:
            owed, lasso = found
            tracer = Tracer(exploration, self.title)
            path = (*tracer.path(lasso.prefix[0])[:-1], *lasso.prefix)
            self.warnings.append(
                f"`{claim.name}` is violated by a run that is not fair as its abstract specification is: the run owes "
                f"{owed}, and never does it"
            )
            trace = tracer.build(claim.name, run_of(exploration, Lasso(path, lasso.cycle)), loop=len(path) - 1)
            return PropertyVerdict(claim.name, claim.kind, "violated", trace)
        return PropertyVerdict(claim.name, claim.kind, "holds")

    def _whole(self, exploration: Exploration) -> Exploration:
        """What was explored, without symmetry: promises about whole runs need every state."""
        if not exploration.reduced:
            return exploration
        plain = replace(self.settings, symmetry=False, edges=True, properties=frozenset())
        return explore(self.model, plain, self.engine)[0]

    def _wrong_starts(self, claim: Property, exploration: Exploration) -> list[Finding]:
        judge = self.model.predicates[claim.cases[0].operands[0]]
        return [
            Finding(index) for index in exploration.initial() if not truth(self.model, judge, exploration.state(index))
        ]

    def _guarded(self) -> set[str]:
        return {each.name for each in self.model.properties if each.kind in {"always", "always_step"}}

    def _liveness(self, live: list[int], exploration: Exploration) -> list[PropertyVerdict]:
        claims = [self.model.properties[number] for number in live]
        exploration = self._whole(exploration)
        if exploration.bound:
            return [PropertyVerdict(claim.name, claim.kind, "inconclusive") for claim in claims]
        runs = runs_of(exploration, needs_core=any(claim.kind in JUDGED_IN_THE_CORE for claim in claims))
        idle = set() if self.model.is_composed else set(range(len(self.model.fairness))) - runs.ever_enabled()
        for number in sorted(idle):
            condition = self.model.fairness[number]
            kind = "strong" if condition.strong else "weak"
            self.warnings.append(
                f"{kind} fairness of {condition.name} never matters: it never has a step that changes anything"
            )
        found = [Promise(claim, exploration, runs, self.title).verdict() for claim in claims]
        return self._within_constraints(found, runs, exploration.counts.distinct) if self.model.constraints else found

    def _within_constraints(self, found: list[PropertyVerdict], runs: Runs, count: int) -> list[PropertyVerdict]:
        """The verdicts on promises, with a reason where they say little: fair runs that leave are not seen."""
        stuck = runs.fair_from(bytearray(b"\1" * count)).count(0)
        if 0 < stuck < count:
            self.warnings.append(
                f"from {stuck:,} of {count:,} states every fair run leaves the constraint: promises do not speak of "
                f"those"
            )
        if stuck < count:
            return found
        why = "every fair run leaves the constraint, so no run is left that could break it"
        return [replace(each, vacuous=why) if each.verdict == "holds" else each for each in found]

    def _warn_of_idle_actions(self, exploration: Exploration) -> None:
        if exploration.bound:
            self.warnings += growing(self.model)
            return
        self.warnings += (each for warnings in self.model.afterwards for each in warnings())
        for each in self.model.expected:
            if not any(exploration.counts.taken[index] for index in each.instances):
                self.warnings.append(f"{each.what}: {each.why}")
        if self.model.is_composed:
            return
        if not self.model.actions:
            self.warnings.append(f"{self.model.name} has no action, so nothing ever happens; mark steps with `@action`")
        taken: dict[str, int] = {}
        for action, count in zip(self.model.actions, exploration.counts.taken, strict=True):
            taken[action.name] = taken.get(action.name, 0) + count
        for name, count in taken.items():
            if not count:
                self.warnings.append(f"action {name} is never taken: what it requires is true in no reached state")
            elif name in self.model.copying and not exploration.tallies[name].has_effect:
                self.warnings.append(
                    f"action {name} never changes anything: values are immutable, so assign what `add`, `but` or "
                    "`with_` returns, as in `self.bag = self.bag.add(x)`"
                )

    def _coverage(self, exploration: Exploration) -> tuple[ActionCoverage, ...]:
        rows: dict[str, int] = {}
        for action, count in zip(self.model.actions, exploration.counts.taken, strict=True):
            rows[action.name] = rows.get(action.name, 0) + count
        tallies = exploration.tallies
        return tuple(
            ActionCoverage(name, count, tallies[name].executed, tallies[name].widest)
            if name in tallies
            else ActionCoverage(name, count, 0, 0)
            for name, count in rows.items()
        )


def _within_bounds(found: PropertyVerdict) -> PropertyVerdict:
    """An answer where bounds cut something off; only what was shown by a run needs no more than that run."""
    return replace(found, verdict="holds within") if found.verdict == "holds" and found.trace is None else found


class Promise:
    """One promise about whole runs: as a search for a fair run that breaks it."""

    def __init__(self, claim: Property, exploration: Exploration, runs: Runs, title: str) -> None:
        self.claim = claim
        self.exploration = exploration
        self.runs = runs
        self.tracer = Tracer(exploration, title)
        self._masks: dict[int, bytearray] = {}

    def verdict(self) -> PropertyVerdict:
        """Holds if no case is broken."""
        vacuous = []
        broken: list[Trace] = []
        for case in self.claim.cases:
            trace = self._until_given_up(case)
            if not trace and self._is_possible_in_the_end(case):
                query = self.query(case)
                trace = self._trace(self.runs.find(query)) if all(map(_has_any, query.visits)) else None
            if trace:
                broken.append(trace)
            elif reason := self._vacuous(case):
                vacuous.append(reason)
        if broken:
            return PropertyVerdict(self.claim.name, self.claim.kind, "violated", min(broken, key=len))
        everywhere = vacuous[0] if vacuous and len(vacuous) == len(self.claim.cases) else None
        return PropertyVerdict(self.claim.name, self.claim.kind, "holds", None, everywhere)

    def _is_possible_in_the_end(self, case: Case) -> bool:
        """Whether a run that breaks the promise exists, as far as the states tell to which fair runs come back.

        Only for runs that may go anywhere: what they visit again and again is in the core, all of it together. The core
        is small, and where the promise is kept in it nobody asks about any other state.
        """
        if self.claim.kind not in JUDGED_IN_THE_CORE:
            return True
        core = self.runs.core
        kept = self.exploration.mask(case.operands[-1], core)
        if kept == core or (self.claim.kind == "settles" and not _has_any(kept)):
            return False
        missing = both(core, inverted(kept))
        visits = (missing,) if self.claim.kind == "eventually_always" else (kept, missing)
        return self.runs.find(Query(core, core, visits)) is not None

    def query(self, case: Case) -> Query:
        """What a run that breaks the promise looks like."""
        promise = self._mask(case.operands[-1])
        missing = inverted(promise)
        everywhere = bytearray(b"\1" * len(promise))
        match self.claim.kind:
            case "eventually" | "until":
                return Query(missing, both(missing, self._initially(len(promise))))
            case "always_eventually":
                return Query(missing, missing)
            case "eventually_always":
                return Query(everywhere, everywhere, (missing,))
            case "settles":
                return Query(everywhere, everywhere, (promise, missing))
            case _:
                premise = self._mask(case.operands[0])
                pending = both(premise, missing)
                return Query(pending if case.henceforth else missing, pending)

    def _mask(self, predicate: int) -> bytearray:
        if predicate not in self._masks:
            self._masks[predicate] = self.exploration.mask(predicate)
        return self._masks[predicate]

    def _initially(self, size: int) -> bytearray:
        mask = bytearray(size)
        for index in self.runs.initial:
            mask[index] = 1
        return mask

    def _until_given_up(self, case: Case) -> Trace | None:
        """For ``until``: the shortest run that gives up the one before it has the other."""
        if self.claim.kind != "until":
            return None
        hold, promise = (self._mask(operand) for operand in case.operands)
        missing = inverted(promise)
        query = Query(missing, both(missing, self._initially(len(missing))))
        path = self.runs.shortest(query, both(missing, inverted(hold)))
        return self._trace(Lasso(path, ()), loops=False) if path else None

    def _trace(self, lasso: Lasso | None, *, loops: bool = True) -> Trace | None:
        if lasso is None:
            return None
        run = run_of(self.exploration, lasso)
        return self.tracer.build(self.claim.name, run, loop=len(lasso.prefix) - 1 if loops else None)

    def _vacuous(self, case: Case) -> str | None:
        if self.claim.kind != "leads_to":
            return None
        premise, promise = (self._mask(operand) for operand in case.operands)
        if case.henceforth:
            premise = both(premise, self.runs.fair_from(premise))
            if not _has_any(premise):
                return "no fair run keeps the premise from any point on, so nothing is promised"
        elif not _has_any(premise):
            return "the premise is true in no reached state, so nothing is promised"
        if not _has_any(both(premise, inverted(promise))):
            return "wherever the premise holds the conclusion is already true, so it never has to lead anywhere"
        return None


def run_of(exploration: Exploration, lasso: Lasso) -> list[tuple[int | None, State]]:
    """The states of a run, each with the action that led there, where that matters."""
    state = exploration.state
    run: list[tuple[int | None, State]] = [(None, state(index)) for index in lasso.prefix]
    return run + [(action, state(index)) for action, index in lasso.cycle]


def _has_any(mask: bytearray) -> bool:
    return 1 in mask


def inverted(mask: bytearray) -> bytearray:
    """The states outside ``mask``."""
    return bytearray(mask.translate(_FLIP))


def both(one: bytearray, other: bytearray) -> bytearray:
    """The states in both masks."""
    size = len(one)
    joined = int.from_bytes(one, "little") & int.from_bytes(other, "little")
    return bytearray(joined.to_bytes(size, "little"))


_FLIP = bytes([1, 0]) + bytes(254)
