"""Two controllers of the same kind: ``configpair`` is right, ``naive`` is what one writes first.

Run the right one with nothing installed: ``attractor run attractor.operators.configpair.controllers:configpair``.
"""

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.configpair.api import ConfigPair
from attractor.runtime import Context, Result, controller
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller

CHILDREN = ("cm1", "cm2")
NAME_IS_TAKEN_S = 10.0


def child_key(pair: Key, child: str) -> Key:
    """Return the key of one of a pair's ConfigMaps."""
    return Key(pair.namespace, f"{pair.name}-{child}")


def configmap(pair: ConfigPair, child: str) -> ConfigMap:
    """One of the two ConfigMaps, as the pair wants it."""
    key = child_key(pair.key, child)
    made = ConfigMap(metadata=ObjectMeta(namespace=key.namespace, name=key.name), data={"value": pair.spec.value})
    set_controller(pair, made)
    return made


@controller(for_=ConfigPair, owns=[ConfigMap])
async def configpair(ctx: Context, key: Key) -> Result | None:
    """Look at each ConfigMap every time, and mend what differs; then tell, once, what both hold."""
    pair = await ctx.find(ConfigPair, key)
    if pair is None or pair.metadata.is_deleting:
        return None
    for child in CHILDREN:
        wanted = configmap(pair, child)
        found = await ctx.find(ConfigMap, wanted.key)
        if found is None:
            await ctx.create(wanted)
        elif not is_controlled_by(found, pair):
            return Result(requeue_after_s=NAME_IS_TAKEN_S)
        elif found.data != wanted.data:
            changed = found.deep_copy()
            changed.data = wanted.data
            await ctx.patch_from(found, changed)
    if pair.status.written != pair.spec.value:
        told = pair.deep_copy()
        told.status.written = pair.spec.value
        await ctx.patch_from(pair, told, subresource="status")
    return None


@controller(for_=ConfigPair, owns=[ConfigMap], name="configpair-naive")
async def naive(ctx: Context, key: Key) -> Result | None:
    """Stop when the first ConfigMap exists, because then "it is done": a crash between the two writes, or an edit of
    the spec, is never made good."""
    pair = await ctx.find(ConfigPair, key)
    if pair is None or await ctx.find(ConfigMap, child_key(key, "cm1")) is not None:
        return None
    for child in CHILDREN:
        await ctx.create(configmap(pair, child))
    told = pair.deep_copy()
    told.status.written = pair.spec.value
    await ctx.patch_from(pair, told, subresource="status")
    return None
