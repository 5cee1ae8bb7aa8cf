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


async def main(directory: Path) -> None:
    store = SqliteStore(directory / "store.db")
    (directory / "ballast").write_bytes(bytes(600_000))
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
    (directory / "ballast").unlink()
    assert await store.commit({}, puts={"after": b""}) == len(written) + 1, "a failed write took a revision"
    await store.aclose()
    store = SqliteStore(directory / "store.db")
    keys = {entry.key for entry in store.snapshot_nowait().range("")}
    assert keys == {"after"} | {f"{side}/{number}" for number in written for side in ("left", "right")}
    await store.aclose()


subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", sys.argv[1]], check=True)
asyncio.run(main(Path(sys.argv[1])))
