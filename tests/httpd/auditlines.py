"""An audit sink that keeps its lines, for tests."""

import json
from typing import Any


class Lines:
    """What was written down."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.is_closed = False
        self.lost = 0

    def write(self, line: bytes) -> None:
        assert not self.is_closed
        assert line.endswith(b"}\n")
        assert line.count(b"\n") == 1, "an event is one line"
        self.lines.append(line)

    async def aclose(self) -> None:
        self.is_closed = True

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def take(self) -> list[dict[str, Any]]:
        """The events so far, forgotten."""
        events = self.events
        self.lines.clear()
        return events
