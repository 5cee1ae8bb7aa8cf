"""A developer control plane for each test."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.operators.devplane.devcommand import Dev
from tests.operators.devplane.planes import Plane, plane


@pytest_asyncio.fixture(name="plane")
async def _plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with plane(tmp_path / "state") as made:
        yield made


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """``attractor dev`` in a directory of its own; what a test leaves running is killed, and fails it."""
    made = Dev(tmp_path)
    yield made
    left = made.processes
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []
