"""Prometheus metrics, in the names that controller-runtime and client-go use, so that existing dashboards work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.wire.prometheus import Counter, Gauge, Histogram, Metric, process_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

RECONCILE_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip
QUEUE_BUCKETS = tuple(10.0 ** (exponent - 8) for exponent in range(12))


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
        self.queue_retries = Counter("workqueue_retries_total", "Keys that were added to run later.", n)
        self.queue_time = Histogram(
            "workqueue_queue_duration_seconds", "How long a key waited for a worker.", n, QUEUE_BUCKETS
        )
        self.work_time = Histogram("workqueue_work_duration_seconds", "How long a worker had a key.", n, QUEUE_BUCKETS)
        self.unfinished = Gauge("workqueue_unfinished_work_seconds", "How long keys have been with workers, in sum.", n)
        self.longest_running = Gauge(
            "workqueue_longest_running_processor_seconds", "How long the oldest key has been with a worker.", n
        )
        self.stuck = Gauge(
            "attractor_stuck_reconciles",
            "Reconciles that have not ended for more than a minute, by the line of code that they wait at.",
            ("controller", "line"),
        )
        self.self_triggered = Counter(
            "attractor_self_triggered_reconciles_total",
            "Reconciles of often reconciled objects to which nothing but the controller's own writes led.",
            c,
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
        return "\n".join([*(line for metric in self for line in metric.lines()), ""])
