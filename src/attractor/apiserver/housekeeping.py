"""Small duties of a control plane, as planners: what every namespace has, and what does not stay.

Every active namespace has a ServiceAccount ``default`` and, where the cluster has an authority, a ConfigMap
``kube-root-ca.crt`` with its certificate. Events go an hour after they last happened. Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.operation import DeleteOptions, Operation, Preconditions, WriteOptions
from attractor.objects.timestamps import TimestampError, parse_micro_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.timestamps import Moment
    from attractor.store.contract import Entry, Snapshot

NAMESPACES, ACCOUNTS, CONFIG_MAPS, EVENTS = (
    f"core/{resource}/" for resource in ("namespaces", "serviceaccounts", "configmaps", "events")
)
DEFAULT_ACCOUNT, ROOT_CA = "default", "kube-root-ca.crt"
EVENT_TTL_S = 3600
_WHY = "Contains a CA bundle that can be used to verify the server."


def plan_accounts(snapshot: Snapshot, root_ca: str = "") -> Iterator[Operation]:
    """The accounts and authorities that namespaces lack; an authority that differs is put right."""
    for entry in snapshot.range(NAMESPACES):
        namespace = orjson.loads(entry.value)["metadata"]
        if namespace.get("deletionTimestamp"):
            continue
        name = namespace["name"]
        if snapshot.get(f"{ACCOUNTS}{name}/{DEFAULT_ACCOUNT}") is None:
            yield _create(
                name, "serviceaccounts", {"metadata": {"name": DEFAULT_ACCOUNT}}, "service-account-controller"
            )
        if root_ca:
            yield from _plan_authority(name, snapshot.get(f"{CONFIG_MAPS}{name}/{ROOT_CA}"), root_ca)


def _plan_authority(namespace: str, found: Entry | None, root_ca: str) -> Iterator[Operation]:
    manager = "root-ca-cert-publisher"
    wanted = {"ca.crt": root_ca}
    if found is None:
        annotations = {"kubernetes.io/description": _WHY}
        body = {"metadata": {"name": ROOT_CA, "annotations": annotations}, "data": wanted}
        yield _create(namespace, "configmaps", body, manager)
    elif orjson.loads(found.value).get("data") != wanted:
        body = {"metadata": {"resourceVersion": str(found.revision)}, "data": wanted}
        yield Operation(
            verb="patch",
            group="",
            version="v1",
            resource="configmaps",
            namespace=namespace,
            name=ROOT_CA,
            body=body,
            write=WriteOptions(field_manager=manager),
        )


def _create(namespace: str, resource: str, body: dict[str, Any], manager: str) -> Operation:
    return Operation(
        verb="create",
        group="",
        version="v1",
        resource=resource,
        namespace=namespace,
        body=body,
        write=WriteOptions(field_manager=manager),
    )


def plan_expired_events(snapshot: Snapshot, now: Moment, ttl_s: int = EVENT_TTL_S) -> Iterator[Operation]:
    """The end of events that last happened too long ago."""
    for entry in snapshot.range(EVENTS):
        event = orjson.loads(entry.value)
        if _last_seen_s(event) + ttl_s < now.seconds:
            metadata = event["metadata"]
            yield Operation(
                verb="delete",
                group="",
                version="v1",
                resource="events",
                namespace=metadata["namespace"],
                name=metadata["name"],
                delete=DeleteOptions(
                    preconditions=Preconditions(uid=metadata["uid"], resource_version=str(entry.revision))
                ),
            )


def _last_seen_s(event: dict[str, Any]) -> int:
    """When an event last happened: the latest of the times it carries."""
    series = event.get("series") or {}
    times = (
        event["metadata"].get("creationTimestamp"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        series.get("lastObservedTime"),
    )
    return max((_seconds(text) for text in times if text), default=0)


def _seconds(text: str) -> int:
    try:
        return parse_time(text).seconds
    except TimestampError:
        return parse_micro_time(text).seconds
