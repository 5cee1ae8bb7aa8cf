"""Prometheus metrics, in the names that controller-runtime and client-go use, so that existing dashboards work."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from attractor.runtime import process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECONCILE_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip
QUEUE_BUCKETS = tuple(10.0 ** (exponent - 8) for exponent in range(12))

Labels = tuple[str, ...]


class Metric:
    """A name, its help and label names; the base of what can be printed."""

    type = ""

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

    type = "counter"

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[Labels, float] = {}
        self._functions: dict[Labels, Callable[[], float]] = {}

    def add(self, *values: str, by: float = 1.0) -> None:
        """Count."""
        self._values[values] = self._values.get(values, 0.0) + by

    def value(self, *values: str) -> float:
        """The count so far."""
        return self._values.get(values, 0.0)

    def compute(self, *values: str, by: Callable[[], float]) -> None:
        """Ask a function whenever the value is read."""
        self._functions[values] = by

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """One for each combination of labels."""
        for values, number in self._values.items():
            yield "", self.label_text(values), number
        for values, function in self._functions.items():
            yield "", self.label_text(values), function()


class Gauge(Counter):
    """Goes up and down."""

    type = "gauge"

    def set(self, *values: str, to: float) -> None:
        """Set the value."""
        self._values[values] = to


class Histogram(Metric):
    """How often values fell into which range."""

    type = "histogram"

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
            for bound, number in zip((*self._bounds, float("inf")), counts, strict=True):
                total += number
                yield "_bucket", self.label_text(values, ("le", _number(bound))), total
            yield "_sum", self.label_text(values), self._sums[values]
            yield "_count", self.label_text(values), total


def process_metrics() -> list[Metric]:
    """What Prometheus' own clients tell of a process, as far as this system knows."""
    found: list[Metric] = []
    for name, text, read in process.readings():
        metric = Counter(name, text) if name.endswith("_total") else Gauge(name, text)
        metric.compute(by=read)
        found.append(metric)
    return found


class Metrics:
    """Every metric of one manager."""

    def __init__(self) -> None:
        c = ("controller",)
        n = ("name", "controller")
        self.reconciles = Counter(
            "controller_runtime_reconcile_total", "Reconciles by result.", ("controller", "result")
        )
        self.errors = Counter("controller_runtime_reconcile_errors_total", "Reconciles that failed.", c)
        self.terminal_errors = Counter(
            "controller_runtime_terminal_reconcile_errors_total", "Reconciles that failed for good.", c
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics_total", "Reconciles that failed by a mistake in their program.", c
        )
        self.timeouts = Counter("controller_runtime_reconcile_timeouts_total", "Reconciles that took too long.", c)
        self.reconcile_time = Histogram(
            "controller_runtime_reconcile_time_seconds", "Time of a reconcile.", c, RECONCILE_BUCKETS
        )
        self.workers = Gauge("controller_runtime_max_concurrent_reconciles", "Workers of a controller.", c)
        self.active_workers = Gauge("controller_runtime_active_workers", "Workers that reconcile now.", c)
        self.queue_depth = Gauge("workqueue_depth", "Keys that wait, by priority.", (*n, "priority"))
        self.queue_adds = Counter("workqueue_adds_total", "Keys that were added.", n)
        self.queue_retries = Counter("workqueue_retries_total", "Keys that were added again after a failure.", n)
        self.queue_time = Histogram(
            "workqueue_queue_duration_seconds", "How long a key waited for a worker.", n, QUEUE_BUCKETS
        )
        self.work_time = Histogram("workqueue_work_duration_seconds", "How long a worker had a key.", n, QUEUE_BUCKETS)
        self.unfinished = Gauge("workqueue_unfinished_work_seconds", "How long keys have been with workers, in sum.", n)
        self.longest_running = Gauge(
            "workqueue_longest_running_processor_seconds", "How long the oldest key has been with a worker.", n
        )
        self.requests = Counter("rest_client_requests_total", "Requests by answer.", ("code", "host", "method"))
        self.leader = Gauge("leader_election_master_status", "1 while this process leads.", ("name",))
        self.slow_renewals = Counter(
            "leader_election_slowpath_total", "Renewals of the lease that had to read it first.", ("name",)
        )
        self.events = Counter("attractor_events_total", "Kubernetes Events by what became of them.", ("outcome",))

        self._of_process = process_metrics()

    def __iter__(self) -> Iterator[Metric]:
        yield from (value for value in vars(self).values() if isinstance(value, Metric))
        yield from self._of_process

    def text(self) -> str:
        """All metrics, in Prometheus' text format."""
        lines: list[str] = []
        for metric in self:
            lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.type}"]
            lines += [f"{metric.name}{suffix}{labels} {_number(value)}" for suffix, labels, value in metric.samples()]
        return "\n".join([*lines, ""])


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
