"""Time, uids and names in a directed runtime: time moves when told, and uids are those that the director wants."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from attractor.check.world.simulation.clock import next_instant
from attractor.check.world.simulation.server.api_server import EPOCH
from attractor.check.world.simulation.server.generated_names import NAME_BOUNDS, Endings, NameBounds
from attractor.embedded import SystemSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


class DirectedSource(SystemSource):
    """The next objects get the uids that were written down for them, in order; after that, random ones."""

    def __init__(self, clock: Sequence[datetime] = (EPOCH,), names: NameBounds = NAME_BOUNDS) -> None:
        """``clock`` is the instants that time goes through; it stands at the first until ``tick``.

        ``names`` bounds the generated ones, as in a world.
        """
        super().__init__()
        self._clock = clock
        self._at = 0
        self._uids: deque[str] = deque()
        self.endings = Endings(names)

    def write_down(self, uids: Iterable[str]) -> None:
        """The next objects have these uids; what was written down before counts no more."""
        self._uids = deque(uids)

    def instant(self) -> datetime:
        """Return the present time."""
        return self._clock[self._at]

    def tick(self) -> bool:
        """Go on to the next instant; answers whether there was one."""
        after = next_instant(self._clock, self._at)
        self._at = self._at if after is None else after
        return after is not None

    def now(self) -> str:
        """The time, to the second."""
        return self.instant().strftime("%Y-%m-%dT%H:%M:%SZ")

    def now_micro(self) -> str:
        """The time, to the microsecond."""
        return self.instant().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def uid(self) -> str:
        """The next uid."""
        return self._uids.popleft() if self._uids else super().uid()

    def suffix(self) -> str:
        """The ending of the next generated name, one that the world could have generated."""
        return self.endings.take()

    def draw(self, below: int) -> int:
        """The first of what may be drawn, as in the world."""
        return 0
