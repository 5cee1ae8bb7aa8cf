"""What the claims of a world are asked about, for tests that look at it; a claim itself may keep nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check.world.simulation import model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.check import WorldState


@contextmanager
def telling(told: Callable[[WorldState], object]) -> Iterator[None]:
    """Run a block in which every state that a claim judges is told."""
    real = model._judged

    def judged(name: str, judge: Callable[..., Any], *seen: Any) -> Any:
        told(seen[0])
        return real(name, judge, *seen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "_judged", judged)
        yield
