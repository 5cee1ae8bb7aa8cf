"""The pattern that plans replace: prepare all objects, then create each, and update the one that is there already.

Its two problems: what is special about an object (its order, that it must not change) is nowhere, and what is no longer
prepared is never deleted.
"""

from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap, Secret, Service, ServiceAccount
from attractor.objects.errors import AlreadyExists
from attractor.objects.resource import Resource
from attractor.operators.dbcluster import Cluster
from attractor.operators.dbcluster.controllers import objects as rendering
from attractor.operators.dbcluster.controllers.entropy import Entropy
from attractor.plan.comparison import is_as_desired, overlay
from attractor.plan.comparison import marked as with_mark
from attractor.runtime import Context, Key, Result, controller
from attractor.runtime.toolkit.owners import set_controller


def prepare(cluster: Cluster, password: str) -> list[Resource]:
    """Everything, in the order in which somebody thought of it; the configuration has one name for ever."""
    found: list[Resource] = [rendering.account(cluster)]
    for component in cluster.spec.components:
        config, headless, workload, _ = rendering.component_objects(cluster, component)
        config.metadata.name = f"{cluster.metadata.name}-{component.name}-config"
        workload.spec.template.spec.volumes[0].config_map.name = config.metadata.name  # type: ignore[union-attr]
        found += [config, headless, workload]
    return [*found, rendering.credentials(cluster, password)]


@controller(for_=Cluster, owns=[ConfigMap, Secret, Service, ServiceAccount, StatefulSet], externals=[Entropy])
async def prepared_clusters(ctx: Context, key: Key) -> Result | None:
    cluster = await ctx.find(Cluster, key)
    if cluster is None or cluster.metadata.is_deleting:
        return None
    for obj in prepare(cluster, await ctx.external(Entropy).password(8)):
        set_controller(cluster, obj)
        try:
            await ctx.create(with_mark(obj))
        except AlreadyExists:
            stored = await ctx.get(type(obj), obj.key, cached=False)
            if not is_as_desired(stored, obj):
                await ctx.update(overlay(stored, obj))
    return None
