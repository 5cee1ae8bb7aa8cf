"""Planners that delete what has expired: events, and the leases of API servers that are no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from attractor.apiserver.request.caller import DeleteOptions, Preconditions
from attractor.apiserver.request.operation import Operation
from attractor.objects.timestamps import TimestampError, parse_micro_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.store.contract import Entry, Snapshot

EVENT_TTL_S = 3600
"""How long an event is kept after it was last written, as in Kubernetes."""

LEASES = "coordination.k8s.io/leases/kube-system/"
IDENTITY_LABEL = "apiserver.kubernetes.io/identity"


class _Written(msgspec.Struct):
    time: str | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    namespace: str = ""
    creation_timestamp: str | None = None
    labels: dict[str, str] = {}
    managed_fields: list[_Written] = []


class _Series(msgspec.Struct, rename="camel"):
    last_observed_time: str | None = None


class _Event(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    last_timestamp: str | None = None
    event_time: str | None = None
    series: _Series | None = None


class _LeaseSpec(msgspec.Struct, rename="camel"):
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class _Lease(msgspec.Struct):
    metadata: _Metadata
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


_event = msgspec.json.Decoder(_Event).decode
_lease = msgspec.json.Decoder(_Lease).decode


def _seconds(text: str | None) -> int:
    """A time in seconds; 0 when there is none."""
    if not text:
        return 0
    for parse in (parse_time, parse_micro_time):
        try:
            return parse(text).seconds
        except TimestampError:
            continue
    return 0


def plan_events(snapshot: Snapshot, now: str) -> Iterator[Operation]:
    """Delete the events that nobody has written for an hour."""
    oldest = _seconds(now) - EVENT_TTL_S
    for entry in snapshot.range("core/events/"):
        event = _event(entry.value)
        times = [event.metadata.creation_timestamp, event.last_timestamp, event.event_time]
        times += [written.time for written in event.metadata.managed_fields]
        if event.series is not None:
            times.append(event.series.last_observed_time)
        if max(map(_seconds, times)) <= oldest:
            yield _delete("", "events", event.metadata, entry)


def plan_leases(snapshot: Snapshot, now: str) -> Iterator[Operation]:
    """Delete the leases of API servers that have not been renewed in their time."""
    for entry in snapshot.range(LEASES):
        lease = _lease(entry.value)
        duration, renewed = lease.spec.lease_duration_seconds, _seconds(lease.spec.renew_time)
        if IDENTITY_LABEL not in lease.metadata.labels or duration is None or not renewed:
            continue
        if renewed + duration < _seconds(now):
            yield _delete("coordination.k8s.io", "leases", lease.metadata, entry)


def _delete(group: str, resource: str, metadata: _Metadata, entry: Entry) -> Operation:
    """A delete of exactly what was looked at."""
    conditions = Preconditions(uid=metadata.uid, resource_version=str(entry.revision))
    return Operation(
        verb="delete",
        group=group,
        version="v1",
        resource=resource,
        namespace=metadata.namespace,
        name=metadata.name,
        delete=DeleteOptions(preconditions=conditions),
    )
