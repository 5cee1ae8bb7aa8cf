"""The layer beneath the vocabulary: models built by programs, with slots that appear while they are explored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import check
from attractor.check.engine.exploration import Settings
from attractor.check.engine.liveness import Query
from attractor.check.engine.model import AFTER, Domain, Fairness, Model
from attractor.check.engine.selection import explore, runs_of
from attractor.check.errors import Disabled, SpecError
from attractor.check.spec.properties import Case, Property

if TYPE_CHECKING:
    from attractor.check.engine.execution import Execution

ENGINES: list[dict[str, Any]] = [
    {"engine": "python"},
    {"engine": "native", "threads": 1},
    {"engine": "native", "threads": 2},
]


class Objects:
    """A store whose objects have a slot each, added when an object is first named."""

    def __init__(self, names: int, versions: int) -> None:
        self.model = model = Model("objects")
        self.refs: dict[str, int] = {}
        self.versions = versions
        self.clock = model.add_slot("clock", 0)
        model.add_initial({})
        model.add_actions("put", self.put, [(("name", f"obj{n}"),) for n in range(names)])
        model.add_actions("tick", self.tick)
        (self.full,) = model.add_predicates("full", self.is_full)
        (late,) = model.add_predicates("late", lambda view: view.read(self.clock) != 1)
        model.properties.append(Property("on_time", "always", (Case((), (late,)),)))
        model.properties.append(Property("fills", "eventually", (Case((), (self.full,)),)))
        model.fairness += [Fairness(action.label, (action.index,)) for action in model.actions if action.name == "put"]
        self.names = names

    def slot(self, name: str) -> int:
        if name not in self.refs:
            self.refs[name] = self.model.add_slot("object", None, key=name, keyed=True)
        return self.refs[name]

    def put(self, view: Execution, name: Any) -> None:
        version = view.read(self.slot(str(name)))
        if version == (self.versions,):
            raise Disabled
        view.write(self.slot(str(name)), ((version or (0,))[0] + 1,))

    def tick(self, view: Execution) -> None:
        view.write(self.clock, 1 - view.read(self.clock))

    def is_full(self, view: Execution) -> bool:
        return all(view.read(self.slot(f"obj{n}")) == (self.versions,) for n in range(self.names))

    def compile(self) -> Model:
        return self.model


@pytest.mark.parametrize("engine", ENGINES)
def test_slots_that_appear_during_exploration_keep_states_apart_and_together(engine: dict[str, Any]) -> None:
    verdict = check(Objects(names=3, versions=2), **engine)
    assert verdict.spec == "objects"
    assert verdict.distinct == 3**3 * 2
    assert verdict.generated == 1 + 3**3 * 2 + 2 * 3 * 2 * 3**2
    assert verdict["fills"].verdict == "holds"
    assert verdict.assert_violated("on_time").actions == ("tick",)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_outgrows_one_word_and_then_two(engine: dict[str, Any]) -> None:
    model = Model("wide")
    slots = [model.add_slot("digit", 0, key=n, keyed=True) for n in range(24)]
    model.add_initial({})

    def carry(view: Execution) -> None:
        """Count in base 50, so that every digit takes six bits once it is used."""
        for slot in slots:
            value = view.read(slot)
            if value < 49:
                view.write(slot, value + 1)
                return
            view.write(slot, 0)

    def jump(view: Execution) -> None:
        if view.read(slots[0]) != 5:
            raise Disabled
        digit = view.choose(range(24))
        for slot in slots[: digit + 1]:
            view.write(slot, 7 + digit)

    model.add_actions("carry", carry)
    model.add_actions("jump", jump)
    settings = Settings(max_depth=60, threads=engine.get("threads", 1))
    exploration, _ = explore(model, settings, engine["engine"])
    reference, _ = explore(model, Settings(max_depth=60), "python")
    assert exploration.counts.distinct == reference.counts.distinct
    assert exploration.counts.generated == reference.counts.generated
    states = {exploration.state(index) for index in range(exploration.counts.distinct)}
    assert states == {reference.state(index) for index in range(reference.counts.distinct)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_path_leads_from_an_initial_state_to_every_state(engine: dict[str, Any]) -> None:
    exploration, _ = explore(Objects(3, 2).compile(), Settings(threads=engine.get("threads", 1)), engine["engine"])
    graph = exploration.graph()
    for index in range(exploration.counts.distinct):
        parent = exploration.parent(index)
        if parent is None:
            assert index in exploration.initial()
        else:
            assert index in graph.targets[graph.offsets[parent] : graph.offsets[parent + 1]]


@pytest.mark.parametrize("engine", ENGINES)
def test_edges_are_the_steps(engine: dict[str, Any]) -> None:
    exploration, _ = explore(Objects(2, 2).compile(), Settings(threads=engine.get("threads", 1)), engine["engine"])
    graph = exploration.graph()
    assert graph.offsets[-1] == exploration.counts.generated - 1
    for index in range(exploration.counts.distinct):
        edges = range(graph.offsets[index], graph.offsets[index + 1])
        found = sorted((graph.actions[e], exploration.state(graph.targets[e])) for e in edges)
        assert found == sorted(exploration.successors(index))


@pytest.mark.parametrize("engine", ENGINES)
def test_shortest_runs_go_through_allowed_states_only(engine: dict[str, Any]) -> None:
    store = Objects(2, 2)
    exploration, _ = explore(store.compile(), Settings(threads=engine.get("threads", 1)), engine["engine"])
    runs = runs_of(exploration)
    count = exploration.counts.distinct
    still = bytearray(exploration.state(index)[store.clock] == 0 for index in range(count))
    path = runs.shortest(Query(still, still), exploration.mask(store.full))
    assert path is not None
    assert len(path) == 5
    assert all(still[index] for index in path)
    nowhere = bytearray(count)
    assert runs.shortest(Query(still, still), nowhere) is None


class Fifo:
    """A queue of ``size`` places that is shifted without being looked at; ``copies`` False: by reading and writing."""

    def __init__(self, size: int, *, copies: bool) -> None:
        self.model = model = Model("fifo")
        domain = Domain("place")
        self.places = [model.add_slot("place", None, key=n, keyed=True, domain=domain) for n in range(size)]
        self.seen = model.add_slot("seen", None, domain=domain)
        model.add_initial({})
        model.add_actions("push", self.push, [(("letter", letter),) for letter in "abc"])
        model.add_actions("shift", self.shift)
        self.copies = copies

    def push(self, view: Execution, letter: Any) -> None:
        view.write(self.places[-1], str(letter))

    def shift(self, view: Execution) -> None:
        for to, source in zip([self.seen, *self.places], self.places, strict=False):
            if self.copies:
                view.copy(to, source)
            else:
                view.write(to, view.read(source))
        view.write(self.places[-1], None)
        if view.read(self.seen) == "c":  # reading a copy looks at what was copied
            view.write(self.seen, "a")

    def compile(self) -> Model:
        return self.model


@pytest.mark.parametrize("engine", ENGINES)
def test_copying_a_slot_is_reading_and_writing_it_with_fewer_executions(engine: dict[str, Any]) -> None:
    copied, written = check(Fifo(3, copies=True), **engine), check(Fifo(3, copies=False), **engine)
    assert (copied.distinct, copied.generated) == (written.distinct, written.generated) == (4**3 * 3, 1 + 4**3 * 3 * 4)
    executed = {
        name: {each.name: each.executed for each in verdict.coverage}["shift"]
        for name, verdict in (("copied", copied), ("written", written))
    }
    assert executed["copied"] == 4
    assert executed["written"] == 4**3


def test_copying_between_slots_of_different_domains_is_refused() -> None:
    model = Model("domains")
    one, other = model.add_slot("one", 0), model.add_slot("other", 0)
    model.add_initial({})
    model.add_actions("mix", lambda view: view.copy(one, other))
    with pytest.raises(SpecError, match="mix copies other to one, which has another domain"):
        explore(model, Settings(), "python")


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_predicate_that_judges_steps_has_no_value_in_one_state(engine: Any) -> None:
    objects = Objects(names=1, versions=1)
    model = objects.model
    (grows,) = model.add_predicates("grows", lambda view: view.read(objects.clock | AFTER) >= view.read(objects.clock))
    judges = {action.index: grows for action in model.actions}
    model.properties.append(Property("grows", "always_step", (Case(steps=judges),)))
    exploration, _ = explore(model, Settings(), engine)
    with pytest.raises((SpecError, ValueError), match=r"judges steps|of one state"):
        exploration.mask(grows)
