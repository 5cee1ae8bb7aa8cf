"""A fresh edge for each test."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.operators.edge.world import Edge


@pytest_asyncio.fixture
async def edge() -> AsyncIterator[Edge]:
    async with Edge() as made:
        yield made
        assert made.platform.wrong == []
