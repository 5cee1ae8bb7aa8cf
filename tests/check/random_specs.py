"""Random small specifications: two numbers, a map, a set; guards, assignments, choices, parameters used in every way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from attractor.check import (
    Map,
    Spec,
    Subset,
    action,
    always,
    always_eventually,
    always_step,
    constraint,
    each,
    eventually,
    eventually_always,
    initial,
    leads_to,
    predicate,
    require,
    sometimes,
    subset,
    until,
    var,
)

if TYPE_CHECKING:
    from attractor.check.spec.spec import Step

KEYS = (0, 1, 2)
SIZE = 3

terms = st.one_of(
    st.just(("x",)),
    st.just(("y",)),
    st.tuples(st.just("m"), st.sampled_from(["w", 0, 1])),
    st.tuples(st.just("s"), st.sampled_from(["w", 0, 2])),
    st.just(("w",)),
    st.just(("sum",)),
    st.just(("count",)),
)
guards = st.tuples(terms, st.sampled_from(["==", "!=", "<"]), st.integers(0, 2))
expressions = st.one_of(
    st.tuples(st.just("add"), terms, st.integers(0, 2)),
    st.tuples(st.just("choose"), st.integers(1, 2)),
    st.tuples(st.just("if"), guards, st.integers(0, 2), st.integers(0, 2)),
)
targets = st.one_of(
    st.just(("x",)),
    st.just(("y",)),
    st.tuples(st.just("m"), st.sampled_from(["w", 0, 1])),
    st.tuples(st.just("s"), st.sampled_from(["w", 0, 2])),
)
actions = st.fixed_dictionaries(
    {
        "guards": st.lists(guards, max_size=3),
        "writes": st.lists(st.tuples(targets, expressions), max_size=3),
        "over": st.booleans(),
        "fair": st.sampled_from([None, "weak", "strong"]),
    }
)
programs = st.fixed_dictionaries(
    {
        "actions": st.lists(actions, min_size=1, max_size=4),
        "invariant": guards,
        "witness": guards,
        "judge": guards,
        "premise": guards,
        "promise": guards,
        "bound": st.one_of(st.none(), guards),
        "starts": st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=2),
        "keys": st.integers(2, 3),
        "remembered": st.booleans(),
    }
)


def value_of(self: Any, term: Any, w: Any) -> Any:
    match term:
        case ("x",):
            return int(self.x)
        case ("y",):
            return int(self.y)
        case ("m", key):
            return int(self.m[w if key == "w" else key])
        case ("s", key):
            return int((w if key == "w" else key) in self.s)
        case ("w",):
            return w + 0
        case ("sum",):
            return sum(self.m.values()) % SIZE
        case _:
            return len(self.s)


def holds(self: Any, guard: Any, w: Any) -> Any:
    term, operator, number = guard
    value = value_of(self, term, w)
    return {"==": value == number, "!=": value != number, "<": value < number}[operator]


def evaluate(self: Any, expression: Any, w: Any) -> Any:
    match expression:
        case ("add", term, number):
            return (value_of(self, term, w) + number) % SIZE
        case ("choose", count):
            return int(self.choose(range(count + 1)))
        case _:
            _, guard, yes, no = expression
            return yes if holds(self, guard, w) else no


def assign(self: Any, target: Any, value: int, w: Any) -> None:
    match target:
        case ("x",):
            self.x = value
        case ("y",):
            self.y = value
        case ("m", key):
            self.m[w if key == "w" else key] = value
        case (_, key):
            element = w if key == "w" else key
            if value:
                self.s.add(element)
            else:
                self.s.discard(element)


def make_action(program: Any, over: tuple[int, ...]) -> Any:
    def step(self: Any, w: Any = 0) -> None:
        for guard in program["guards"]:
            require(holds(self, guard, w))
        for target, expression in program["writes"]:
            assign(self, target, evaluate(self, expression, w), w)

    parameters = {"w": over} if program["over"] else {}
    return action(fair=program["fair"], **parameters)(step)


def make_spec(program: Any) -> Spec:
    """The specification class that ``program`` describes, instantiated."""
    keys = KEYS[: program["keys"]]

    class Body(Spec):
        x: int = var(0)
        y: int = var(0)
        m: Map[int, int] = each(keys, 0)
        s: Subset[int] = subset(KEYS)

        @initial
        def start(self) -> None:
            self.x, self.y = self.choose(program["starts"])

        @predicate
        def promised(self) -> bool:
            return bool(holds(self, program["promise"], 0))

        @always(w=keys)
        def invariant(self, w: int) -> bool:
            return bool(holds(self, program["invariant"], w))

        @sometimes
        def witness(self) -> bool:
            return bool(holds(self, program["witness"], 1))

        @always_step
        def judged(self, step: Step) -> bool:
            return bool(self.x <= step.after.x or holds(step.after, program["judge"], 0))

        reaches = eventually(promised)
        leads = leads_to(lambda self: holds(self, program["premise"], 0), promised)
        settles = eventually_always(promised)
        recurs = always_eventually(promised)
        holds_until = until(lambda self: holds(self, program["premise"], 0), promised)

    members: dict[str, Any] = {}
    for number, each_action in enumerate(program["actions"]):
        members[f"a{number}"] = make_action(each_action, keys)
    if program["remembered"]:
        # An action that asks a remembered predicate before it writes.
        def ask(self: Any) -> None:
            require(self.promised())
            self.y = 0

        members["ask"] = action(ask)
    if program["bound"] is not None:
        bound = program["bound"]
        members["bounded"] = constraint(lambda self: self.x == 0 or holds(self, bound, 0))
    made: type[Spec] = type("Random", (Body,), members)
    return made()
