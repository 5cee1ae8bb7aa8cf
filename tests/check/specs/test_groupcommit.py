"""Writes of two servers that share transactions of one etcd: the rules that make it sound, and what breaks without."""

from __future__ import annotations

import pytest

from attractor.check.engine.selection import EngineName
from attractor.check.specs.groupcommit import GroupCommit
from tests.check.specs.pinned import Pinned, on_every_engine

FOUR_WRITES = {"homes": (0, 0, 1, 1), "reads": (("a",), ("b", "a"), ("b",), ("c", "b"))}
PINNED = [
    Pinned(GroupCommit, {}, (1_453, 3_904, 19)),
    Pinned(GroupCommit, FOUR_WRITES, (17_740, 55_552, 25)),
    Pinned(GroupCommit, {"is_serial": False}, (1_576, 4_204, 19), {"is_as_one_after_the_other": 4}),
    Pinned(GroupCommit, {"fails_together": True}, (1_461, 3_916, 19), {"refused_only_when_changed": 7}),
    Pinned(GroupCommit, {"one_revision": True}, (1_491, 3_965, 19), {"watcher_misses_nothing": 11}),
]


@pytest.mark.parametrize(("pinned", "engine"), on_every_engine(PINNED))
def test_writes_that_share_a_transaction_are_as_good_as_one_after_the_other(
    pinned: Pinned, engine: tuple[EngineName, int]
) -> None:
    assert not pinned.demand(engine).warnings
