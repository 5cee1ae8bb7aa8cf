"""The words of a specification: what each means, and what the checker says when it is used wrongly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from attractor.check import (
    Bag,
    FrozenMap,
    ImpureStep,
    Map,
    MutationError,
    Record,
    Spec,
    SpecError,
    Step,
    Subset,
    ValueNotHashable,
    action,
    always,
    always_step,
    check,
    constant,
    constraint,
    each,
    eventually,
    initial,
    leads_to,
    predicate,
    refines,
    require,
    sometimes,
    strong,
    subset,
    terminal,
    var,
    weak,
)

ENGINES = ["python", "native"]


class Box(Record):
    lid: str = "closed"
    inside: int = 0


@pytest.mark.parametrize("engine", ENGINES)
def test_several_initial_states_are_all_explored(engine: Any) -> None:
    class Start(Spec):
        n: int = var(0)
        m: int = var(0)

        @initial
        def anywhere(self) -> None:
            self.n = self.choose((1, 2, 3))
            require(self.n != 2)

        @action
        def stay(self) -> None:
            pass

    verdict = check(Start(), engine=engine)
    assert (verdict.distinct, verdict.generated, verdict.depth) == (2, 4, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_choice_takes_every_option_and_none_disables(engine: Any) -> None:
    class Chooser(Spec):
        bag: Bag[str] = var(Bag("aab"))

        @action
        def take(self) -> None:
            self.bag = self.bag.remove(self.choose(self.bag.distinct()))

        @terminal
        def empty(self) -> bool:
            return not len(self.bag)

    verdict = check(Chooser(), engine=engine).assert_holds()
    assert (verdict.distinct, verdict.generated) == (6, 8)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_chosen_is_in_the_trace(engine: Any) -> None:
    class Dice(Spec):
        total: int = var(0)

        @action
        def roll(self) -> None:
            require(self.total == 0)
            self.total = self.choose(range(1, 7)) + self.choose({10, 20})

        @always
        def low(self) -> bool:
            return self.total != 23

    trace = check(Dice(), engine=engine, deadlock=False).assert_violated("low")
    assert trace.actions == ("roll: 3, 20",)


@pytest.mark.parametrize("engine", ENGINES)
def test_states_outside_a_constraint_are_left_out_and_said_so(engine: Any) -> None:
    class Counter(Spec):
        n: int = var(0)

        @action
        def up(self) -> None:
            self.n += 1

        @constraint
        def small(self) -> bool:
            return self.n < 10

        @always
        def under_ten(self) -> bool:
            return self.n < 10

    verdict = check(Counter(), engine=engine)
    assert (verdict.distinct, verdict.generated) == (10, 11)
    assert [(each.name, each.text) for each in verdict.binding] == [("small", "the constraint small")]
    assert len(verdict.assert_violated("under_ten")) == 10


@pytest.mark.parametrize("engine", ENGINES)
def test_specs_side_by_side_share_variables_by_name(engine: Any) -> None:
    class Producer(Spec):
        queue: tuple[int, ...] = var(())
        made: int = var(0)

        @action
        def produce(self) -> None:
            require(self.made < 2)
            self.made += 1
            self.queue = (*self.queue, self.made)

    class Consumer(Spec):
        queue: tuple[int, ...] = var(())
        eaten: int = var(0)

        @action
        def consume(self) -> None:
            require(self.queue)
            self.eaten = self.queue[0]
            self.queue = self.queue[1:]

        @always
        def in_order(self) -> bool:
            return list(self.queue) == sorted(self.queue)

    verdict = check(Producer() | Consumer(), engine=engine)
    assert verdict.spec == "Producer() | Consumer()"
    assert verdict.distinct == 6
    assert verdict["in_order"].verdict == "holds"
    assert verdict["deadlock"].verdict == "violated"


def test_a_subclass_overrides_an_action_and_keeps_its_declaration() -> None:
    class Base(Spec):
        keys: int = constant(2)
        at: Map[int, int] = each(keys, 0)

        @action(k=keys, fair="weak")
        def go(self, k: int) -> None:
            require(self.at[k] == 0)
            self.at[k] = 1

        arrives = eventually(lambda self: all(self.at[k] == 1 for k in self.at))

    class Lazy(Base):
        def go(self, k: int) -> None:
            require(self.at[k] == 0 and k == 0)
            self.at[k] = 1

    assert check(Base(), deadlock=False).verdict == "holds"
    assert check(Lazy(), deadlock=False)["arrives"].verdict == "violated"
    assert len(Lazy(keys=3).compile().actions) == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_set_variable_has_a_slot_for_each_element(engine: Any) -> None:
    class Guests(Spec):
        here: Subset[str] = subset(("ann", "bob", "cid"), initial=("ann",))

        @action(g=("ann", "bob", "cid"))
        def swap(self, g: str) -> None:
            if g in self.here:
                self.here.discard(g)
            else:
                self.here.add(g)

        @sometimes
        def nobody(self) -> bool:
            return not len(self.here)

        @sometimes
        def all_three(self) -> bool:
            return set(self.here) == {"ann", "bob", "cid"}

    verdict = check(Guests(), engine=engine).assert_holds()
    assert (verdict.distinct, verdict.generated) == (8, 25)
    assert len(verdict["nobody"].trace or ()) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_property_sees_both_states_and_the_action(engine: Any) -> None:
    class Tank(Spec):
        level: int = var(0)

        @action
        def fill(self) -> None:
            require(self.level < 3)
            self.level += 1

        @action
        def drain(self) -> None:
            require(self.level > 0)
            self.level = 0

        @always_step
        def never_jumps(self, step: Step) -> bool:
            return bool(abs(step.after.level - self.level) <= 1)

        @always_step(actions=["fill"])
        def filling_raises(self, step: Step) -> bool:
            return bool(step.after.level == self.level + 1)

    verdict = check(Tank(), engine=engine)
    assert verdict.assert_violated("never_jumps").actions == ("fill", "fill", "drain")
    assert verdict["filling_raises"].verdict == "holds"


@pytest.mark.parametrize("engine", ENGINES)
def test_refinement_maps_every_step_to_a_step_or_to_none(engine: Any) -> None:
    class Hours(Spec):
        hour: int = var(0)

        @action
        def tick(self) -> None:
            self.hour = (self.hour + 1) % 3

    class Clock(Spec):
        skip: int = constant(1)
        late: int = constant(0)
        h: int = var(lambda spec: spec.late)
        m: int = var(0)

        @action
        def minute(self) -> None:
            if self.m < 2:
                self.m += 1
            else:
                self.m = 0
                self.h = (self.h + self.skip) % 3

        @refines(Hours())
        def as_hours(self) -> dict[str, int]:
            return {"hour": self.h}

    check(Clock(), engine=engine).assert_holds()
    assert len(check(Clock(skip=2), engine=engine).assert_violated("as_hours")) == 3
    assert len(check(Clock(late=1), engine=engine).assert_violated("as_hours")) == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_fairness_of_a_group_is_weaker_than_of_each(engine: Any) -> None:
    class Servers(Spec):
        count: int = constant(2)
        done: Map[int, bool] = each(count, False)
        beat: int = var(0)

        @action(s=count)
        def serve(self, s: int) -> None:
            self.done[s] = True

        @action
        def rest(self) -> None:
            self.beat = 1 - self.beat

        some_served = eventually(lambda self: any(self.done.values()))
        all_served = eventually(lambda self: all(self.done.values()))

    class One(Servers):
        one_of_them = weak("serve")

    class Every(Servers):
        each_of_them = weak("serve", per=("s",))

    def answers(spec: Spec) -> tuple[str, str]:
        verdict = check(spec, engine=engine)
        return verdict["some_served"].verdict, verdict["all_served"].verdict

    assert answers(Servers()) == ("violated", "violated")
    assert answers(One()) == ("holds", "holds")
    assert answers(Every()) == ("holds", "holds")


@pytest.mark.parametrize("engine", ENGINES)
def test_strong_fairness_takes_what_is_enabled_again_and_again(engine: Any) -> None:
    class Door(Spec):
        open: bool = var(False)
        inside: bool = var(False)

        @action(fair="weak")
        def swing(self) -> None:
            self.open = not self.open

        @action
        def enter(self) -> None:
            require(self.open and not self.inside)
            self.inside = True

        entered = eventually(lambda self: self.inside)

    class Weak(Door):
        push = weak("enter")

    class Strong(Door):
        push = strong("enter")

    assert len(check(Weak(), engine=engine).assert_violated("entered")) == 2
    check(Strong(), engine=engine).assert_holds()


@pytest.mark.parametrize("engine", ENGINES)
def test_vacuity_is_reported_with_its_reason(engine: Any) -> None:
    class Quiet(Spec):
        n: int = var(0)

        @action(fair="weak")
        def tick(self) -> None:
            self.n = 1 - self.n

        @action(fair="weak")
        def never(self) -> None:
            require(self.n > 1)

        @always
        def guarded(self) -> bool:
            require(self.n == 7)
            return False

        @always
        def plain(self) -> bool:
            return self.n < 2

        follows = leads_to(lambda self: self.n == 5, lambda self: self.n == 0)
        already = leads_to(lambda self: self.n == 1, lambda self: self.n < 2)

        @sometimes
        def five(self) -> bool:
            return self.n == 5

    verdict = check(Quiet(), engine=engine)
    assert "true in no reached state" in (verdict["guarded"].vacuous or "")
    assert verdict["plain"].vacuous is None
    assert "premise is true in no reached state" in (verdict["follows"].vacuous or "")
    assert "already true" in (verdict["already"].vacuous or "")
    assert verdict["five"].verdict == "violated"
    assert any("action never is never taken" in warning for warning in verdict.warnings)
    assert any("fairness of never never matters" in warning for warning in verdict.warnings)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_remembered_predicate_is_read_as_one_bit(engine: Any) -> None:
    class Wide(Spec):
        parts: Map[int, int] = each(6, 0)
        alarm: bool = var(False)

        @predicate(p=6)
        def high(self, p: int) -> bool:
            return self.parts[p] >= 2

        @predicate
        def any_high(self) -> bool:
            return any(self.high(p) for p in range(6))

        @action(p=6)
        def bump(self, p: int) -> None:
            require(self.parts[p] < 2)
            self.parts[p] += 1

        @action
        def ring(self) -> None:
            require(self.any_high())
            self.alarm = True

    verdict = check(Wide(), engine=engine, deadlock=False)
    assert verdict.distinct == 3**6 * 2 - 2**6
    assert {c.name: c.executed for c in verdict.coverage} == {"bump": 3, "ring": 2}


# Wrong use


def test_changing_a_record_in_place_names_the_line() -> None:
    class Wrong(Spec):
        box: Box = var(Box())

        @action
        def open(self) -> None:
            self.box.lid = "open"  # type: ignore[misc]

    with pytest.raises(MutationError, match=r"test_vocabulary\.py:\d+.*but\(lid='open'\)"):
        check(Wrong())


def test_a_value_without_a_hash_names_the_line_and_the_variable() -> None:
    class Wrong(Spec):
        items: Any = var(())

        @action
        def add(self) -> None:
            self.items = [*self.items, 1]

    with pytest.raises(ValueNotHashable, match=r"test_vocabulary\.py:\d+: `items` was given \[1\].*use a tuple"):
        check(Wrong())


def test_hidden_state_is_refused() -> None:
    class Wrong(Spec):
        n: int = var(0)

        @action
        def tick(self) -> None:
            self.calls = 1

    with pytest.raises(MutationError, match=r"`self\.calls` is not a variable of Wrong"):
        check(Wrong())


def test_assigning_a_constant_is_refused() -> None:
    class Wrong(Spec):
        limit: int = constant(1)

        @action
        def grow(self) -> None:
            self.limit = 2

    with pytest.raises(MutationError, match="`limit` is a constant"):
        check(Wrong())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_with_hidden_state_is_reported(engine: Any) -> None:
    counter = itertools.count()

    class Wrong(Spec):
        n: int = var(0)
        m: int = var(0)

        @action
        def up(self) -> None:
            self.n = (self.n + 1) % 30

        @action
        def count(self) -> None:
            require(self.n == 3)
            self.m = next(counter) % 3

    with pytest.raises(ImpureStep, match=r"test_vocabulary.py:\d+: count gave two different results"):
        check(Wrong(), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_changes_after_it_became_state_is_reported(engine: Any) -> None:
    class Mutable:
        def __init__(self) -> None:
            self.n = 0

        def __hash__(self) -> int:
            return hash(self.n)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Mutable) and self.n == other.n

    class Wrong(Spec):
        thing: Any = var(lambda _: Mutable())
        beat: int = var(0)

        @action
        def tick(self) -> None:
            self.beat = (self.beat + 1) % 3
            self.thing.n += 1

    with pytest.raises(MutationError, match="`thing` was changed after it became part of a state"):
        check(Wrong(), engine=engine)


def test_a_predicate_may_not_write() -> None:
    class Wrong(Spec):
        n: int = var(0)

        @action
        def tick(self) -> None:
            self.n = 1 - self.n

        @always
        def sneaky(self) -> bool:
            self.n = 5
            return True

    with pytest.raises(SpecError, match="may only look at the state"):
        check(Wrong())


def test_unknown_constants_properties_and_keys_are_named() -> None:
    class Small(Spec):
        size: int = constant(2)
        at: Map[int, int] = each(size, 0)

        @action
        def wrong(self) -> None:
            self.at[7] = 1

    with pytest.raises(SpecError, match="has no constant sise; it has: size"):
        Small(sise=3)
    with pytest.raises(SpecError, match="has no property speed; it has: none"):
        check(Small(), properties=["speed"])
    with pytest.raises(SpecError, match=r"test_vocabulary\.py:\d+: `at` has no 7; it has: 0, 1"):
        check(Small())


def test_an_impossible_beginning_is_refused() -> None:
    class Nowhere(Spec):
        n: int = var(0)

        @initial
        def start(self) -> None:
            require(self.n > 0)

    with pytest.raises(SpecError, match="has no initial state"):
        check(Nowhere())


def test_values_say_what_they_are() -> None:
    bag = Bag("ab").add("a")
    assert (repr(bag), bag.count("a"), len(bag.remove("a"))) == ("Bag(['a', 'a', 'b'])", 2, 2)
    with pytest.raises(KeyError):
        bag.remove("z")
    mapping: FrozenMap[str, int] = FrozenMap({"b": 1}).with_("a", 2)
    assert (repr(mapping), mapping.without("b"), len(mapping)) == ("{'a': 2, 'b': 1}", FrozenMap({"a": 2}), 2)
    with pytest.raises(MutationError, match=r"test_vocabulary\.py:\d+"):
        mapping["a"] = 3
    assert len({FrozenMap({"a": 1}), FrozenMap({"a": 1}), Bag("a"), Bag("a")}) == 2


@pytest.mark.parametrize(("name", "what"), [("name", "an attribute"), ("choose", "a method"), ("view", "an attribute")])
def test_a_declaration_may_not_hide_what_every_specification_has(name: str, what: str) -> None:
    with pytest.raises(SpecError, match=rf"Hiding declares `{name}`, which every specification has as {what}"):
        type("Hiding", (Spec,), {name: var(0)})


def test_a_function_that_would_always_count_as_true_is_refused() -> None:
    async def later(self: object) -> bool:
        return False

    def yields(self: object) -> Iterator[bool]:
        yield False

    for declare in (action, always, sometimes, initial, eventually):
        for function in (later, yields):
            with pytest.raises(SpecError, match="it is `async` or yields; write a plain `def`"):
                declare(function)


class Growing(Spec):
    """A number that grows, or rests for good; it is looked at up to a limit."""

    rests: bool = constant(False)
    n: int = var(0)
    resting: bool = var(False)

    @action(fair="weak")
    def grow(self) -> None:
        require(not self.resting)
        self.n += 1

    @action(when=rests)
    def rest(self) -> None:
        self.resting = True

    @constraint
    def small(self) -> bool:
        return self.n < 3

    arrives = eventually(lambda self: self.n == 10 or self.resting)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_promise_that_holds_since_every_fair_run_leaves_the_constraint_is_vacuous(engine: Any) -> None:
    found = check(Growing(), engine=engine)["arrives"]
    assert found.verdict == "holds within"
    assert found.vacuous == "every fair run leaves the constraint, so no run is left that could break it"


@pytest.mark.parametrize("engine", ENGINES)
def test_states_from_which_every_fair_run_leaves_the_constraint_are_counted(engine: Any) -> None:
    class Leaving(Growing):
        leaves: bool = var(False)

        def grow(self) -> None:
            require(self.leaves)
            self.n += 1

        @action
        def start(self) -> None:
            self.leaves = True

    verdict = check(Leaving(), engine=engine)
    assert "from 3 of 4 states every fair run leaves the constraint: promises do not speak of those" in verdict.warnings
    assert verdict["arrives"].verdict == "violated"
