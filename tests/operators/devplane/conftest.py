"""A developer control plane for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.operators.devplane.planes import Plane, plane


@pytest_asyncio.fixture(name="plane")
async def _plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with plane(tmp_path / "state") as made:
        yield made
