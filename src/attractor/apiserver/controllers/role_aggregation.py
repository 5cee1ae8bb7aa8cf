"""Aggregated ClusterRoles as a planner: their rules are those of the ClusterRoles that their selectors match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.auth.rbac import GROUP
from attractor.apiserver.request.operation import Operation, WriteOptions
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.store.contract import Snapshot

PREFIX = f"{GROUP}/clusterroles/"
MANAGER = "clusterrole-aggregation-controller"


def plan_aggregation(snapshot: Snapshot) -> Iterator[Operation]:
    """Bring the rules of every aggregated ClusterRole up to date, in the order of the names of their sources."""
    roles: list[tuple[dict[str, Any], int]] = [
        (orjson.loads(entry.value), entry.revision) for entry in snapshot.range(PREFIX)
    ]
    for role, revision in roles:
        if not role.get("aggregationRule"):
            continue
        given = role["aggregationRule"].get("clusterRoleSelectors") or ()
        selectors = [found for one in given if (found := LabelSelector.of_object(one)) is not None]
        rules: list[Any] = []
        for source, _ in roles:
            labels = source["metadata"].get("labels") or {}
            if source is not role and any(selector.matches(labels) for selector in selectors):
                rules += [rule for rule in source.get("rules") or () if rule not in rules]
        if rules != (role.get("rules") or []):
            yield Operation(
                verb="patch",
                group=GROUP,
                version="v1",
                resource="clusterroles",
                name=role["metadata"]["name"],
                body={"metadata": {"resourceVersion": str(revision)}, "rules": rules},
                write=WriteOptions(field_manager=MANAGER),
            )
