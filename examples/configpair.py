"""A custom resource whose two ConfigMaps are kept equal to it.

Run it with nothing installed: ``attractor run examples/configpair.py``.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, Struct
from attractor.runtime import Context, Result, controller
from attractor.runtime.toolkit.owners import set_controller


class ConfigPairSpec(Struct):
    """What both ConfigMaps should hold."""

    data: dict[str, str] = {}


class ConfigPair(Resource, group="examples.attractor.dev", version="v1", short_names=("pair",)):
    """Two ConfigMaps, ``<name>-1`` and ``<name>-2``, with the same data."""

    spec: ConfigPairSpec


@controller(for_=ConfigPair, owns=[ConfigMap])
async def configpair(ctx: Context, key: Key) -> Result | None:
    """Bring both ConfigMaps in line with the pair."""
    pair = await ctx.find(ConfigPair, key)
    if pair is None or pair.metadata.is_deleting:
        return None
    for number in (1, 2):
        name = Key(key.namespace, f"{key.name}-{number}")
        found = await ctx.find(ConfigMap, name)
        if found is None:
            made = ConfigMap(metadata=ObjectMeta(namespace=name.namespace, name=name.name), data=pair.spec.data)
            set_controller(pair, made)
            await ctx.create(made)
        elif found.data != pair.spec.data:
            changed = found.deep_copy()
            changed.data = pair.spec.data
            await ctx.merge(found, changed)
    return None
