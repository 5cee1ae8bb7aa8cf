"""Running a routine once, under tracking: what it read, what it chose, what it wrote.

``execute`` runs a routine in a state for every way its choices can go and returns one ``Outcome`` for each: the *path*
(reads and choices in order, as pairs of integers) and the *leaf* (an action's writes, ``None`` where it is disabled, a
predicate's value). A step is a function of what it reads, so the path is all that needs to be remembered.

Worked example: ``require(self.lock is None); self.lock = self.choose((1, 2))`` in a state where slot 0 holds value 0
gives the outcomes ``((0, 0), (CHOICE|2, 0)) -> ((0, 1),)`` and ``((0, 0), (CHOICE|2, 1)) -> ((0, 2),)``; where slot 0
holds value 1 it gives ``((0, 1),) -> None``.

Parameters of shared routines are opaque ``Token``s. A token can be a key of a map and can be compared with another
token; everything else raises ``SharingLost``, after which the routine runs with real values, once for each instance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from attractor.check.engine.model import AFTER, CHOICE, COPY, DERIVED, UPDATE, Instance, Model, Slot, State
from attractor.check.errors import Disabled, SharingLost, SpecError, author_line, raising_line
from attractor.check.sandbox import watchdog
from attractor.check.sandbox.watchdog import Endless, Stuck, with_watch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")
Path = tuple[tuple[int, int], ...]
Writes = tuple[tuple[int, int], ...]


class Outcome(NamedTuple):
    """One way a routine can go: its path, its leaf, and the values that it chose."""

    path: Path
    leaf: Writes | int | None
    chosen: tuple[Any, ...] = ()


def _lose(*_: object) -> NoReturn:
    raise SharingLost


class Token:  # noqa: PLW1641 - hashing is one of the ways to look
    """A parameter whose identity the routine must not look at, so that one execution speaks for every instance."""

    __slots__ = ("number",)
    __class__ = property(_lose)  # pyright: ignore  # isinstance() must not see through a token

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        if type(other) is Token:
            return self.number == other.number
        raise SharingLost

    def __ne__(self, other: object) -> bool:
        return not self == other


_WAYS_TO_LOOK = (
    *("hash", "repr", "str", "format", "bool", "int", "index", "float", "len", "iter", "contains", "getitem", "call"),
    *("getattr", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "mod", "rmod", "floordiv"),
    *("rfloordiv", "truediv", "rtruediv", "pow", "rpow", "and", "rand", "or", "ror", "xor", "rxor", "neg", "pos"),
    *("abs", "invert", "lshift", "rlshift", "rshift", "rrshift", "divmod", "rdivmod", "round", "reduce_ex"),
)
for _operation in _WAYS_TO_LOOK:
    setattr(Token, f"__{_operation}__", _lose)


class Execution:
    """The view that a routine runs against: reads are recorded, writes are held back, choices follow a script."""

    __slots__ = (
        *("_after", "_copied", "_hows", "_instance", "_model", "_script", "_seen", "_state", "_values"),
        *("chosen", "path", "writes"),
    )

    def __init__(
        self, model: Model, instance: Instance, state: State, after: State | None, script: Sequence[int] = ()
    ) -> None:
        self._model = model
        self._instance = instance
        self._state = state
        self._after: State = after or ()
        self._script = script
        self._seen: dict[int, Any] = {}
        self._values: dict[int, Any] = {}
        self._copied: dict[int, int] = {}
        self._hows: dict[int, tuple[Callable[[Any], Any], ...]] = {}
        self.path: list[tuple[int, int]] = []
        self.chosen: list[Any] = []
        self.writes: dict[int, int] = {}

    def read(self, ref: int) -> Any:
        """The value behind ``ref``: this step's own write if there was one, otherwise the state's."""
        if ref not in self._values:
            self._values[ref] = self.before(self._copied.get(ref, ref))
            if ref in self._hows:
                self.write(ref, InTurn(self._hows[ref])(self._values[ref]))
        return self._values[ref]

    def before(self, ref: int) -> Any:
        """The value that the state before this step holds; the path notes it."""
        if ref in self._seen:
            return self._seen[ref]
        routine = self._instance.routine
        real = ref
        if ref < 0:
            real = self._instance.binding[-1 - ref]
        elif routine.shared and ref in routine.bound:
            raise SharingLost
        if real & DERIVED:
            number = int(truth(self._model, self._model.predicates[real ^ DERIVED], self._state))
            value: Any = bool(number)
        else:
            if real & AFTER and not self._after:
                raise judges_steps(self._instance)
            slot = self._model.slots[real & ~AFTER]
            vector = self._after if real & AFTER else self._state
            number = vector[slot.index] if slot.index < len(vector) else slot.default
            value = slot.domain.values[number]
        self.path.append((ref, number))
        self._seen[ref] = value
        return value

    def write(self, ref: int, value: Any) -> None:
        """Set ``ref`` in the state after this step."""
        self.writes[ref] = self._slot(ref).domain.intern(value)
        self._values[ref] = value
        self._copied.pop(ref, None)
        self._hows.pop(ref, None)

    def copy(self, ref: int, source: int) -> None:
        """Set ``ref`` to what ``source`` holds, without looking: the step is then the same for every value there.

        The two slots must share a domain.
        """
        if source in self._values or source in self._hows:
            self.write(ref, self.read(source))
            return
        source = self._copied.get(source, source)
        slot, other = self._slot(ref), self._slot(source)
        if slot.domain is not other.domain:
            raise SpecError(f"{self._instance.name} copies {other.name} to {slot.name}, which has another domain")
        self.writes[ref] = COPY | other.index
        self._copied[ref] = source
        self._hows.pop(ref, None)
        self._values.pop(ref, None)

    def update(self, ref: int, how: Callable[[Any], Any]) -> None:
        """Set ``ref`` to ``how`` of what it holds, without looking: the step is then the same for every value there.

        ``how`` is a pure function that is known by equality.
        """
        if ref in self._values or ref in self._copied:
            self.write(ref, how(self.read(ref)))
            return
        self._hows[ref] = (*self._hows.get(ref, ()), how)
        self.writes[ref] = UPDATE | self._model.update(self._slot(ref).domain, InTurn(self._hows[ref]))

    def _slot(self, ref: int) -> Slot:
        """The slot behind a reference that may be written."""
        routine = self._instance.routine
        if ref < 0:
            real = self._instance.binding[-1 - ref]
        elif routine.shared and ref in routine.bound:
            raise SharingLost
        else:
            real = ref
        if real >= AFTER:
            raise SpecError(f"{author_line()}: {self._instance.name} may only look at the state, not change it")
        return self._model.slots[real]

    def is_written(self, ref: int) -> bool:
        """Whether this step wrote ``ref`` so far."""
        return ref in self.writes

    def has_written(self) -> bool:
        """Whether this step wrote anything so far."""
        return bool(self.writes)

    def choose(self, options: Iterable[T]) -> T:
        """Pick one of ``options``; every pick is explored. With no option the action is disabled."""
        ordered = tuple(sorted(options, key=repr)) if isinstance(options, set | frozenset) else tuple(options)
        if not ordered:
            raise Disabled
        position = len(self.chosen)
        pick = self._script[position] if position < len(self._script) else 0
        self.path.append((CHOICE | len(ordered), pick))
        self.chosen.append(ordered[pick])
        return ordered[pick]

    def key_ref(self, family: int, key: Any) -> int:
        """The reference of ``key`` in a map: virtual where the key is one of a shared routine's own parameters."""
        if type(key) is Token:
            number = self._instance.routine.virtual.get((family, key.number))
            if number is None:
                raise SharingLost
            return -1 - number
        refs = self._model.families[family].refs
        if key not in refs:
            known = self._model.families[family]
            there = ", ".join(map(repr, [*refs][:10])) + (", ..." if len(refs) > 10 else "")
            raise SpecError(f"{author_line()}: `{known.name}` has no {key!r}; it has: {there or 'nothing'}")
        return refs[key]

    def parameters(self) -> tuple[Any, ...]:
        """The instance's arguments: tokens where the routine is shared, otherwise the values."""
        values = self._instance.values
        if self._instance.routine.shared:
            return tuple([Token(values.index(value)) for value in values])
        return values


class InTurn:
    """Several functions of a value, one after the other, as one; known by equality, as they are."""

    __slots__ = ("_hows",)

    def __init__(self, hows: tuple[Callable[[Any], Any], ...]) -> None:
        self._hows = hows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InTurn) and self._hows == other._hows

    def __hash__(self) -> int:
        return hash(self._hows)

    def __call__(self, value: Any) -> Any:
        """What becomes of a value."""
        for how in self._hows:
            value = how(value)
        return value


def judges_steps(instance: Instance) -> SpecError:
    """The error for a judge of steps that is asked about one state."""
    return SpecError(f"{instance.label} judges steps; of one state alone it says nothing")


LeafOf = Callable[[Execution, Any], Any]


def execute(
    model: Model, instance: Instance, state: State, leaf_of: LeafOf, after: State | None = None
) -> list[Outcome]:
    """Run ``instance`` in ``state`` (a judge of steps: between ``state`` and ``after``) for every sequence of choices.

    A routine that looks at its own parameters loses sharing here, for good, and is run again with real values: callers
    must notice that ``instance.routine.shared`` fell and forget what they remembered under the shared routine.
    """
    try:
        return _execute(model, instance, state, leaf_of, after)
    except SharingLost:
        unshare(instance)
        return _execute(model, instance, state, leaf_of, after)


def unshare(instance: Instance) -> None:
    """Let every instance of this routine run and remember on its own."""
    instance.routine.shared = False
    instance.routine.bound = frozenset()


def _execute(model: Model, instance: Instance, state: State, leaf_of: LeafOf, after: State | None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    script: list[int] | None = []
    while script is not None:
        run = Execution(model, instance, state, after, script)
        try:
            result = with_watch(lambda: instance.routine.function(run, *run.parameters()))  # noqa: B023 - called at once
        except Disabled:
            leaf = None
        except (Endless, Stuck) as stopped:
            raise _does_not_end(instance, stopped) from None
        else:
            leaf = leaf_of(run, result)
        outcomes.append(Outcome(tuple(run.path), leaf, tuple(run.chosen)))
        script = _next_script(run.path) if run.chosen else None
    return outcomes


def _does_not_end(instance: Instance, stopped: BaseException) -> SpecError:
    line = raising_line(stopped)
    if isinstance(stopped, Stuck):
        return SpecError(f"{line}: {instance.label} waits here for another thread, and under check there is none")
    return SpecError(
        f"{line}: {instance.label} computes for ever here, or at least for {watchdog.LIMIT_S:g} s of processor time; "
        "make the loop end (a step is one thing that happens, not all that will)"
    )


def _next_script(path: Sequence[tuple[int, int]]) -> list[int] | None:
    """The choices of the next run, in lexicographic order; None after the last."""
    choices = [(ref ^ CHOICE, pick) for ref, pick in path if ref >= CHOICE]
    while choices:
        count, pick = choices.pop()
        if pick + 1 < count:
            return [*(earlier for _, earlier in choices), pick + 1]
    return None


def _writes(run: Execution, result: Any) -> Writes | None:
    if result is False:
        return None
    return tuple(run.writes.items())


def _truth(run: Execution, result: Any) -> int:
    if run.writes:
        raise SpecError(f"{run._instance.name} may only look at the state, not change it")  # noqa: SLF001
    return int(bool(result))


def steps(model: Model, action: Instance, state: State) -> list[Outcome]:
    """Every way ``action`` can be taken (or not) in ``state``; a leaf is the writes, or None where it is disabled."""
    return execute(model, action, state, _writes)


def evaluations(model: Model, predicate: Instance, state: State, after: State | None = None) -> list[Outcome]:
    """The value of ``predicate`` in ``state`` (with a choice: one for each pick); a leaf is 0, 1, or None for 0."""
    found = execute(model, predicate, state, _truth, after)
    is_constraint = predicate.index in model.constraints and not model.is_composed  # a world names its own bounds
    if is_constraint and not any(outcome.leaf for outcome in found):
        hint = f"states where {predicate.name} is false are left out; widen it, or leave it out"
        model.bind(predicate.name, f"the constraint {predicate.name}", hint)
    return found


def truth(model: Model, predicate: Instance, state: State) -> bool:
    """Whether ``predicate`` is true in ``state``, by running it; with a choice, whether some pick makes it true."""
    return any(outcome.leaf for outcome in evaluations(model, predicate, state))


def outcomes_of(model: Model, instance: Instance, state: State, after: State | None = None) -> list[Outcome]:
    """Run an action or a predicate, whichever ``instance`` is."""
    if instance.index < len(model.actions) and model.actions[instance.index] is instance:
        return steps(model, instance, state)
    return evaluations(model, instance, state, after)


def padded(model: Model, state: State) -> State:
    """The state with the defaults of slots that were added since it was found."""
    return state + tuple(slot.default for slot in model.slots[len(state) :])


def apply(model: Model, writes: Writes, binding: Sequence[int], state: State) -> State:
    """The state after ``writes``; ``state`` must have every slot that they name."""
    after = list(state)
    for ref, value in writes:
        slot = binding[-1 - ref] if ref < 0 else ref
        if value & COPY:
            after[slot] = state[value ^ COPY]
        else:
            after[slot] = model.updates[value ^ UPDATE].of(state[slot]) if value & UPDATE else value
    return tuple(after)
