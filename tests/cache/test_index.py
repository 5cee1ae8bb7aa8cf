"""The indexer against brute force."""

import orjson
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from attractor.cache.index import Indexer
from attractor.client.kinds import EncodedObject
from attractor.objects.gvk import Key

KEYS = st.sampled_from([Key("n", name) for name in "abcd"])
COLOURS = st.lists(st.sampled_from(["red", "green", "blue"]))


class AgainstBruteForce(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.indexer = Indexer(lambda obj: orjson.loads(obj.json), {"colours": lambda value: value["colours"]})
        self.oracle: dict[Key, list[str]] = {}
        self.has_second = False

    @rule(key=KEYS, colours=COLOURS)
    def put(self, key: Key, colours: list[str]) -> None:
        self.indexer.put(EncodedObject(key, "u", "1", orjson.dumps({"colours": colours})))
        self.oracle[key] = colours

    @rule(key=KEYS)
    def discard(self, key: Key) -> None:
        self.indexer.discard(key)
        self.oracle.pop(key, None)

    @rule()
    def add_index(self) -> None:
        if not self.has_second:
            self.indexer.add_index("count", lambda value: [str(len(value["colours"]))])
            self.has_second = True

    @invariant()
    def they_agree(self) -> None:
        self.indexer.check_invariants()
        for colour in ("red", "green", "blue"):
            assert self.indexer.keys("colours", colour) == {k for k, has in self.oracle.items() if colour in has}
        if self.has_second:
            assert self.indexer.keys("count", "2") == {k for k, has in self.oracle.items() if len(has) == 2}


TestAgainstBruteForce = AgainstBruteForce.TestCase


def test_an_index_function_that_fails_changes_nothing() -> None:
    indexer = Indexer(lambda obj: orjson.loads(obj.json), {"x": lambda value: [value["x"]]})
    indexer.put(EncodedObject(Key("n", "a"), "u", "1", b'{"x":"1"}'))
    with pytest.raises(KeyError):
        indexer.put(EncodedObject(Key("n", "a"), "u", "2", b"{}"))
    assert indexer.keys("x", "1") == {Key("n", "a")}
    indexer.check_invariants()


def test_one_name_cannot_stand_for_two_functions() -> None:
    def first(value: object) -> list[str]:
        return []

    indexer = Indexer(lambda obj: obj, {"x": first})
    indexer.add_index("x", first)
    with pytest.raises(ValueError, match="another function"):
        indexer.add_index("x", lambda value: [])
