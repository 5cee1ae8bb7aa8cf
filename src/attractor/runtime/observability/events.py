"""Kubernetes Events with aggregation: what happened to an object, told once, counted after.

Contract: recording never blocks and never fails a reconcile. Equal events (object, type, reason, message) are one
stored Event whose count grows; more than ``SIMILAR`` different messages of one reason on one object within the window
become one Event "(combined from similar events)"; an object that tells more than its budget is not heard for a while.

``EventCorrelator`` is the core, without a clock or a client; ``EventRecorder`` writes what it decides.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attractor.objects.errors import ApiError, NotFound
from attractor.objects.gvk import Key
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime.effects import EventKind
    from attractor.runtime.observability.metrics import Metrics

SIMILAR = 10
WINDOW_S = 600.0
BURST = 25
REFILL_S = 300.0
KEPT = 4096
MAX_WAITING = 1000
MAX_NAME = 253
"""How long a name may be."""
COMBINED = "(combined from similar events): "


@dataclass(frozen=True)
class Occurrence:
    """One event that a reconcile tells."""

    subject: tuple[str, str, str, str, str]
    """apiVersion, kind, namespace, name and uid of the object."""
    type: EventKind
    reason: str
    message: str


@dataclass
class Record:
    """One stored Event."""

    occurrence: Occurrence
    name: str
    first: datetime
    last: datetime
    count: int = 1
    is_stored: bool = False


@dataclass
class EventCorrelator:
    """Decides what becomes of each occurrence; the least recently used knowledge is dropped first."""

    _records: OrderedDict[Occurrence, Record] = field(default_factory=OrderedDict)
    _similar: OrderedDict[tuple[tuple[str, ...], str, str], tuple[datetime, set[str]]] = field(
        default_factory=OrderedDict
    )
    _budgets: OrderedDict[tuple[str, ...], tuple[float, datetime]] = field(default_factory=OrderedDict)
    _names: int = 0

    def correlate(self, occurrence: Occurrence, now: datetime) -> Record | None:
        """The stored Event to create or to count up; None when the object has told too much."""
        if not self._take_budget(occurrence.subject, now):
            return None
        occurrence = self._combined(occurrence, now)
        record = self._records.pop(occurrence, None)
        if record is not None and abs((now - record.last).total_seconds()) > WINDOW_S:
            record = None
        if record is None:
            self._names += 1
            stamp = f"{int(now.timestamp() * 1e6):x}{self._names:04x}"
            record = Record(occurrence, f"{_shortened(occurrence.subject[3], len(stamp))}.{stamp}", now, now)
        else:
            record.count += 1
            record.last = now
        _keep(self._records, occurrence, record)
        return record

    def _combined(self, occurrence: Occurrence, now: datetime) -> Occurrence:
        group = (occurrence.subject, occurrence.type, occurrence.reason)
        since, messages = self._similar.pop(group, (now, set()))
        if abs((now - since).total_seconds()) > WINDOW_S:
            since, messages = now, set()
        if len(messages) < SIMILAR:
            messages.add(occurrence.message)
        _keep(self._similar, group, (since, messages))
        if occurrence.message in messages:
            return occurrence
        text = f"{COMBINED}{occurrence.reason}"
        return Occurrence(occurrence.subject, occurrence.type, occurrence.reason, text)

    def _take_budget(self, subject: tuple[str, ...], now: datetime) -> bool:
        tokens, then = self._budgets.pop(subject, (float(BURST), now))
        passed_s = max(0.0, (now - then).total_seconds())  # a clock that is put back takes nothing away
        tokens = min(float(BURST), tokens + passed_s / REFILL_S)
        is_allowed = tokens >= 1.0
        _keep(self._budgets, subject, (tokens - 1.0 if is_allowed else tokens, now))
        return is_allowed


def _shortened(name: str, beside: int) -> str:
    """As much of an object's name as leaves room for a dot and so many characters in the name of its Event."""
    return name[: MAX_NAME - beside - 1].rstrip("-.")


def _keep(known: OrderedDict, key: object, value: object) -> None:  # type: ignore[type-arg]
    known[key] = value
    if len(known) > KEPT:
        known.popitem(last=False)


def subject_of(obj: Resource) -> tuple[str, str, str, str, str]:
    """Return the object reference of an Event."""
    meta = obj.metadata
    return (obj.api_version, obj.kind, meta.namespace, meta.name, meta.uid)


class EventRecorder:
    """Writes Events in the background; its owner runs ``run()`` in a task group."""

    def __init__(self, client: Client, metrics: Metrics, now: Callable[[], datetime], *, instance: str = "") -> None:
        self._client = client
        self._metrics = metrics
        self._now = now
        self._instance = instance
        self._correlator = EventCorrelator()
        self._waiting: Channel[tuple[str, Record, int]] = Channel()
        self._log = FieldLogger("attractor.runtime.observability.events")

    def record(self, controller: str, obj: Resource, type_: EventKind, reason: str, message: str) -> None:
        """Tell; when too many wait to be written, the event is dropped and counted as such."""
        occurrence = Occurrence(subject_of(obj), type_, reason, message)
        record = self._correlator.correlate(occurrence, self._now())
        if record is None or self._waiting.is_closed or len(self._waiting) >= MAX_WAITING:
            self._metrics.events.add("dropped")
            return
        self._waiting.send((controller, record, record.count))

    def close(self) -> None:
        """Record nothing more; ``run`` ends once what waits is written."""
        self._waiting.close()

    async def run(self) -> None:
        """Write what was recorded, in order, until closed or cancelled."""
        async for controller, record, count in self._waiting:
            if count < record.count:
                continue  # a later count of the same Event waits behind this one
            try:
                await self._write(controller, record)
                self._metrics.events.add("written")
            except Exception as error:  # what an author's message holds must not end everything
                self._metrics.events.add("failed")
                said = error.message if isinstance(error, ApiError) else str(error)
                self._log.warning("event not written", reason=record.occurrence.reason, error=said)

    async def _write(self, controller: str, record: Record) -> None:
        from attractor.k8s.core_v1 import Event

        key = Key(record.occurrence.subject[2] or "default", record.name)
        if record.is_stored:
            patch: JsonObject = {"count": record.count, "lastTimestamp": _stamp(record.last)}
            try:
                await self._client.patch(Event, key, patch)
            except NotFound:
                record.is_stored = False
            else:
                return
        await self._client.create(Event.from_dict(_event(key, controller, self._instance, record)))
        record.is_stored = True


def _event(key: Key, controller: str, instance: str, record: Record) -> JsonObject:
    api_version, kind, namespace, name, uid = record.occurrence.subject
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name, "uid": uid,
        },
        "type": record.occurrence.type,
        "reason": record.occurrence.reason,
        "message": record.occurrence.message,
        "source": {"component": controller},
        "reportingComponent": controller,
        "reportingInstance": instance,
        "firstTimestamp": _stamp(record.first),
        "lastTimestamp": _stamp(record.last),
        "count": record.count,
    }  # fmt: skip


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
