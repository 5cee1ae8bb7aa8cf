"""Damage at rest: whatever happens to the files of a SQLite store, it is never served wrongly without a complaint."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from attractor.store.contract import StoreUnusable
from attractor.store.sqlite import SqliteStore
from attractor.store.sqlite.care import repair, verify
from tests.store.damage import NAME, Known, damage, filled, opened

if TYPE_CHECKING:
    from pathlib import Path


def hurt(tmp_path: Path, caplog: pytest.LogCaptureFixture, seeds: range) -> Counter[str]:
    """Damage stores, one for each ten seeds, in one or two ways, and compare what is served; counts what came of it."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        rng = Random(f"damage {seed}")
        whole = tmp_path / f"whole{seed // 10}"
        if not whole.exists():
            whole.mkdir()
            known = asyncio.run(filled(whole, Random(f"fill {seed // 10}")))
        hurt = tmp_path / f"hurt{seed}"
        shutil.copytree(whole, hurt)
        told = [damage(hurt, rng) for _ in range(rng.choice((1, 1, 2)))]
        caplog.clear()
        found = opened(hurt)
        complained = any(record.levelno >= logging.WARNING for record in caplog.records)
        if isinstance(found, str):
            outcomes["refused"] += 1
            assert "; " in found, f"seed {seed}, {told}: it does not say what to do: {found}"
            salvage(hurt, known, f"seed {seed}, {told}, {found}", outcomes)
        else:
            outcomes["served, with a complaint" if complained else "served"] += 1
            assert found == known or complained, f"seed {seed}, {told}: {found.revision} is served for {known.revision}"
        shutil.rmtree(hurt)
    return outcomes


def salvage(directory: Path, known: Known, told: str, outcomes: Counter[str]) -> None:
    """What repair keeps is what was written at some time, and it can be opened."""
    try:
        done = repair(directory / NAME)
    except StoreUnusable:
        outcomes["beyond repair"] += 1
        return
    verify(directory / NAME)
    found = opened(directory)
    assert isinstance(found, Known), f"{told}: it was repaired, and then: {found}"
    assert found.revision == done.begins_at > min(known.revision, done.begins_at - 1)
    if done.revision == known.revision and not done.damaged:
        assert found.values == known.values, f"{told}: the repair says that all is there"
    outcomes["repaired"] += 1


def test_a_hundred_kinds_of_damage_are_refused_or_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcomes = hurt(tmp_path, caplog, range(100))
    assert outcomes["refused"] > 30
    assert outcomes["repaired"] > 10


@pytest.mark.nightly
def test_a_thousand_kinds_of_damage_are_refused_or_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcomes = hurt(tmp_path, caplog, range(100, 1100))
    assert outcomes["refused"] > 300


async def written(path: Path, count: int = 300) -> None:
    store = SqliteStore(path)
    for number in range(count):
        await store.commit({}, puts={f"k{number}": b"%d" % number})
    await store.aclose()


async def killed(path: Path, tmp_path: Path) -> Path:
    """The files of a store as a kill leaves them."""
    store = SqliteStore(path)
    for number in range(300):
        await store.commit({}, puts={f"k{number}": b"%d" % number})
    copy = tmp_path / "killed"
    copy.mkdir()
    for part in path.parent.glob(f"{NAME}*"):
        shutil.copyfile(part, copy / part.name)
    await store.aclose()
    return copy / NAME


async def test_one_flipped_byte_in_the_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    path = await killed(tmp_path / NAME, tmp_path)
    wal = path.with_name(f"{NAME}-wal")
    text = bytearray(wal.read_bytes())
    text[len(text) // 3] ^= 4
    wal.write_bytes(text)
    with pytest.raises(
        StoreUnusable, match=r"up to revision 300 were acknowledged, and only those up to .*restore a backup"
    ):
        SqliteStore(path)
    assert wal.read_bytes() == text, "the evidence is left alone"


async def test_a_deleted_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    path = await killed(tmp_path / NAME, tmp_path)
    path.with_name(f"{NAME}-wal").unlink()
    with pytest.raises(StoreUnusable, match="up to revision 300 were acknowledged"):
        SqliteStore(path)


@pytest.mark.parametrize("gone", [True, False])
async def test_a_database_that_is_gone_or_empty_does_not_start_an_empty_cluster(tmp_path: Path, *, gone: bool) -> None:
    path = tmp_path / NAME
    await written(path)
    path.unlink() if gone else path.write_bytes(b"")
    with pytest.raises(StoreUnusable, match="empty or gone, and revision 300 was acknowledged; restore"):
        SqliteStore(path)


async def test_a_flipped_bit_in_a_value_is_not_served(tmp_path: Path) -> None:
    path = tmp_path / NAME
    store = SqliteStore(path)
    await store.commit({}, puts={"k": b"the value that somebody wants back"})
    await store.aclose()
    text = path.read_bytes()
    assert b"somebody" in text
    path.write_bytes(text.replace(b"somebody", b"somebodx"))
    with pytest.raises(StoreUnusable, match=r"damaged .*not as it was written.*store restore"):
        SqliteStore(path)


async def test_a_store_without_its_mark_is_refused_and_can_be_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / NAME
    await written(path)
    path.with_name(f"{NAME}-mark").unlink()
    with pytest.raises(StoreUnusable, match=r"mark store\.db-mark is missing.*store repair"):
        SqliteStore(path)
    done = repair(path)
    assert (done.revision, done.entries, done.acknowledged) == (300, 300, None)
    assert done.kept is not None
    assert (done.kept / NAME).exists()
    store = SqliteStore(path)
    assert store.revision > 300, "revisions are not used twice"
    assert store.snapshot_nowait().count("k") == 300
    await store.aclose()
