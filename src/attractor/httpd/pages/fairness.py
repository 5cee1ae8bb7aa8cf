"""What priority and fairness does, for people: kube-apiserver's metrics, and its pages of what waits where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.fairness import WAIT_BUCKETS_S, Waiting
from attractor.httpd.reply import TEXT, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.httpd.fairness import Fairness

_PAGES = "/debug/api_priority_and_fairness/"
PREFIX = "apiserver_flowcontrol"


def metric_lines(fairness: Fairness) -> Iterator[str]:
    """The metrics in Prometheus' text format."""
    yield from _heading("dispatched_requests_total", "counter", "Requests that ran.")
    for (level, schema), count in sorted(fairness.dispatched.items()):
        yield f"{PREFIX}_dispatched_requests_total{_labels(schema, level)} {count}"
    yield from _heading("rejected_requests_total", "counter", "Requests that were turned away, by reason.")
    for (level, schema, reason), count in sorted(fairness.rejected.items()):
        yield f'{PREFIX}_rejected_requests_total{_labels(schema, level)[:-1]},reason="{reason}"}} {count}'
    yield from _heading("current_inqueue_requests", "gauge", "Requests that wait in queues.")
    waiting = dict.fromkeys(((schema.level, schema.name) for schema in fairness.configuration.schemas), 0)
    for _, _, level, request in _waiting(fairness):
        key = (level, request.flow.schema.name)
        waiting[key] = waiting.get(key, 0) + 1
    for (level, schema), count in sorted(waiting.items()):
        yield f"{PREFIX}_current_inqueue_requests{_labels(schema, level)} {count}"
    yield from _seat_lines(fairness)
    yield from _wait_lines(fairness)


def _seat_lines(fairness: Fairness) -> Iterator[str]:
    levels = [fairness.dispatcher.levels[name] for name in sorted(fairness.dispatcher.levels)]
    gauges = {
        "current_executing_seats": ("Seats taken now.", [level.seats for level in levels]),
        "nominal_limit_seats": ("Seats of a level's own.", [level.spec.nominal for level in levels]),
        "lower_limit_seats": ("Seats left when all is lent.", [one.spec.nominal - one.spec.lendable for one in levels]),
        "upper_limit_seats": ("Seats with all that may be borrowed.",
                              [one.spec.nominal + one.spec.borrowable for one in levels]),
    }  # fmt: skip
    for name, (explanation, values) in gauges.items():
        yield from _heading(name, "gauge", explanation)
        for level, value in zip(levels, values, strict=True):
            yield f'{PREFIX}_{name}{{priority_level="{level.spec.name}"}} {value}'


def _wait_lines(fairness: Fairness) -> Iterator[str]:
    """Those that never waited are in the first bucket."""
    name = "request_wait_duration_seconds"
    yield from _heading(name, "histogram", "How long requests waited in queues before they ran.")
    for key, dispatched in sorted(fairness.dispatched.items()):
        labels = _labels(key[1], key[0])[:-1]
        waited = fairness.waited.get(key)
        buckets = waited.buckets if waited is not None else [0] * (len(WAIT_BUCKETS_S) + 1)
        total = dispatched - sum(buckets)
        for bound, count in zip((*map(str, WAIT_BUCKETS_S), "+Inf"), buckets, strict=True):
            total += count
            yield f'{PREFIX}_{name}_bucket{labels},execute="true",le="{bound}"}} {total}'
        total_s = waited.total_s if waited is not None else 0.0
        yield f'{PREFIX}_{name}_sum{labels},execute="true"}} {total_s:.6f}'
        yield f'{PREFIX}_{name}_count{labels},execute="true"}} {total}'


def _heading(name: str, kind: str, explanation: str) -> Iterator[str]:
    yield f"# HELP {PREFIX}_{name} {explanation}"
    yield f"# TYPE {PREFIX}_{name} {kind}"


def _labels(schema: str, level: str) -> str:
    return f'{{flow_schema="{schema}",priority_level="{level}"}}'


def _waiting(fairness: Fairness) -> Iterator[tuple[int, int, str, Waiting]]:
    """Queue, place in it, level and request, of all that wait."""
    for name, level in sorted(fairness.dispatcher.levels.items()):
        for number, queue in sorted(level.queues.items()):
            for place, ticket in enumerate(queue.tickets):
                assert isinstance(ticket.label, Waiting)
                yield number, place, name, ticket.label


def debug_page(fairness: Fairness, path: str) -> Reply | None:
    """``/debug/api_priority_and_fairness/dump_...`` as kube-apiserver has it: lines of values with commas."""
    if not path.startswith(_PAGES):
        return None
    match path.removeprefix(_PAGES):
        case "dump_priority_levels":
            rows = list(_level_rows(fairness))
        case "dump_queues":
            rows = list(_queue_rows(fairness))
        case "dump_requests":
            rows = list(_request_rows(fairness))
        case _:
            return None
    text = "".join(", ".join(str(value) for value in row) + "\n" for row in rows)
    return Reply(200, text.encode(), TEXT)


def _level_rows(fairness: Fairness) -> Iterator[tuple[object, ...]]:
    names = ("ActiveQueues", "IsIdle", "WaitingRequests", "ExecutingSeats", "DispatchedRequests", "RejectedRequests")
    yield ("PriorityLevelName", *names)
    fairness.configuration  # noqa: B018 - makes it current
    for name, level in sorted(fairness.dispatcher.levels.items()):
        active = sum(1 for queue in level.queues.values() if queue.tickets)
        ran = sum(count for key, count in fairness.dispatched.items() if key[0] == name)
        refused = sum(count for key, count in fairness.rejected.items() if key[0] == name)
        is_idle = str(not level.seats and not level.waiting).lower()
        yield name, active, is_idle, level.waiting, level.seats, ran, refused


def _queue_rows(fairness: Fairness) -> Iterator[tuple[object, ...]]:
    yield "PriorityLevelName", "Index", "PendingRequests", "SeatsWaiting", "ServedSeatSeconds"
    for name, level in sorted(fairness.dispatcher.levels.items()):
        for number, queue in sorted(level.queues.items()):
            yield name, number, len(queue.tickets), queue.waiting_seats, f"{queue.served:.4f}"


def _request_rows(fairness: Fairness) -> Iterator[tuple[object, ...]]:
    yield "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistinguisher"
    for number, place, level, request in _waiting(fairness):
        yield level, request.flow.schema.name, number, place, request.flow.distinguisher
