"""The generated archive of built-in kinds: opened on first use, one entry read at a time.

``tools/builtin_kinds.py`` makes ``kinds.zip`` and says what its entries are. Nothing is read when this module is
imported; each entry is parsed at most once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from zipfile import ZipFile

    from attractor.objects.json_types import JsonObject

Folder = Literal["schema", "text", "enum", "go"]
ARCHIVE = Path(__file__).with_name("kinds.zip")


@cache
def _archive() -> ZipFile:
    from io import BytesIO
    from zipfile import ZipFile  # costs 10 ms, and a program that names no built-in kind never needs it

    return ZipFile(BytesIO(ARCHIVE.read_bytes()))  # in memory: an open file would share its position across a fork


@cache
def _package(folder: str, package: str) -> JsonObject | None:
    try:
        return _read(f"{folder}/{package}.json")
    except KeyError:
        return None


def _read(name: str) -> JsonObject:
    content: JsonObject = orjson.loads(_archive().read(name))
    return content


@cache
def index() -> JsonObject:
    """The Kubernetes version, the groups with their resources, and the definition of every kind."""
    return _read("index.json")


def package(folder: Folder, name: str) -> JsonObject:
    """Everything that a folder says about a package such as ``io.k8s.api.core.v1``."""
    return _package(folder, name) or {}


def entry(folder: Folder, definition: str) -> Any:
    """What a folder says about a definition such as ``io.k8s.api.core.v1.Pod``; None when it says nothing."""
    owner, _, name = definition.rpartition(".")
    return package(folder, owner).get(name)
