"""Records of the process driver: one file for each instance, replaced as a whole."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import msgspec

from attractor.operators.edge.drivers.protocols import Found, Ref
from attractor.operators.local.processes import Process

if TYPE_CHECKING:
    from pathlib import Path


class Record(msgspec.Struct, frozen=True):
    """An instance that was brought up: its process, what it is, and the process that it replaces, if that may run."""

    ref: Ref
    pid: int
    started: int
    generation: int
    settings: tuple[tuple[str, str], ...]
    endpoint: str
    replaces: tuple[int, int] | None = None

    @property
    def process(self) -> Process:
        """The process that it is."""
        return Process(self.pid, self.started)

    @property
    def found(self) -> Found | None:
        """Return the state of the instance; None when its process has ended."""
        return Found(self.generation, self.settings, self.endpoint) if self.process.is_alive else None


class Records:
    """The records of one cloudlet's instances, and the marks of processes that may have been started."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def home(self, ref: Ref) -> Path:
        """Return the directory of an instance's own files."""
        return self._directory / f"{ref.kind}.{ref.namespace}.{ref.name}"

    def load(self, ref: Ref) -> Record | None:
        """The record of an instance."""
        try:
            data = (self.home(ref) / "record.json").read_bytes()
        except FileNotFoundError:
            return None
        return msgspec.json.decode(data, type=Record)

    def save(self, record: Record) -> None:
        """Write a record, whole or not at all."""
        home = self.home(record.ref)
        home.mkdir(exist_ok=True)
        beside = home / f"record.{secrets.token_hex(4)}"
        beside.write_bytes(msgspec.json.encode(record))
        os.replace(beside, home / "record.json")

    def all(self) -> list[Record]:
        """Every record."""
        found = (path.parent.name.split(".", 2) for path in self._directory.glob("*/record.json"))
        return [record for name in found if (record := self.load(Ref(*name))) is not None]

    def new_mark(self, ref: Ref, cluster: str = "") -> str:
        """A mark for a process that is about to be started; it stays written down until ``settle``.

        ``cluster`` is the one in whose register the process will be.
        """
        home = self.home(ref)
        home.mkdir(exist_ok=True)
        mark = f"{ref.kind}.{ref.name}.{secrets.token_hex(8)}"
        (home / f"{mark}.mark").write_text(cluster)
        return mark

    def marks(self, ref: Ref) -> dict[str, str]:
        """The marks of processes that may have been started, and were not recorded; with the cluster of each."""
        return {path.name.removesuffix(".mark"): path.read_text() for path in self.home(ref).glob("*.mark")}

    def settle(self, ref: Ref, mark: str) -> None:
        """The process of a mark is recorded, or certainly does not run."""
        (self.home(ref) / f"{mark}.mark").unlink(missing_ok=True)
