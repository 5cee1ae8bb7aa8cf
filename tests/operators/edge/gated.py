"""The process driver with a gate for tests: work waits before, while or after it is done, or fails, as a file says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attractor.operators.edge.drivers.process import ProcessDriver
from attractor.operators.edge.drivers.protocols import DriverError, Ref
from attractor.testing import eventually

if TYPE_CHECKING:
    from attractor.operators.edge.drivers import DriverSettings
    from attractor.operators.edge.drivers.protocols import Found
    from attractor.operators.local.processes import Process


class GatedDriver(ProcessDriver):
    """Waits while the file ``gate`` in the state directory says so; fails once per file ``fail``, which may name the instance.

    ``before`` is before anything is done, ``during`` is when a process runs that is not written down yet, ``after`` is
    when all is done and nobody was told.
    """

    def __init__(self, settings: DriverSettings) -> None:
        super().__init__(settings)
        self._gate_file = settings.state_dir / "gate"
        self._fail_file = settings.state_dir / "fail"

    async def apply(self, ref: Ref, generation: int, settings: tuple[tuple[str, str], ...]) -> Found:
        await self._wait("before")
        self._fail(ref.name)
        found = await super().apply(ref, generation, settings)
        await self._wait("after")
        return found

    async def remove(self, ref: Ref) -> None:
        await self._wait("before")
        self._fail(ref.name)
        await super().remove(ref)
        await self._wait("after")

    async def _start(self, ref: Ref, command: list[str], ready: Path, cluster: str = "") -> Process:
        process = await super()._start(ref, command, ready, cluster)
        await self._wait("during")
        return process

    async def drain(self) -> bool:
        self._fail()
        return await super().drain()

    def _fail(self, name: str = "") -> None:
        if self._fail_file.exists() and read(self._fail_file) in {"", name}:
            self._fail_file.unlink()
            raise DriverError("told to fail")

    async def _wait(self, place: str) -> None:
        if read(self._gate_file) == place:
            self._gate_file.with_suffix(".reached").write_text(place)
            await eventually(lambda: read(self._gate_file) != place, within_s=600)


def read(path: Path) -> str:
    """A file's text; empty when there is none."""
    return path.read_text() if path.exists() else ""


make = GatedDriver
