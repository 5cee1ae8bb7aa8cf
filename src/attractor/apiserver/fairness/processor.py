"""Shares of the processor: whose long answer gets the next slice.

Long answers are made in slices. Flows take turns, and a flow with twice the weight gets twice the time; within a flow
its answers take turns. A flow that comes later starts level with those that are there: it is not owed the past.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

J = TypeVar("J")


class _Flow(Generic[J]):
    """The jobs of one flow, and how much time they had, divided by the weight."""

    __slots__ = ("jobs", "used", "weight")

    def __init__(self, weight: float, used: float) -> None:
        self.jobs: deque[J] = deque()
        self.weight = weight
        self.used = used


class ProcessorShares(Generic[J]):
    """Jobs by flow; ``next`` says whose turn it is."""

    def __init__(self) -> None:
        self._flows: dict[Hashable, _Flow[J]] = {}

    def __bool__(self) -> bool:
        return bool(self._flows)

    def add(self, flow: Hashable, weight: float, job: J) -> None:
        """A job that wants slices from now on."""
        found = self._flows.get(flow)
        if found is None:
            start = min((one.used for one in self._flows.values()), default=0.0)
            found = self._flows[flow] = _Flow(max(weight, 1e-6), start)
        found.jobs.append(job)

    def next(self) -> tuple[Hashable, J] | None:
        """The job whose turn it is, with its flow; it goes to the end of its flow's line."""
        if not self._flows:
            return None
        flow, found = min(self._flows.items(), key=lambda item: item[1].used)
        job = found.jobs[0]
        found.jobs.rotate(-1)
        return flow, job

    def used(self, flow: Hashable, seconds: float) -> None:
        """A slice of a flow's job took so long."""
        found = self._flows.get(flow)
        if found is not None:
            found.used += seconds / found.weight

    def remove(self, flow: Hashable, job: J) -> None:
        """A job that wants no more slices."""
        found = self._flows[flow]
        found.jobs.remove(job)
        if not found.jobs:
            del self._flows[flow]
