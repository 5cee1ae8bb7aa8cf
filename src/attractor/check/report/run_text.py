"""Printing a run for a terminal: each step with only what it changed, or whole states on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check.trace import difference, loop_text, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.report.table import Paint
    from attractor.check.trace import Plain, Trace


def lines(trace: Trace, paint: Paint, *, full: bool = False, only: int | None = None) -> Iterator[str]:
    """The run's lines; ``full`` prints every variable at every step, ``only`` one step (0 is the initial state)."""
    states = list(trace.states())
    width = len(str(len(trace)))
    for number, state in enumerate(states):
        if only is not None and number != only:
            continue
        title = trace.steps[number - 1].label if number else "initially"
        yield f"  {paint(f'{number:>{width}}', 'dim')}  {paint(title, 'bold')}"
        margin = " " * (width + 6)
        if number == 0 or full:
            yield from (margin + line for line in _whole(state))
        else:
            changed = trace.steps[number - 1].changed
            before = states[number - 1]
            found = [line for name in changed for line in difference(name, before.get(name), changed[name])]
            yield from (margin + line for line in found or ["nothing changes"])
    if trace.loop is not None and only is None:
        yield paint(loop_text(trace.loop, len(trace)), "yellow")


def _whole(state: dict[str, Plain]) -> Iterator[str]:
    width = max(map(len, state), default=0)
    for name, value in state.items():
        yield f"{name:<{width}} = {short(value)}"


def steps_of(trace: Trace) -> str:
    """``after 7 steps``, or how a run without an end goes."""
    count = f"{len(trace)} step{'' if len(trace) == 1 else 's'}"
    if trace.loop is None:
        return f"after {count}"
    if trace.loop == len(trace) == 0:
        return "by a run that never takes a step"
    if trace.loop == len(trace):
        return f"by a run that stops for ever after {count}"
    return f"by a run that repeats its last {len(trace) - trace.loop} of {count} for ever"
