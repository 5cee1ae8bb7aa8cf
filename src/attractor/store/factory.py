"""Stores by address: ``memory``, ``sqlite:PATH``, ``etcd:HOST:PORT[,HOST:PORT...][?OPTION=VALUE&...]``.

Options of etcd: ``prefix``, ``ca``, ``cert``, ``key`` (files), ``user``, and ``password`` or ``password-file``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from attractor.store.contract import StoreUnusable
from attractor.store.memory import MemoryStore
from attractor.store.mvcc import HISTORY_LIMIT

if TYPE_CHECKING:
    from attractor.store.contract import Store
    from attractor.store.etcd import EtcdOptions

FORMS = "`memory`, `sqlite:PATH` or `etcd:HOST:PORT[,HOST:PORT]`"


async def open_store(address: str, *, history_limit: int = HISTORY_LIMIT) -> Store:
    """Open the store at an address; the caller closes it with ``aclose``.

    Raises ``StoreUnusable`` with what is wrong and what to do, or ``StoreUnavailable`` if etcd does not answer.
    """
    engine, _, rest = address.partition(":")
    match engine:
        case "memory" if not rest:
            return MemoryStore(history_limit=history_limit)
        case "sqlite" if rest:
            return await _open_sqlite(Path(rest), history_limit)
        case "etcd" if rest:
            return await _open_etcd(address, history_limit)
    raise StoreUnusable(f"{shown_address(address)!r} is not the address of a store; give {FORMS}")


def shown_address(address: str) -> str:
    """An address as anybody may read it: without its options and without who we are there, which can be secrets.

    >>> shown_address("etcd:10.0.0.1:2379?user=root&password=secret"), shown_address("etcd://root:secret@h:2379")
    ('etcd:10.0.0.1:2379?…', 'etcd://…@h:2379')
    """
    engine, colon, rest = address.partition(":")
    if engine == "sqlite":
        return address
    place, question, _ = rest.partition("?")
    _, at, hosts = place.rpartition("@")
    slashes = "//" if place.startswith("//") else ""
    place = f"{slashes}…@{hosts}" if at else place
    return f"{engine.partition('?')[0]}{colon}{place}" + ("?…" if question or "?" in engine else "")


async def _open_sqlite(path: Path, history_limit: int) -> Store:
    from attractor.store.sqlite import SqliteStore

    return await asyncio.to_thread(SqliteStore, path, history_limit=history_limit)


async def _open_etcd(address: str, history_limit: int) -> Store:
    try:
        from attractor.store.etcd import EtcdStore
    except ModuleNotFoundError as error:
        raise StoreUnusable(f"{error.name} is missing, which etcd needs; install `attractor[etcd]`") from error
    return await EtcdStore.open(etcd_options(address), history_limit=history_limit)


def etcd_options(address: str) -> EtcdOptions:
    """What an ``etcd:`` address says."""
    from attractor.store.etcd import EtcdOptions

    hosts, _, query = address.removeprefix("etcd:").removeprefix("//").partition("?")
    if "@" in hosts:
        why = "give who we are there as the options `user` and `password-file`, not before the host"
        raise StoreUnusable(f"{shown_address(address)}: {why}")
    endpoints = tuple(hosts.split(","))
    for endpoint in endpoints:
        host, colon, port = endpoint.rpartition(":")
        if not (host and colon and port.isdecimal()):
            raise StoreUnusable(f"{endpoint!r} in {hosts!r} is not HOST:PORT; etcd's usual port is 2379")
    if not all("=" in option for option in query.split("&")) and query:
        raise StoreUnusable(
            f"the address of {hosts} has an option without a value; write NAME=VALUE joined by `&`, and %26 for "
            "an `&` in a value, or give `password-file`"
        )
    try:
        given = dict(parse_qsl(query, keep_blank_values=True))
        if "password-file" in given:
            given["password"] = Path(given.pop("password-file")).read_text(encoding="utf-8").rstrip("\n")
        if unknown := given.keys() - {"prefix", "ca", "cert", "key", "user", "password"}:
            # Behind a password the name may be a part of it.
            named = "of that name" if "password" in given else ", ".join(sorted(unknown))
            raise ValueError(f"etcd has no option {named}; write %26 for an `&` in a value")
        files = {name: Path(given.pop(name)) for name in ("ca", "cert", "key") if name in given}
        return EtcdOptions(endpoints=endpoints, **given, **files)  # type: ignore[arg-type]
    except (ValueError, OSError) as error:
        raise StoreUnusable(f"the address of {hosts}: {error}") from error
