"""The node's claims: each one a directory, which goes with the claim once no pod uses it."""

from __future__ import annotations

from attractor.k8s.core_v1 import PersistentVolumeClaim, Pod
from attractor.operators.dbcluster.drivers.local.protocol import FINALIZER, Node
from attractor.runtime import Context, Key, Result, Watches, controller
from attractor.runtime.toolkit.finalizers import has_finalizer, remove_finalizer


def claims_of(pod: Pod) -> list[Key]:
    """The claims that a pod uses."""
    used = (one.persistent_volume_claim for one in pod.spec.volumes)
    return [Key(pod.metadata.namespace, one.claim_name) for one in used if one is not None]


@controller(name="local-claims", for_=PersistentVolumeClaim, watches=[Watches(Pod, claims_of)], externals=[Node])
async def claims(ctx: Context, key: Key) -> Result | None:
    """Bind a claim to its size; delete what is on it when it goes."""
    claim = await ctx.find(PersistentVolumeClaim, key)
    if claim is None or not has_finalizer(claim, FINALIZER):
        return None
    if claim.metadata.is_deleting:
        in_use = [pod for pod in await ctx.list(Pod, namespace=key.namespace) if key in claims_of(pod)]
        if not in_use:
            await ctx.external(Node).remove(key)
            ended = claim.deep_copy()
            remove_finalizer(ended, FINALIZER)
            await ctx.patch_from(claim, ended)
        return None
    bound = claim.deep_copy()
    bound.status.phase = "Bound"
    bound.status.access_modes = list(claim.spec.access_modes)
    bound.status.capacity = dict(claim.spec.resources.requests)
    if bound.status != claim.status:
        await ctx.patch_from(claim, bound, subresource="status")
    return None
