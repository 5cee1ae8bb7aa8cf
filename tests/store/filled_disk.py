"""A process for the disk-full test; it has a mount namespace of its own, so that nothing is left behind.

Argument: a directory to mount a small disk on. Exits with 0 if the store behaved.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from attractor.store.contract import StoreFull
from attractor.store.sqlite import SqliteStore


async def make_room(store: SqliteStore, written: list[int]) -> None:
    """Deletes go on, beside writers who take all room there is, until what was deleted is room enough again."""
    refused, new = 0, []

    async def write(name: str) -> None:
        nonlocal refused
        try:
            await store.commit({}, puts={name: bytes(9000)})
            new.append(name)
        except StoreFull:
            refused += 1

    for number in [written.pop() for _ in range(len(written) // 2)]:
        async with asyncio.TaskGroup() as group:
            for name in ("a", "b", "c"):
                group.create_task(write(f"new/{number}/{name}"))
            group.create_task(deleted(store, {f"left/{number}", f"right/{number}"}))
    assert refused, "there was room all the time"
    for name in new:
        await deleted(store, {name})
    assert await store.commit({}, puts={"large": bytes(30_000)}) == store.revision, "what was deleted is no room"
    await store.commit({}, puts={}, deletes={"large"})


async def deleted(store: SqliteStore, keys: set[str]) -> None:
    """A client that asks again when it was refused together with another one."""
    for _ in range(3):
        try:
            await store.commit({}, puts={}, deletes=keys)
        except StoreFull:
            continue
        return
    raise AssertionError("a delete was refused for good")


async def main(directory: Path) -> None:
    store = SqliteStore(directory / "store.db")
    (directory / "ballast").write_bytes(bytes(1_500_000))
    written: list[int] = []
    refused = ""
    try:
        while len(written) < 1000:
            await store.commit({}, puts={f"left/{len(written)}": bytes(3000), f"right/{len(written)}": bytes(3000)})
            written.append(len(written))
    except StoreFull as full:
        refused = str(full)
    assert "store.db" in refused, refused
    assert 0 < len(written) < 1000, "the disk did not get full"
    assert store.snapshot_nowait().count("") == 2 * len(written), "half a write is there"
    assert store.revision == len(written)
    await make_room(store, written)
    (directory / "ballast").unlink()
    assert await store.commit({}, puts={"after": b""}) == store.revision, "it is durable"
    await store.aclose()
    store = SqliteStore(directory / "store.db")
    keys = {entry.key for entry in store.snapshot_nowait().range("")}
    assert keys == {"after"} | {f"{side}/{number}" for number in written for side in ("left", "right")}
    await store.aclose()


subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", sys.argv[1]], check=True)
asyncio.run(main(Path(sys.argv[1])))
