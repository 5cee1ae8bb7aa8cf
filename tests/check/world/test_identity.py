"""The checker against an explorer that keeps every history apart and runs everything from scratch: the same worlds.

The oracle shares nothing with how the checker knows suspended code and values: a reconcile is the text of all answers
that it was ever given, a value is its text with the types of all its parts, copies are ``copy.deepcopy``, and to go on is
to run again from the beginning. Mistakes in the checker itself, one at a time, are then found by the comparison, or by
the checker's own audit; mistakes in comparing single values are found by ``test_freezing`` and ``test_trust``.
"""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from attractor.check import Bounds, Edit, Faults, SpecError, World, WorldState, always, check
from attractor.check.values import snapshot
from attractor.check.world.simulation import externals
from attractor.check.world.simulation.process import background, controller_memory, set_order_audit
from attractor.check.world.simulation.process import suspended as suspension
from attractor.check.world.simulation.process import worker as workers
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.runtime.steps import Steps
from tests.check.world.judged import telling
from tests.check.world.pairs import KEY, Pair, pair
from tests.check.world.random_controllers import random_controller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def text_of(value: Any) -> str:
    """Everything about a value, as text."""
    kind = type(value).__qualname__
    if isinstance(value, msgspec.Struct):
        return f"{kind}({', '.join(text_of(getattr(value, name)) for name in value.__struct_fields__)})"
    if isinstance(value, BaseException):
        return f"{kind}({text_of(value.args)} {text_of(vars(value))} {text_of(value.__cause__)})"
    if isinstance(value, dict):
        return f"{kind}{{{', '.join(f'{text_of(key)}: {text_of(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple | set | frozenset):
        return f"{kind}[{', '.join(map(text_of, value))}]"
    if isinstance(value, str | int | float | bool | Decimal | None):
        return f"{kind} {value!r}"
    return f"{kind} {text_of(vars(value)) if hasattr(value, '__dict__') else repr(value)}"


class PlainKept:
    """A value in a state, by its text."""

    def __init__(self, value: Any) -> None:
        self.held = copy.deepcopy(value)
        self.text = text_of(value)

    @property
    def value(self) -> Any:
        return copy.deepcopy(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainKept) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class PlainRun:
    """A coroutine that was given answers, from the first one on."""

    def __init__(self, make: Any, answers: tuple[Any, ...] = ()) -> None:
        self.make, self.answers = make, answers
        self.error: Exception | None = None
        self.history: list[Any] = list(answers)
        self.origin = None
        self._steps: Steps[Any] | None = None
        try:
            self._steps = Steps(make())
            for answer in answers:
                self._give(answer)
        except Exception as error:
            self.error = error

    def _give(self, answer: Any) -> None:
        assert self._steps is not None
        value, error = copy.deepcopy(answer[0]), answer[1]
        self._steps.answer(value) if error is None else self._steps.fail(copy.deepcopy(error))

    def go_on(self, answer: Any) -> None:
        self.history.append(answer)
        try:
            self._give(answer)
        except Exception as error:
            self.error = error

    def note(self) -> None:
        """It is not compared with anything."""

    def close(self) -> None:
        if self._steps is not None:
            self._steps.close()

    @property
    def is_done(self) -> bool:
        return self.error is not None or self._steps is None or self._steps.is_done

    @property
    def effect(self) -> Any:
        assert self._steps is not None
        return self._steps.effect

    @property
    def result(self) -> Any:
        assert self._steps is not None
        return self._steps.result


class _Depth(NamedTuple):
    depth: int


class PlainSuspended(suspension.Suspended):
    """A coroutine that waits, by the text of all its answers."""

    __slots__ = ("answers", "text")

    def __init__(self, run: PlainRun, key: Key, make: Any, origin: Any) -> None:
        self.key, self.make, self.answers = key, make, tuple(run.history)
        self.effect = copy.deepcopy(run.effect)
        self.place = _Depth(len(self.answers))  # type: ignore[assignment]
        self.line, self.live = "", []
        self.text = f"{key} {text_of(origin)} {[text_of(tuple(answer)) for answer in self.answers]}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainSuspended) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class PlainSuspensions:
    """Nothing is remembered."""

    resumed = 0

    def __init__(self, _function: Any) -> None: ...

    def begin(self, make: Any) -> PlainRun:
        return PlainRun(make)

    def resume(self, suspended: PlainSuspended, answer: Any) -> PlainRun:
        run = PlainRun(suspended.make, suspended.answers)
        run.go_on(answer)
        return run

    def recall(self, _suspended: Any, _answer: Any, go: Callable[[], Any]) -> Any:
        return go()[0]

    def run_always(self) -> None: ...

    def suspend(self, run: PlainRun, key: Key, make: Any, origin: Any = None) -> PlainSuspended:
        return PlainSuspended(run, key, make, origin)

    def end(self, *_: Any) -> None: ...

    def check_guarded(self, *_: Any) -> None: ...


@pytest.fixture
def by_the_oracle(monkeypatch: pytest.MonkeyPatch) -> Callable[[World], Found]:
    def answer(world: World) -> Found:
        with monkeypatch.context() as patch:
            for module in (workers, background, externals, controller_memory):
                patch.setattr(module, "Kept", PlainKept, raising=False)
            patch.setattr(workers, "Suspensions", PlainSuspensions)
            patch.setattr(set_order_audit.OrderAudit, "finished", lambda *_: None)
            return found(world)

    return answer


class Found(NamedTuple):
    """What a check says that anybody can see: the verdicts, the numbers, and what was ever stored."""

    verdicts: tuple[str, ...]
    distinct: int
    generated: int
    stored: frozenset[Any]


def is_lucky(world: WorldState) -> bool:
    world.list(ConfigMap)
    return world.find(ConfigMap, Key("default", "c9")) is None


def random_world(seed: int) -> World:
    return World(
        controllers=[random_controller(seed)],
        objects=[pair()],
        users=[Edit(Pair, KEY, spec=[{"text": "y"}])],
        faults=Faults(crash=1) if seed % 3 == 0 else None,
        properties=[always(is_lucky, name="lucky")],
        bounds=Bounds(lag=1, answers=40),
    )


def found(world: World) -> Found:
    stored: set[Any] = set()

    def store(world: WorldState) -> None:
        stored.add(tuple((each.metadata.name, tuple(each.data.items())) for each in world.list(ConfigMap)))

    with telling(store):
        verdict = check(world, max_states=20_000)
    answers = tuple(each.verdict for each in verdict.properties)
    return Found(answers, verdict.distinct, verdict.generated, frozenset(stored))


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_controllers_have_the_worlds_of_an_explorer_that_shares_nothing(first: int, by_the_oracle: Any) -> None:
    for seed in range(first, first + 20):
        assert found(random_world(seed)) == by_the_oracle(random_world(seed)), f"seed {seed}"


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1_000, 4_000, 100))
def test_many_random_controllers_have_them_too(first: int, by_the_oracle: Any) -> None:
    for seed in range(first, first + 100):
        assert found(random_world(seed)) == by_the_oracle(random_world(seed)), f"seed {seed}"


def _forgets_answers(patch: pytest.MonkeyPatch) -> None:
    """Answers are told apart by their types only."""
    kept = snapshot.freeze
    patch.setattr(suspension, "freeze", lambda value: str(type(value[0])) if type(value) is tuple else kept(value))


def _takes_true_for_one(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(snapshot._FORMS, bool, snapshot._Form(lambda value, _: int(value)))


def _leaves_attributes_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(snapshot, "own_parts", lambda *_: [])


def _recalls_by_place_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(suspension, "_after", lambda place, answer, _: place.after(suspension.Answer(None)))


def _lets_live_ones_be_used_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        suspension.Suspended,
        "resume",
        lambda self: self.live[-1] if self.live else suspension.Run(self.make, self.place.answers),
    )


MUTANTS = [
    *(_forgets_answers, _takes_true_for_one, _leaves_attributes_out),
    *(_recalls_by_place_only, _lets_live_ones_be_used_twice),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__.strip("_"))
def test_a_mistake_in_the_checker_is_found(mutant: Any, by_the_oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(_is_noticed(seed, mutant, by_the_oracle, monkeypatch) for seed in _seeds()), "nobody notices it"


def _seeds() -> Iterator[int]:
    yield from range(30)


def _is_noticed(seed: int, mutant: Any, by_the_oracle: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    right = by_the_oracle(random_world(seed))
    with monkeypatch.context() as patch:
        mutant(patch)
        try:
            return bool(found(random_world(seed)) != right)
        except (SpecError, RuntimeError, AttributeError, TypeError):
            return True
