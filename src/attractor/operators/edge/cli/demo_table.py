"""The live table of ``attractor demo edge``: a row for each cloudlet, and what is told about them above it.

On a terminal the table stays where it is and changes in place, and its clock goes on; elsewhere, and where it would
not fit, each row that changes is a line of its own. No line of it is longer than 80 characters.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from typing import TYPE_CHECKING, NamedTuple, TextIO

from attractor.cli.terminal import Paint, is_coloured
from attractor.operators.edge.cli.status import objects_of

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from attractor.client import Client
    from attractor.operators.edge.cli.status import Line

LOOK_S = 0.05
DRAW_S = 0.5
"""How often the table is drawn again where nothing changes."""
COLUMNS = 80
INDENT = " " * 10
UP_AND_CLEAR = "\x1b[{}F\x1b[J"


class Row(NamedTuple):
    """A cloudlet, its cluster and its app."""

    cloudlet: str
    agent: str = ""
    cluster: str = ""
    app: str = ""


HEADING = Row("CLOUDLET", "AGENT", "CLUSTER one", "APP shop")
WIDTHS = (8, 29, 15, 15)


def rows_of(cloudlets: tuple[str, ...], lines: list[Line], versions: dict[str, str]) -> list[Row]:
    """The table, from the lines of ``attractor edge status``."""
    cells = {(line.cloudlet, line.kind): f"{line.state} {line.step}".rstrip() for line in lines}
    return [
        Row(
            name,
            (f"v{versions[name]} " if versions.get(name) else "") + cells.get((name, "Cloudlet"), ""),
            cells.get((name, "ClusterInst"), ""),
            cells.get((name, "AppInst"), ""),
        )
        for name in cloudlets
    ]


class StateTable:
    """Shows what each cloudlet, its cluster and its app are, whenever that changes, inside the ``async with``."""

    def __init__(
        self, client: Client, cloudlets: tuple[str, ...], started: float, stream: TextIO | None = None
    ) -> None:
        self._client = client
        self._cloudlets = cloudlets
        self._started = started
        self._stream = stream or sys.stdout
        self._paint = Paint(self._stream)
        self._is_live = is_coloured(self._stream) and shutil.get_terminal_size().columns >= COLUMNS
        self._known: list[Row] = []
        self._drawn = 0
        """How many lines of the table stand at the end of the terminal."""
        self._drawn_at = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if not self._is_live:
            self._write(INDENT + self._text(HEADING))
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})

    def say(self, step: str, text: str) -> None:
        """Tell what happens; on a terminal, above the table."""
        self._erase()
        self._write(f"{self._paint(f'{step:<9}', 'bold')} {text}")
        self._draw()

    async def _follow(self) -> None:
        while True:
            rows = await self._look()
            if rows != self._known:
                changed = [row for row in rows if row not in self._known]
                self._known = rows
                self._show(changed)
            elif self._drawn and time.perf_counter() - self._drawn_at >= DRAW_S:
                self._show([])
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> list[Row]:
        from attractor.operators.edge.cli.status import lines_of

        found = await objects_of(self._client, "")
        versions = {one.metadata.name: one.status.version for one in found["Cloudlet"] if one.status is not None}
        return rows_of(self._cloudlets, lines_of(found), versions)

    def _show(self, changed: list[Row]) -> None:
        if self._is_live:
            self._erase()
            self._draw()
            return
        for row in changed:
            if row.agent:
                self._write(f"{time.perf_counter() - self._started:7.1f} s {self._text(row)}")

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(UP_AND_CLEAR.format(self._drawn))
            self._drawn = 0

    def _draw(self) -> None:
        if self._is_live and self._known:
            self._drawn_at = time.perf_counter()
            at = f"{self._drawn_at - self._started:7.1f} s "
            for prefix, row in ((at, HEADING), *((INDENT, row) for row in self._known)):
                self._write(prefix + self._text(row))
                self._drawn += 1

    def _text(self, row: Row) -> str:
        cells = (self._coloured(cell[:width].ljust(width)) for cell, width in zip(row, WIDTHS, strict=True))
        return " ".join(cells).rstrip()

    def _coloured(self, cell: str) -> str:
        if "Error" in cell or "Offline" in cell:
            return self._paint(cell, "red")
        if "Ready" in cell:
            return self._paint(cell, "green")
        is_busy = any(word in cell for word in ("Requested", "ing", "Prepare", "UpdateDone"))
        return self._paint(cell, "yellow") if is_busy else cell

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()
