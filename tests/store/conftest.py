"""Stores to test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.store.engines import ENGINES, AnyStore, Engine
from tests.store.etcdserver import EtcdServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def etcd_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    server = EtcdServer(tmp_path_factory.mktemp("etcd")).start()
    yield server
    server.kill()


# One event loop for all tests of this directory, as a process has one: what a store leaves behind, the next one meets.
@pytest_asyncio.fixture(params=ENGINES, loop_scope="session")
async def engine(request: pytest.FixtureRequest, tmp_path: Path, etcd_server: EtcdServer) -> AsyncIterator[Engine]:
    engine = Engine(request.param, tmp_path, etcd_server)
    yield engine
    await engine.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def store(engine: Engine) -> AsyncIterator[AnyStore]:
    store = await engine.open()
    # In an etcd that others use, too, the first revision is any number; from here on they count by one.
    await store.commit({}, puts={"begin": b""})
    await store.commit({}, puts={}, deletes={"begin"})
    yield store
    store.check_invariants()
