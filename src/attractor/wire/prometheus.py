"""Prometheus instruments: counters, gauges, histograms, and the text format.

Servers and controllers both show their metrics with this. ``process_metrics`` are what Prometheus' own client
libraries tell of a process, as far as this system knows it: memory, descriptors and the start come from ``/proc``.
"""

from __future__ import annotations

import os
import resource
import time
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Labels = tuple[str, ...]
Sample = tuple[str, str, float]
"""Suffix of the name, label text and value."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PROC = Path("/proc/self")


def family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of one metric: its help, its type, and each sample."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        yield f"{name}{suffix}{labels} {number(value)}"


def labelled(*pairs: tuple[str, object]) -> str:
    """Labels as Prometheus writes them."""
    return "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in pairs) + "}" if pairs else ""


def histogram_samples(
    bounds: Sequence[float], counts: Sequence[int], total: float, *pairs: tuple[str, object], before: int = 0
) -> Iterator[Sample]:
    """Cumulative buckets, sum and count; what was counted ``before`` is in the first bucket."""
    for bound, found in zip((*bounds, float("inf")), counts, strict=True):
        before += found
        yield "_bucket", labelled(*pairs, ("le", number(bound))), before
    yield "_sum", labelled(*pairs), total
    yield "_count", labelled(*pairs), before


class Metric:
    """A name, its help and label names; the base of what can be printed."""

    type: ClassVar[str] = ""

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        self.name = name
        self.text = text
        self.labels = labels

    def samples(self) -> Iterator[Sample]:
        """Suffix, label text and value of each sample."""
        raise NotImplementedError

    def lines(self) -> Iterator[str]:
        """The metric in Prometheus' text format."""
        return family(self.name, self.type, self.text, self.samples())

    def label_text(self, values: Labels) -> str:
        """Labels as Prometheus writes them."""
        return labelled(*zip(self.labels, values, strict=True))


class Counter(Metric):
    """Only goes up; a function may compute it when it is read."""

    type: ClassVar[str] = "counter"

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[Labels, float] = {}
        self._functions: dict[Labels, Callable[[], float]] = {}
        self._families: dict[Labels, Callable[[], dict[Labels, float]]] = {}

    def add(self, *values: str, by: float = 1.0) -> None:
        """Count."""
        self._values[values] = self._values.get(values, 0.0) + by

    def value(self, *values: str) -> float:
        """The count so far."""
        return self._values.get(values, 0.0)

    def compute(self, *values: str, by: Callable[[], float]) -> None:
        """Ask a function whenever the value is read."""
        self._functions[values] = by

    def compute_each(self, *values: str, by: Callable[[], dict[Labels, float]]) -> None:
        """Ask a function for the further labels that there are now, each with its value, whenever they are read."""
        self._families[values] = by

    def samples(self) -> Iterator[Sample]:
        """One for each combination of labels."""
        for values, number in self._values.items():
            yield "", self.label_text(values), number
        for values, function in self._functions.items():
            yield "", self.label_text(values), function()
        for values, family in self._families.items():
            for more, number in family().items():
                yield "", self.label_text((*values, *more)), number


class Gauge(Counter):
    """Goes up and down."""

    type: ClassVar[str] = "gauge"

    def set(self, *values: str, to: float) -> None:
        """Set the value."""
        self._values[values] = to


class Histogram(Metric):
    """How often values fell into which range."""

    type: ClassVar[str] = "histogram"

    def __init__(self, name: str, text: str, labels: Labels = (), buckets: tuple[float, ...] = ()) -> None:
        super().__init__(name, text, labels)
        self._bounds = buckets
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, *values: str, value: float) -> None:
        """Count one value."""
        counts = self._counts.get(values)
        if counts is None:
            counts = self._counts[values] = [0] * (len(self._bounds) + 1)
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + value

    def count(self, *values: str) -> int:
        """How many values were counted."""
        return sum(self._counts.get(values, ()))

    def samples(self) -> Iterator[Sample]:
        """Cumulative buckets, sum and count."""
        for values, counts in self._counts.items():
            pairs = zip(self.labels, values, strict=True)
            yield from histogram_samples(self._bounds, counts, self._sums[values], *pairs)


def number(value: float) -> str:
    """A number as Prometheus writes it."""
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def process_metrics() -> list[Counter]:
    """What can be read of this process on this system."""
    found = [
        _read("process_cpu_seconds_total", "Processor time, user and system.", time.process_time),
        _read("process_max_fds", "How many descriptors may be open.", _max_fds),
    ]
    if not (_PROC / "stat").exists():
        return found
    started_s = _started_s()
    return [
        *found,
        _read("process_open_fds", "Descriptors that are open.", lambda: float(len(os.listdir(_PROC / "fd")))),
        _read("process_resident_memory_bytes", "Memory in use.", lambda: _stat(21) * resource.getpagesize()),
        _read("process_virtual_memory_bytes", "Memory that is mapped.", lambda: _stat(20)),
        _read("process_start_time_seconds", "When it began, in Unix time.", lambda: started_s),
    ]


def _read(name: str, text: str, read: Callable[[], float]) -> Counter:
    metric = Counter(name, text) if name.endswith("_total") else Gauge(name, text)
    metric.compute(by=read)
    return metric


def _stat(field: int) -> float:
    """A field of ``/proc/self/stat``, counted from behind the command's name, which may hold anything."""
    return float((_PROC / "stat").read_text().rpartition(")")[2].split()[field])


def _started_s() -> float:
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + _stat(19) / os.sysconf("SC_CLK_TCK")


def _max_fds() -> float:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)
