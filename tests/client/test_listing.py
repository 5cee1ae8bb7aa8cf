"""A list over its pages: what is asked for when, and what happens when something goes wrong in between."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from attractor.client.encoding.codec import Codec, Page, untyped_codec
from attractor.client.errors import GarbledAnswer
from attractor.client.kinds import ObjectList
from attractor.client.verbs.paged_list import list_pages
from attractor.objects.errors import ApiError, Gone
from attractor.objects.gvk import GroupVersionKind

Items = list[dict[str, Any]]


class Server:
    """Ten objects, and a log of what is asked for and decoded, in order."""

    def __init__(self, failing: dict[int, ApiError] | None = None) -> None:
        self.failing = failing or {}
        """By the number of the question."""
        self.log: list[str] = []
        self.given_up = 0
        self.asked_again = asyncio.Event()
        self._asked = 0
        self._read = untyped_codec(GroupVersionKind("", "v1", "ConfigMap")).decode
        self.codec: Codec[dict[str, Any]] = Codec(self._decode)

    async def ask(self, size: int, token: str) -> Page:
        self._asked += 1
        self.log.append(f"asked for {size} at {token or 0}")
        if token:
            self.asked_again.set()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        if error := self.failing.get(self._asked):
            raise error
        start = int(token or 0)
        end = min(start + (size or 10), 10)
        items = [{"metadata": {"name": f"c{number}"}} for number in range(start, end)]
        meta = {"resourceVersion": "7", **({"continue": str(end)} if end < 10 else {})}
        return Page(orjson.dumps({"metadata": meta, "items": items}))

    def _decode(self, data: Any) -> dict[str, Any]:
        made = self._read(data)
        self.log.append(f"decoded {made['metadata']['name']}")
        return made

    async def list(self, page_size: int, limit: int | None = None) -> ObjectList[dict[str, Any]]:
        return await list_pages(self.ask, self.codec, page_size, limit)


def names(items: Items) -> list[str]:
    return [item["metadata"]["name"] for item in items]


ALL = [f"c{number}" for number in range(10)]


async def test_the_next_page_is_asked_for_before_this_one_is_decoded() -> None:
    server = Server()
    assert names(await server.list(4)) == ALL
    assert [line for line in server.log if line.startswith("asked") or line in {"decoded c0", "decoded c4"}] == [
        "asked for 4 at 0",
        "asked for 4 at 4",
        "decoded c0",
        "asked for 4 at 8",
        "decoded c4",
    ]


@pytest.mark.parametrize(
    ("page_size", "limit", "asked"),
    [
        (0, None, ["0 at 0"]),
        (10, None, ["10 at 0"]),
        (0, 3, ["3 at 0"]),
        (4, 4, ["4 at 0"]),
        (4, 6, ["4 at 0", "2 at 4"]),
        (4, 100, ["4 at 0", "4 at 4", "4 at 8"]),
    ],
)
async def test_nothing_is_asked_for_beyond_the_limit(page_size: int, limit: int | None, asked: list[str]) -> None:
    server = Server()
    listed = await server.list(page_size, limit)
    assert names(listed) == ALL[:limit]
    assert [line.removeprefix("asked for ") for line in server.log if line.startswith("asked")] == asked
    assert (listed.resource_version, listed.continue_token) == ("7", "" if len(listed) == 10 else str(limit))


async def test_a_version_that_is_forgotten_between_two_pages_is_listed_again_in_one_piece() -> None:
    server = Server({3: Gone("too old")})
    assert names(await server.list(4)) == ALL
    assert [line for line in server.log if line.startswith("asked")][-1] == "asked for 0 at 0"


async def test_a_page_that_is_refused_is_the_lists_error() -> None:
    with pytest.raises(ApiError, match="not today"):
        await Server({2: ApiError("not today")}).list(4)
    with pytest.raises(Gone):
        await Server({1: Gone("too old")}).list(4)


async def test_a_page_that_makes_no_sense_gives_up_the_one_that_is_on_its_way() -> None:
    server = Server()

    def garbled(_: Any) -> dict[str, Any]:
        raise GarbledAnswer("no object")

    server.codec = Codec(garbled)
    with pytest.raises(GarbledAnswer):
        await server.list(4)
    await asyncio.sleep(0)
    assert server.given_up == 1
    assert len(asyncio.all_tasks()) == 1


async def test_a_list_that_is_cancelled_gives_up_the_page_that_is_on_its_way() -> None:
    server = Server()
    listing = asyncio.ensure_future(server.list(4))
    await server.asked_again.wait()
    listing.cancel()
    await asyncio.wait({listing})
    await asyncio.sleep(0)
    assert listing.cancelled()
    assert server.given_up == 1
    assert len(asyncio.all_tasks()) == 1
