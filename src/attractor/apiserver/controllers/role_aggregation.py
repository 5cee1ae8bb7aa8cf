"""Aggregated ClusterRoles as a planner: their rules are those of the ClusterRoles that their selectors match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.auth.rbac import GROUP
from attractor.apiserver.request.operation import Operation, WriteOptions
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attractor.store.contract import Snapshot

PREFIX = f"{GROUP}/clusterroles/"
MANAGER = "clusterrole-aggregation-controller"


def plan_aggregation(snapshot: Snapshot) -> Iterator[Operation]:
    """Bring the rules of every aggregated ClusterRole up to date, in the order of the names of their sources.

    They follow from the roles that are not aggregated, so that one write for each is enough, whatever aggregates what.
    """
    roles = [_Source(orjson.loads(entry.value), entry.revision) for entry in snapshot.range(PREFIX)]
    for role in roles:
        if role.selectors is None:
            continue
        rules: dict[bytes, Any] = {}
        for source in _sources(role, roles):
            for rule in source.role.get("rules") or ():
                rules.setdefault(orjson.dumps(rule, option=orjson.OPT_SORT_KEYS), rule)
        if list(rules.values()) != (role.role.get("rules") or []):
            yield Operation(
                verb="patch",
                group=GROUP,
                version="v1",
                resource="clusterroles",
                name=role.role["metadata"]["name"],
                body={"metadata": {"resourceVersion": str(role.revision)}, "rules": list(rules.values())},
                write=WriteOptions(field_manager=MANAGER),
            )


class _Source:
    """A ClusterRole, and what it aggregates."""

    def __init__(self, role: dict[str, Any], revision: int) -> None:
        self.role, self.revision = role, revision
        self.labels: dict[str, str] = role["metadata"].get("labels") or {}
        self.selectors: list[LabelSelector] | None = None
        """None for a role that is not aggregated."""
        if role.get("aggregationRule"):
            given = role["aggregationRule"].get("clusterRoleSelectors") or ()
            self.selectors = [found for one in given if (found := LabelSelector.of_object(one)) is not None]

    def aggregates(self, other: _Source) -> bool:
        """Whether a selector matches another role."""
        return any(selector.matches(other.labels) for selector in self.selectors or ())


def _sources(role: _Source, roles: Sequence[_Source]) -> Iterator[_Source]:
    """The roles that are not aggregated and whose rules a role has, each once; they may aggregate each other."""
    left = {id(other): other for other in roles}
    pending = [role]
    while pending:
        found = pending.pop()
        if left.pop(id(found), None) is None:
            continue  # it was found on another way
        if found.selectors is None:
            yield found
        else:
            pending += [other for other in reversed(left.values()) if found.aggregates(other)]
