"""How many seats a request takes: one, but a list takes more the more objects it has to look at.

As Kubernetes estimates it: a seat for every hundred objects, at most ten, and at most a part of the level's seats, so
that no single request fills a level.
"""

from __future__ import annotations

import math

OBJECTS_PER_SEAT = 100
MAX_SEATS = 10
MAX_SHARE = 0.15
"""Of a level's seats, for one request."""


def most_seats(nominal: int) -> int:
    """The most seats that one request of a level is charged."""
    return max(1, min(MAX_SEATS, math.ceil(nominal * MAX_SHARE)))


def list_seats(objects: int, limit: int, *, is_selective: bool, nominal: int) -> int:
    """The seats of a list over so many objects, of which it shows ``limit``; 0 shows all.

    A list with a selector looks at all of them, whatever the limit, for it cannot know which match.
    """
    seen = objects if is_selective or not limit else min(objects, limit)
    return max(1, min(math.ceil(seen / OBJECTS_PER_SEAT), most_seats(nominal)))
