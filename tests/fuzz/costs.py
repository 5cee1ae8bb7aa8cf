"""What attacks cost: ``python -m tests.fuzz.costs steps|mark SIZE... -- NAME...`` prints one line of JSON for each.

``steps`` counts lines of Python that run and C functions that are called, so the package must be interpreted. ``mark``
calls ``getppid`` around each request, where valgrind's callgrind writes down how many instructions were executed: it
sees what goes on inside of C functions, too, whatever is compiled.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Self

from tests.fuzz.attacks import by_hand
from tests.fuzz.routed import answered, http, new_cluster
from tests.fuzz.widened import widened

if TYPE_CHECKING:
    from types import FrameType

    from attractor.embedded import EmbeddedCluster
    from attractor.httpd.parser import HttpRequest
    from tests.fuzz.attacks import Attack


class Steps:
    """Counts lines and calls of C functions while it is entered."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._called)
        sys.settrace(self._traced)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        sys.setprofile(None)

    def _called(self, _frame: FrameType, event: str, _arg: Any) -> None:
        self.count += event == "c_call"

    def _traced(self, _frame: FrameType, event: str, _arg: Any) -> Any:
        self.count += event == "line"
        return self._traced


def size_of(attack: Attack) -> int:
    """The bytes that an attacker sends."""
    return len(attack.body) + len(attack.path) + len(attack.accept) + sum(len(n) + len(v) for n, v in attack.headers)


async def cost(attacks: list[Attack], way: str) -> dict[str, int]:
    """The last of several requests, measured."""
    async with new_cluster() as cluster:
        for attack in attacks[:-1]:
            reply = await answered(cluster, http(attack))
            assert reply.code < 300, (attack.path, reply.body[:200])
        request = http(attacks[-1])
        gc.collect()
        gc.disable()
        count = await {"steps": counted, "mark": marked, "warm": warmed}[way](cluster, request)
        gc.enable()
    return {"bytes": size_of(attacks[-1]), "steps": count}


async def counted(cluster: EmbeddedCluster, request: HttpRequest) -> int:
    with Steps() as steps:
        await answered(cluster, request)
    return steps.count


async def warmed(cluster: EmbeddedCluster, request: HttpRequest) -> int:
    await answered(cluster, request)
    return 0


async def marked(cluster: EmbeddedCluster, request: HttpRequest) -> int:
    os.getppid()
    await answered(cluster, request)
    os.getppid()
    return 0


def main() -> None:
    way, *words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    families = {**by_hand(), **widened()}
    for name in words[at + 1 :] or families:
        asyncio.run(cost(families[name](3), "warm"))  # what is worked out once is no cost of a request
        for size in map(int, words[:at]):
            found = {"name": name, "size": size, **asyncio.run(cost(families[name](size), way))}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
