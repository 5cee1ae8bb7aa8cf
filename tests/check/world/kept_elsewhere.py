"""Variables of another module, for controllers that import it where they need it."""

from __future__ import annotations

COUNT = 0
SEEN: list[int] = []


def up() -> int:
    global COUNT  # noqa: PLW0603
    COUNT += 1
    return COUNT


class Registry:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0

    def up(self) -> int:
        self.count += 1
        return self.count


_REGISTRY = Registry()


def registry() -> Registry:
    return _REGISTRY
