"""Stores by address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attractor.store import MemoryStore, StoreUnusable, open_store
from attractor.store.etcd import EtcdOptions, EtcdStore
from attractor.store.factory import etcd_options
from attractor.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from tests.store.etcdserver import EtcdServer


@pytest.mark.asyncio(loop_scope="session")
async def test_each_engine_has_an_address(tmp_path: Path, etcd_server: EtcdServer) -> None:
    addresses = {
        "memory": MemoryStore,
        f"sqlite:{tmp_path / 'store.db'}": SqliteStore,
        f"etcd:{etcd_server.endpoint}?prefix=/opened/": EtcdStore,
    }
    for address, engine in addresses.items():
        store = await open_store(address, history_limit=100)
        assert isinstance(store, engine)
        await store.commit({}, puts={"a": b""})
        await store.aclose()


@pytest.mark.parametrize("address", ["", "memory:x", "sqlite", "sqlite:", "etcd:", "redis:localhost:1", "./store.db"])
@pytest.mark.asyncio(loop_scope="session")
async def test_what_is_no_address_is_answered_with_those_that_are(address: str) -> None:
    with pytest.raises(StoreUnusable, match="`memory`, `sqlite:PATH` or `etcd:HOST:PORT"):
        await open_store(address)


def test_an_etcd_address_carries_endpoints_and_options(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sesame\n")
    secret = f"user=me&password-file={tmp_path / 'secret'}"
    assert etcd_options(f"etcd://a:1,[::1]:2?ca=/ca&cert=/c&key=/k&{secret}&prefix=/p/") == EtcdOptions(
        endpoints=("a:1", "[::1]:2"),
        prefix="/p/",
        ca=Path("/ca"),
        cert=Path("/c"),
        key=Path("/k"),
        user="me",
        password="sesame",
    )


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("etcd:localhost", "'localhost' in 'localhost' is not HOST:PORT"),
        ("etcd:a:1,b", "'b' in 'a:1,b' is not HOST:PORT"),
        ("etcd:a:1?colour=red", "no option colour"),
        ("etcd:a:1?cert=x", "both `cert` and `key`"),
        ("etcd:a:1?cert=x&key=y", "give `ca`"),
        ("etcd:a:1?user=x", "both a user and a password"),
        ("etcd:a:1?prefix=", "needs a prefix"),
        ("etcd:a:1?nonsense", "a:1"),
        ("etcd:a:1?user=x&password-file=/does/not/exist", "/does/not/exist"),
    ],
)
def test_a_wrong_etcd_address_says_what_is_wrong(address: str, text: str) -> None:
    with pytest.raises(StoreUnusable, match=text):
        etcd_options(address)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_missing_certificate_is_named() -> None:
    with pytest.raises(StoreUnusable, match="/does/not/exist: cannot be read"):
        await open_store("etcd:127.0.0.1:1?ca=/does/not/exist")
