"""Pages about priority and fairness: kube-apiserver's metrics, and its pages of what waits where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.fairness import WAIT_BUCKETS_S, Waiting
from attractor.httpd.reply import TEXT, Reply
from attractor.wire.prometheus import family, histogram_samples, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attractor.httpd.fairness import Fairness
    from attractor.wire.prometheus import Sample

_PAGES = "/debug/api_priority_and_fairness/"
PREFIX = "apiserver_flowcontrol"


def metric_lines(fairness: Fairness) -> Iterator[str]:
    """The metrics in Prometheus' text format."""
    ran = [("", labelled(*_labels(*key)), count) for key, count in sorted(fairness.dispatched.items())]
    yield from _family("dispatched_requests_total", "counter", "Requests that ran.", ran)
    refused = [
        ("", labelled(*_labels(level, schema), ("reason", reason)), count)
        for (level, schema, reason), count in sorted(fairness.rejected.items())
    ]
    yield from _family("rejected_requests_total", "counter", "Requests that were turned away, by reason.", refused)
    waiting = dict.fromkeys(((schema.level, schema.name) for schema in fairness.configuration.schemas), 0)
    for _, _, level, request in _waiting(fairness):
        key = (level, request.flow.schema.name)
        waiting[key] = waiting.get(key, 0) + 1
    inqueue = [("", labelled(*_labels(*key)), count) for key, count in sorted(waiting.items())]
    yield from _family("current_inqueue_requests", "gauge", "Requests that wait in queues.", inqueue)
    levels = [fairness.dispatcher.levels[name] for name in sorted(fairness.dispatcher.levels)]
    gauges = {
        "current_executing_seats": ("Seats taken now.", [level.seats for level in levels]),
        "nominal_limit_seats": ("Seats of a level's own.", [level.spec.nominal for level in levels]),
        "lower_limit_seats": ("Seats left when all is lent.", [one.spec.nominal - one.spec.lendable for one in levels]),
        "upper_limit_seats": ("Seats with all that may be borrowed.",
                              [one.spec.nominal + one.spec.borrowable for one in levels]),
    }  # fmt: skip
    names = [labelled(("priority_level", level.spec.name)) for level in levels]
    for name, (explanation, values) in gauges.items():
        samples = [("", label, float(value)) for label, value in zip(names, values, strict=True)]
        yield from _family(name, "gauge", explanation, samples)
    explanation = "How long requests waited in queues before they ran."
    yield from _family("request_wait_duration_seconds", "histogram", explanation, _waits(fairness))


def _waits(fairness: Fairness) -> Iterator[Sample]:
    """Those that never waited are in the first bucket."""
    for key, dispatched in sorted(fairness.dispatched.items()):
        waited = fairness.waited.get(key)
        counts = waited.buckets if waited is not None else [0] * (len(WAIT_BUCKETS_S) + 1)
        total_s = waited.total_s if waited is not None else 0.0
        labels = (*_labels(*key), ("execute", "true"))
        yield from histogram_samples(WAIT_BUCKETS_S, counts, total_s, *labels, before=dispatched - sum(counts))


def _family(name: str, kind: str, explanation: str, samples: Iterable[Sample]) -> Iterator[str]:
    return family(f"{PREFIX}_{name}", kind, explanation, samples)


def _labels(level: str, schema: str) -> tuple[tuple[str, object], ...]:
    return ("flow_schema", schema), ("priority_level", level)


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
