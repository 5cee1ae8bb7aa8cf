"""``widen``: check a world again and again, each time with a bound raised that was binding, until none is.

Bounds are raised one after the other, by one: what a verdict costs grows fast with some of them, and a violation is
shown by the smallest bound that admits it. Time ends it, for in some worlds a bound binds however large it is (names
that are taken again and again); the answer is then the last complete verdict, with a warning that says what was tried.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from attractor.check.api import Checkable, check
from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.engine.model import Bound
    from attractor.check.verdict import Verdict

DEFAULT_S = 60.0
"""How long bounds are raised unless somebody says otherwise."""


@runtime_checkable
class Widening(Checkable, Protocol):
    """Something with bounds that can be raised."""

    def wider(self, bound: str) -> Widening | None:
        """The same with that bound raised by one; None if it is no bound that can be."""
        ...


W = TypeVar("W", bound=Widening)


def widen(
    spec: W,
    *,
    max_seconds: float | None = None,
    on_widen: Callable[[Verdict, Bound], None] | None = None,
    **settings: Any,
) -> tuple[Verdict, W]:
    """The verdict with no bound binding, or the furthest within ``max_seconds`` (60); and what it is about.

    ``on_widen`` hears each verdict with the bound that is raised next; the other ``settings`` are those of ``check``.
    """
    if not isinstance(spec, Widening):
        raise SpecError(f"{spec!r} has no bounds that can be raised; widening is for worlds of controllers")
    ends = time.monotonic() + (DEFAULT_S if max_seconds is None else max_seconds)
    verdict = check(spec, max_seconds=max_seconds, **settings)
    raised: set[str] = set()
    while verdict.verdict == "holds within":
        bound = min(verdict.binding, key=lambda each: each.name in raised)  # each in turn
        raised = {*raised, bound.name} if {each.name for each in verdict.binding} - raised else {bound.name}
        wider = spec.wider(bound.name)
        left = ends - time.monotonic()
        if wider is None or left <= 0:
            return _stopped(verdict, bound, "time is up" if wider is not None else "it cannot be raised here"), spec
        if on_widen:
            on_widen(verdict, bound)
        further = check(wider, max_seconds=left, **settings)
        if further.verdict == "inconclusive":
            return _stopped(verdict, bound, f"stopped at {further.bound}"), spec
        verdict, spec = further, wider  # type: ignore[assignment]  # a wider one is of the same kind
    return verdict, spec


def _stopped(verdict: Verdict, bound: Bound, why: str) -> Verdict:
    return replace(verdict, warnings=(*verdict.warnings, f"{bound.text} is as far as it was widened: {why}"))
