"""The plan of a cluster without carrying it out: ``plan_for(client, cluster)`` reads, and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.errors import ApiError
from attractor.operators.dbcluster.api.types import Cluster
from attractor.operators.dbcluster.controllers import names, objects
from attractor.operators.dbcluster.controllers import plan as planning
from attractor.operators.dbcluster.controllers.entropy import Certificate
from attractor.plan import Snapshot
from attractor.runtime.toolkit.owners import is_controlled_by

if TYPE_CHECKING:
    from attractor.client import Client
    from attractor.k8s.core_v1 import Secret
    from attractor.objects.resource import Resource
    from attractor.plan import Plan

NOT_FOUND = 404
"""No such object, or the kind is not installed."""
PLACEHOLDER = "made when the plan is carried out"

kind = Cluster
"""What ``attractor plan`` reads from a file for this module."""


async def plan_for(client: Client, cluster: Cluster) -> Plan:
    """Return what the operator would do for this spec, from what the server has now. Raises ``Refused``.

    A cluster that is not stored yet is planned as if it were.
    """
    cluster = await _as_stored(client, cluster)
    found: list[Resource] = []
    for kind in planning.KINDS:
        listed = await client.list(kind, cluster.metadata.namespace, label_selector=names.selector(cluster))
        found += [obj for obj in listed if is_controlled_by(obj, cluster) or obj.metadata.controller is None]
    snapshot = Snapshot(found)
    return planning.build(planning.Inputs(cluster, snapshot, _secrets(cluster, snapshot)))


async def _as_stored(client: Client, cluster: Cluster) -> Cluster:
    """The cluster with the identity of the stored one of its name; a new one has an identity to be."""
    made = cluster.deep_copy()
    try:
        stored = await client.get(Cluster, cluster.key)
    except ApiError as error:
        if error.code != NOT_FOUND:
            raise
        made.metadata.uid = made.metadata.uid or PLACEHOLDER
        return made
    made.metadata = stored.metadata
    made.status = stored.status
    return made


def _secrets(cluster: Cluster, snapshot: Snapshot) -> tuple[Secret, ...]:
    """The wanted secrets; the random ones stand for what would be made."""
    missing = set(planning.missing_secrets(cluster, snapshot))
    wanted = [objects.credentials(cluster, PLACEHOLDER)]
    wanted += [
        objects.certificate(cluster, one, Certificate(PLACEHOLDER, PLACEHOLDER))
        for one in cluster.spec.components
        if one.tls
    ]
    return tuple(made if made.key in missing else planning.as_wanted(snapshot, made.key) for made in wanted)
