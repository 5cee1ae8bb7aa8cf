"""What can be measured, and how Prometheus prints it: counters, gauges, histograms."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Labels = tuple[str, ...]


class Metric:
    """A name, its help and label names; the base of what can be printed."""

    type: ClassVar[str] = ""

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        self.name = name
        self.text = text
        self.labels = labels

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Suffix, label text and value of each sample."""
        raise NotImplementedError

    def label_text(self, values: Labels, *more: tuple[str, str]) -> str:
        """Labels as Prometheus writes them."""
        pairs = [*zip(self.labels, values, strict=True), *more]
        return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}" if pairs else ""


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

    def samples(self) -> Iterator[tuple[str, str, float]]:
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

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Cumulative buckets, sum and count."""
        for values, counts in self._counts.items():
            total = 0
            for bound, found in zip((*self._bounds, float("inf")), counts, strict=True):
                total += found
                yield "_bucket", self.label_text(values, ("le", number(bound))), total
            yield "_sum", self.label_text(values), self._sums[values]
            yield "_count", self.label_text(values), total


def number(value: float) -> str:
    """A number as Prometheus writes it."""
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
