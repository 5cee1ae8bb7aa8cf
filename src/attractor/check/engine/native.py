"""The native engine: the kernel walks tries and stores states in C; this side tells it what steps do.

The kernel stops where its tries have no answer, Python executes the missing routines, the kernel goes on. Slots are
packed into as few bits as their domains need; ``fit`` repacks when a domain outgrows its bits or a slot is added.
"""

from __future__ import annotations

import os
import time
from array import array
from collections import Counter
from contextlib import suppress
from itertools import chain
from threading import Thread
from typing import TYPE_CHECKING, Any

from attractor.check.engine._kernel import Kernel
from attractor.check.engine.execution import Outcome, outcomes_of, padded, truth
from attractor.check.engine.exploration import DEADLOCK, Counts, Finding, Graph, Progress, Settings
from attractor.check.engine.liveness import Lasso, Query
from attractor.check.engine.packing import with_room
from attractor.check.engine.symmetry import canonical_form
from attractor.check.engine.trie import Sample, Tally, impure
from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.check.engine.model import Instance, Model, Routine, State

MISSES, TIME, LEVEL, DONE = range(4)
SLICE_SECONDS = 0.2
SAVE_FORMAT = 4
SAVE_MARK = b"attractor search\n"
"""How a file with a saved search begins, so that no other file is taken for one."""
FORGET_AFTER = 200_000


Logged = tuple[tuple[int, ...], list[Outcome]] | tuple[int, int, int]
"""One execution: the instances (actions, then predicates) that it speaks for and how it went; or the number of an
update, and what it makes of which value."""


class NativeSearch:
    """One exploration by the native engine."""

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        self.model = model
        self.settings = settings or Settings()
        self.counts = Counts(taken=[0] * len(model.actions))
        self.bound: str | None = None
        self.findings: dict[tuple[int, int], Finding] = {}
        self.reduced = self.settings.symmetry
        self.tallies: dict[str, Tally] = {}
        self.log: list[Logged] = []
        """What was executed, in that order, if the settings ask for it."""
        self._canonical = canonical_form(model) if self.settings.symmetry else None
        self._kernel = Kernel(threads=self.settings.threads)
        self._instances: list[Instance] = [*model.actions, *model.predicates]
        self._sharers: dict[Routine, list[int]] = {}
        self._bits: list[int] = []
        self._finding_names: list[tuple[int, int]] = []
        self._resumed = False
        self._executed_lately: Counter[Routine] = Counter()
        self._distinct_then = 0
        self._configure()
        self._fit()

    # What the contract promises

    def state(self, index: int) -> State:
        """The state with that index."""
        return self._kernel.state(index)

    def parent(self, index: int) -> int | None:
        """The state from which it was first reached."""
        return self._kernel.parent(index)

    def key(self, state: State) -> State:
        """The representative under which ``state`` is known."""
        return self._canonical(state) if self._canonical else state

    def initial(self) -> list[int]:
        """The indices of the initial states."""
        found = map(self.find, self.model.initial)
        return sorted({index for index in found if index is not None})

    def find(self, state: State) -> int | None:
        """The index of a state; None if it was not explored."""
        return self._kernel.find(padded(self.model, state))

    def successors(self, index: int) -> list[tuple[int, State]]:
        """The remembered steps out of a state: (action instance, state)."""
        while (found := self._kernel.successors(index)) is None:
            self._resolve()
        return found

    def graph(self) -> Graph:
        """Every step between explored states."""
        self._build_graph()
        offsets, targets, actions = array("Q"), array("I"), array("I")
        for each, data in zip((offsets, targets, actions), self._kernel.graph(), strict=True):
            each.frombytes(data)
        return Graph(offsets, targets, actions)

    def mask(self, predicate: int, within: bytearray | None = None) -> bytearray:
        """For each state (only those ``within``, the others get 0), whether the predicate is true there."""
        size = self._kernel.counts()["distinct"]
        mask, at = bytearray(size), 0
        while (at := self._kernel.mask(predicate, mask, at, within)) < size:
            self._resolve()
        return mask

    def table_bytes(self) -> int:
        """The memory that states, predecessors and their index take."""
        return self._kernel.counts()["table_bytes"]

    def packed(self) -> tuple[list[int], bytes]:
        """The bits of each slot, and all states as they are packed with these, in the order of their numbers."""
        return list(self._bits), b"".join(states for states, *_ in self._kernel.dump()["shards"])

    def save(self, path: Path, origin: str = "") -> None:
        """Write what was found so far to a file from which ``resume`` goes on, if it is given the same ``origin``."""
        import pickle  # few searches are saved

        try:
            data = pickle.dumps(
                {
                    "format": SAVE_FORMAT,
                    "model": self._identity(origin),
                    "threads": self.settings.threads,
                    "bits": self._bits,
                    "domains": [slot.domain.values for slot in self.model.slots],
                    "levels": self.counts.levels,
                    "binding": self.model.binding,
                    "kernel": self._kernel.dump(),
                }
            )
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            reason = f"{self.model.name} cannot be saved: {problem}; define the classes of its values at module level"
            raise SpecError(reason) from None
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                file.write(SAVE_MARK)
                file.write(data)
            beside.replace(path)
        except OSError as problem:
            beside.unlink(missing_ok=True)
            raise SpecError(f"the search cannot be saved to {path}: {problem.strerror}") from problem

    def resume(self, path: Path, origin: str = "") -> None:
        """Take up a search that was saved; a pickle can run code, so take up only files that you wrote."""
        import pickle

        data = path.read_bytes()
        if not data.startswith(SAVE_MARK):
            raise SpecError(f"{path} is not a saved search; `--save FILE` writes one when a bound stops a search")
        try:
            saved = pickle.loads(memoryview(data)[len(SAVE_MARK) :])  # noqa: S301 - the caller's own file, said above
        except (pickle.UnpicklingError, EOFError) as problem:
            raise SpecError(f"{path} is damaged ({problem}); start anew, without it") from problem
        if saved["format"] != SAVE_FORMAT or saved["model"] != self._identity(origin):
            raise SpecError(
                f"{path} was saved from another specification, with other constants or settings, or before its code "
                "changed; start anew, without it"
            )
        for slot, values in zip(self.model.slots, saved["domains"], strict=True):
            if [slot.domain.intern(value) for value in values] != list(range(len(values))):
                raise SpecError(f"{path}: the values of {slot.name} come in another order now; start anew")
        self._bits = saved["bits"]
        self._kernel.fit(bytes(self._bits), [slot.default for slot in self.model.slots])
        self._kernel.restore(**saved["kernel"])
        self.counts.levels = saved["levels"]
        self.model.binding |= saved["binding"]
        self._resumed = True

    def _identity(self, origin: str) -> tuple[Any, ...]:
        return (
            origin,
            self.model.name,
            [slot.name for slot in self.model.slots],
            [action.label for action in self.model.actions],
            self._finding_names,
            self.settings.threads,
            self.settings.symmetry,
        )

    # The search

    def run(self) -> NativeSearch:
        """Explore until nothing is new or a limit is reached."""
        started = time.monotonic()
        for state in () if self._resumed else self.model.initial:
            if all(truth(self.model, self.model.predicates[each], state) for each in self.model.constraints):
                self._fit()
                self._kernel.add_initial(padded(self.model, state))
        self._kernel.learned()
        try:
            self._search(started)
        except KeyboardInterrupt:
            self.bound = "interrupted"
        except MemoryError:
            self.bound = "the memory of this machine"
        self._note(self._kernel.counts())
        self.counts.taken = self._kernel.taken()
        for number, state_index, action, after in self._kernel.found():
            self.findings[self._finding_names[number]] = Finding(state_index, action, after)
        return self

    def _search(self, started: float) -> None:
        counts = self._kernel.counts()
        depth, whole = counts["depth"], counts["level"] == counts["level_done"]
        limit = self.settings.max_depth
        while self.bound is None:
            last = (depth + whole) == limit
            status = self._kernel.advance(SLICE_SECONDS, last)
            counts = self._kernel.counts()
            depth, whole = counts["depth"], status == LEVEL
            if status == MISSES:
                self._resolve()
            elif status == DONE:
                return
            else:
                self._forget_what_never_returns(counts["distinct"])
            if whole:
                self.counts.levels.append(counts["level"])
                if last:
                    self.bound = f"depth {depth}" if counts["could_go_on"] else None
                    self._note(counts)
                    return
            self._note(counts)
            self._check_limits(started, counts)

    def _note(self, counts: dict[str, int]) -> None:
        self.counts.distinct = counts["distinct"]
        self.counts.generated = counts["generated"] + len(self.model.initial)
        self.counts.depth = counts["depth"]

    def _check_limits(self, started: float, counts: dict[str, int]) -> None:
        seconds = time.monotonic() - started
        settings = self.settings
        frontier = counts["distinct"] - sum(self.counts.levels)
        if settings.on_progress:
            settings.on_progress(
                Progress(self.counts.distinct, self.counts.generated, self.counts.depth, frontier, seconds)
            )
        used = counts["table_bytes"] + counts["trie_bytes"]
        if settings.memory_bytes is not None and used + counts["edge_bytes"] > settings.memory_bytes:
            self._kernel.forget_edges()  # the search needs the memory; a second walk finds them afterwards
        if frontier:
            self.bound = settings.limit_reached(self.counts.distinct, seconds, used, violated=self._violated())

    def _violated(self) -> bool:
        names = [self._finding_names[number] for number, *_ in self._kernel.found()]
        return any(prop == DEADLOCK or self.model.properties[prop].kind != "sometimes" for prop, _ in names)

    # Teaching the kernel

    def _configure(self) -> None:
        tries: dict[Any, int] = {}
        rows = []
        for number, instance in enumerate(self._instances):
            routine = instance.routine
            key = routine if routine.shared else instance
            rows.append((tries.setdefault(key, len(tries)), instance.binding))
            self._sharers.setdefault(routine, []).append(number)
        watches, judges = self._watches()
        self._kernel.configure(
            actions=rows[: len(self.model.actions)],
            predicates=rows[len(self.model.actions) :],
            watches=watches,
            judges=judges,
            constraints=self.model.constraints,
            terminal=self.model.terminal,
            symmetry=[
                (len(each.columns), len(each.columns[0]), [slot for column in each.columns for slot in column])
                for each in (self.model.symmetries if self.settings.symmetry else ())
                if len(each.columns) > 1 and each.columns[0]
            ],
            deadlock=self.settings.deadlock,
            findings=len(self._finding_names),
            edges=self.settings.edges and not self.settings.symmetry,
        )

    def _watches(self) -> tuple[list[tuple[int, int, bool]], list[tuple[int, int, int]]]:
        watches, judges = [], []
        wanted = self.settings.properties
        for number, claim in enumerate(self.model.properties):
            if claim.is_liveness or (wanted is not None and number not in wanted):
                continue
            for place, case in enumerate(claim.cases):
                finding = len(self._finding_names)
                self._finding_names.append((number, place))
                if case.steps:
                    judges += [(action, predicate, finding) for action, predicate in case.steps.items()]
                else:
                    watches.append((case.operands[0], finding, claim.kind == "sometimes"))
        self._finding_names.append((DEADLOCK, 0))
        return watches, judges

    def _fit(self) -> None:
        """Repack if a domain outgrew its bits or a slot is new."""
        needed = [(len(slot.domain.values) - 1).bit_length() for slot in self.model.slots]
        if self._bits and len(needed) == len(self._bits) and all(map(int.__le__, needed, self._bits)):
            return
        self._bits = with_room([len(slot.domain.values) for slot in self.model.slots])
        self._kernel.fit(bytes(self._bits), [slot.default for slot in self.model.slots])

    def _resolve(self) -> None:
        """Execute what the kernel misses, and tell it."""
        while (miss := self._kernel.next_miss()) is not None:
            if len(miss) == 2:
                update, value = miss
                changed = self.model.updates[update].of(value)
                self._kernel.learn_update(update, value, changed)
                if self.settings.logs:
                    self.log.append((update, value, changed))
                continue
            number, before, after = miss
            instance = self._instances[number]
            shared = instance.routine.shared
            outcomes = outcomes_of(self.model, instance, before, after)
            if shared and not instance.routine.shared:
                for each in self._sharers[instance.routine]:
                    self._kernel.separate(each)
            self._tally(instance.name).note(self.model, Sample(instance, before, after, outcomes))
            self._executed_lately[instance.routine] += len(outcomes)
            if self.settings.logs:
                sharers = tuple(self._sharers[instance.routine]) if instance.routine.shared else (number,)
                self.log.append((sharers, outcomes))
            self._teach(number, instance, outcomes)
            if len(self.model.slots) != len(self._bits):
                break  # the kernel's records are of states without the new slots; it will ask again
        self._fit()
        self._kernel.learned()

    def _tally(self, name: str) -> Tally:
        if name not in self.tallies:
            self.tallies[name] = Tally()
        return self.tallies[name]

    def _forget_what_never_returns(self, distinct: int) -> None:
        """Empty the tries of routines that hardly ever meet the same values again: remembering them only costs memory.

        Such a routine is executed anew in nearly every state, as if it were called directly. Called only while no
        state waits to be done again: what it waits for must not be forgotten.
        """
        if self._executed_lately.total() < FORGET_AFTER:
            return
        grown = distinct - self._distinct_then
        for routine, executed in self._executed_lately.items():
            if executed >= FORGET_AFTER // 4 and 2 * executed > grown:
                for number in self._sharers[routine]:
                    self._kernel.forget(number)
        self._executed_lately.clear()
        self._distinct_then = distinct
        self._kernel.learned()

    def _teach(self, number: int, instance: Instance, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            path = list(chain.from_iterable(outcome.path))
            leaf = outcome.leaf
            flat = list(chain.from_iterable(leaf)) if isinstance(leaf, tuple) else leaf
            if not self._kernel.learn(number, path, flat):
                raise impure(instance)

    # Runs

    def _build_graph(self) -> None:
        while self._kernel.build_graph() == MISSES:
            self._resolve()


class NativeFairGraph:
    """The explored graph with fairness, searched by the kernel; the same contract as ``FairGraph``."""

    def __init__(self, search: NativeSearch, *, needs_core: bool = False) -> None:
        search._build_graph()  # noqa: SLF001 - the two halves of one engine
        self._kernel = search._kernel  # noqa: SLF001
        self.size = search.counts.distinct
        self.initial = search.initial()
        model = search.model
        if not self.initial and self.size:
            raise SpecError(f"{model.name}: no initial state was explored")
        numbers: list[list[int]] = [[] for _ in model.actions]
        for number, condition in enumerate(model.fairness):
            for instance in condition.instances:
                numbers[instance].append(number)
        offsets = array("I", [0])
        for each in numbers:
            offsets.append(offsets[-1] + len(each))
        flat = array("I", [number for each in numbers for number in each])
        self._fairness = (
            bytes(condition.strong for condition in model.fairness),
            offsets.tobytes(),
            flat.tobytes(),
        )
        self._core: bytearray | None = None
        self._ahead: Thread | None = None
        if needs_core and search.settings.threads > 1:
            self._ahead = Thread(target=self._find_core_ahead, daemon=True)
            self._ahead.start()

    def find(self, query: Query) -> Lasso | None:
        """A fair run that answers the query, with the shortest prefix; None if there is none."""
        found = self._kernel.lasso(query.allowed, query.starts, query.visits, self.initial, self._fairness)
        if found is None:
            return None
        prefix, flat = found
        return Lasso(prefix, tuple(zip(flat[::2], flat[1::2], strict=True)))

    def fair_from(self, allowed: bytearray) -> bytearray:
        """The states from which some fair run stays among ``allowed``."""
        return self._kernel.fair_from(allowed, allowed, (), self.initial, self._fairness)

    @property
    def core(self) -> bytearray:
        """The states to which some fair run comes back again and again.

        A search that may use several threads begins to look for them at once, beside what is asked for before.
        """
        if self._ahead is not None:
            self._ahead.join()
        if self._core is None:
            self._core = self._find_core()
        return self._core

    def _find_core(self) -> bytearray:
        everywhere = bytearray(b"\1" * self.size)
        return self._kernel.fair_core(everywhere, everywhere, (), self.initial, self._fairness)

    def _find_core_ahead(self) -> None:
        with suppress(MemoryError):  # whoever wants it tries again, and is told
            self._core = self._find_core()

    def shortest(self, query: Query, goal: bytearray) -> tuple[int, ...] | None:
        """The shortest run that goes from a start through allowed states to ``goal``."""
        return self._kernel.shortest(query.allowed, query.starts, (goal,), self.initial, self._fairness)

    def ever_enabled(self) -> set[int]:
        """The fairness conditions that are enabled anywhere."""
        everywhere = bytes(self.size)
        mask = self._kernel.ever_enabled(everywhere, everywhere, (), self.initial, self._fairness)
        return {number for number, enabled in enumerate(mask) if enabled}
