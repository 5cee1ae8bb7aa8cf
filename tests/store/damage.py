"""Random damage of the files of a SQLite store, and what is known of the store before: an oracle for what may be served."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from attractor.store.contract import StoreError
from attractor.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

NAME = "store.db"
PARTS = (NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-mark")


class Known(NamedTuple):
    """What a store held when it was last seen: its newest revision, and every key with its value."""

    revision: int
    values: dict[str, bytes]


async def filled(directory: Path, rng: Random) -> Known:
    """Fill a store; its files are as ``kill -9`` leaves them, with some of it in the state and some in the log."""
    store = SqliteStore(directory / NAME, history_limit=rng.choice((20, 200)))
    for number in range(rng.randrange(100, 500)):
        key = f"/objects/{rng.randrange(60)}"
        if rng.random() < 0.2:
            await store.commit({}, puts={}, deletes={key})
        else:
            await store.commit({}, puts={key: rng.randbytes(rng.randrange(10, 2500)), "/count": b"%d" % number})
    if rng.random() < 0.5:
        await store.compact(store.revision - rng.randrange(20))
    known = Known(store.revision, {one.key: one.value for one in store.snapshot_nowait().range("")})
    if rng.random() < 0.7:  # as it is after a kill
        killed = directory / "killed"
        killed.mkdir()
        for part in PARTS:
            if (directory / part).exists():
                shutil.copyfile(directory / part, killed / part)
        await store.aclose()
        for part in PARTS:
            (directory / part).unlink(missing_ok=True)
            if (killed / part).exists():
                shutil.move(killed / part, directory / part)
    else:
        await store.aclose()
    return known


def damage(directory: Path, rng: Random) -> str:
    """Do one thing to one of the files; tells what."""
    part = rng.choice([name for name in PARTS if (directory / name).exists()])
    path = directory / part
    size = path.stat().st_size
    match rng.choice(("flip", "flip", "flip", "byte", "zero", "truncate", "delete", "append")):
        case "delete":
            path.unlink()
            return f"deleted {part}"
        case "truncate":
            cut = rng.choice((0, rng.randrange(size + 1)))
            os.truncate(path, cut)
            return f"cut {part} to {cut} of {size}"
        case "append":
            with path.open("ab") as file:
                file.write(rng.randbytes(rng.randrange(1, 9000)))
            return f"added to {part}"
        case how if size:
            at = rng.choice((rng.randrange(size), min(rng.randrange(200), size - 1)))
            length = min(rng.randrange(1, 5000), size - at) if how == "zero" else 1
            with path.open("r+b") as file:
                file.seek(at)
                was = file.read(length)
                new = {"flip": bytes([was[0] ^ 1 << rng.randrange(8)]), "byte": rng.randbytes(1), "zero": bytes(length)}
                file.seek(at)
                file.write(new[how])
            return f"{how} of {length} at {at} of {size} in {part}"
    return f"nothing to {part}, which is empty"


def opened(directory: Path) -> Known | str:
    """What a store serves now, or why it is refused; any other error is a bug."""
    try:
        store = SqliteStore(directory / NAME, history_limit=1000)
    except StoreError as error:
        return str(error)
    known = Known(store.revision, {one.key: one.value for one in store.snapshot_nowait().range("")})
    store.check_invariants()
    asyncio.run(store.aclose())
    return known
