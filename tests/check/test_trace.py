"""Counterexamples as artefacts: what they hold, how they print, and that they survive JSON."""

from __future__ import annotations

import enum
import json
from typing import NamedTuple

import pytest

from attractor.check import Bag, FrozenMap, NotShown, Record, SpecError, Trace, check
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.philosophers import Philosophers
from attractor.check.trace import difference, plain, short


class Colour(enum.Enum):
    RED = 1


class Request(NamedTuple):
    kind: str
    name: str


class Point(Record):
    x: int = 0
    tags: frozenset[str] = frozenset()


def test_a_trace_survives_json() -> None:
    trace = check(Irsa(workers=1)).assert_violated("deadlock")
    again = Trace.from_json(json.loads(json.dumps(trace.to_json())))
    assert again == trace
    assert again.text() == trace.text()


def test_a_trace_prints_only_what_changed() -> None:
    trace = check(Irsa(workers=1), engine="python").assert_violated("deadlock")
    text = trace.text().splitlines()
    step = text.index("  2. get(0)")
    assert text[step + 1 : step + 6] == [
        '       wq.dirty: ["irsa"] -> []',
        '       wq.processing: [] -> ["irsa"]',
        '       wq.queue: ["irsa"] -> []',
        "       worker[0].idle: true -> false",
        "       worker[0].req: null -> irsa",
    ]


def test_the_states_of_a_trace_follow_from_its_steps() -> None:
    trace = check(Philosophers(seats=3, polite=False)).assert_violated("deadlock")
    states = list(trace.states())
    assert len(states) == len(trace) + 1
    assert states[0] == trace.initial
    assert [states[-1][f"at[{p}]"] for p in range(3)] == ["holding"] * 3


def test_a_lasso_says_where_it_returns_to() -> None:
    stuck = check(Philosophers(seats=3, polite=False)).assert_violated("none_starves")
    assert stuck.text().endswith("and then nothing more happens, for ever")


def test_a_failing_assertion_shows_verdict_and_trace() -> None:
    with pytest.raises(NotShown) as failure:
        check(Philosophers(seats=3, polite=False)).assert_holds()
    text = str(failure.value)
    assert "violated: deadlock after 6 steps" in text
    assert "  6. take_first" in text
    with pytest.raises(NotShown, match="property `eats` is not violated"):
        check(Philosophers(seats=3)).assert_violated("eats")
    with pytest.raises(KeyError, match="has no property 'speed'"):
        check(Philosophers(seats=3))["speed"]


def test_a_verdict_is_one_json_object() -> None:
    data = json.loads(json.dumps(check(Irsa(workers=1)).to_json()))
    assert {key: data[key] for key in ("spec", "verdict", "distinct", "generated", "depth")} == {
        "spec": "Irsa(workers=1)",
        "verdict": "violated",
        "distinct": 319,
        "generated": 575,
        "depth": 50,
    }
    assert {"name", "verdict", "vacuous", "trace"} <= set(data["properties"][0])


def test_values_become_json_without_losing_their_shape() -> None:
    value = (Point(x=1, tags=frozenset({"b", "a"})), FrozenMap({Colour.RED: 2}), Bag("ba"), None, 1.5, object)
    assert plain(value)[:-1] == [{"x": 1, "tags": ["a", "b"]}, {"Colour.RED": 2}, ["a", "b"], None, 1.5]
    assert plain(Colour.RED) == "RED"


def test_a_named_tuple_shows_which_of_its_fields_changed() -> None:
    before, after = plain(Request(kind="pod", name="a")), plain(Request(kind="pod", name="b"))
    assert before == {"kind": "pod", "name": "a"}
    assert list(difference("request", before, after)) == ["request.name: a -> b"]


def test_what_is_not_a_trace_is_refused() -> None:
    with pytest.raises(SpecError, match="this is not a trace"):
        Trace.from_json({"steps": [{"action": "x"}]})


def test_texts_that_could_be_taken_for_something_else_are_quoted() -> None:
    assert [short(each) for each in ("", "1", 1, "null", None, "has read", " a", "True")] == [
        '""',
        '"1"',
        "1",
        '"null"',
        "null",
        "has read",
        '" a"',
        "True",
    ]


def test_a_record_that_changes_only_its_type_is_not_said_to_stay() -> None:
    assert list(difference("x", {"a": 0}, {"a": 0})) == ['x: {"a": 0}, of another type']
