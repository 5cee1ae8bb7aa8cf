"""A process for kill tests: writes pairs of keys into a SQLite store and prints each number once acknowledged.

Arguments: the file, the number of writers, and how many writes each makes before the process kills itself (0: never).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from attractor.store.sqlite import SqliteStore


async def main(path: str, writers: int, rounds: int) -> None:
    store = SqliteStore(path, history_limit=200)
    start = store.revision

    async def write(writer: int) -> None:
        number = 0
        while number < rounds or not rounds:
            name = f"{start}-{writer}-{number}"
            await store.commit({}, puts={f"/left/{name}": b"x" * 700, f"/right/{name}": b"x" * 700})
            os.write(1, f"{name}\n".encode())
            if number >= 20:
                gone = f"{start}-{writer}-{number - 20}"
                await store.commit({}, puts={}, deletes={f"/left/{gone}", f"/right/{gone}"})
            number += 1

    async with asyncio.TaskGroup() as group:
        for writer in range(writers):
            group.create_task(write(writer))
    os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
