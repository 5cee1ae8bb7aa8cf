"""Missing precondition: an old ConfigMap is deleted by its name, and its successor dies.

The ConfigMap that the cache shows is marked for removal. Meanwhile somebody has removed it and made another one of the
same name. A delete that names the uid is refused; a delete by name is not. This is the case that the stale-cache table
of the second seed misses.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, controller


@controller(for_=ConfigMap)
async def buggy(ctx: Context, key: Key) -> None:
    found = await ctx.find(ConfigMap, key)
    if found is not None and found.metadata.labels.get("obsolete") == "yes":
        await ctx.delete_key(ConfigMap, key)


@controller(for_=ConfigMap)
async def fixed(ctx: Context, key: Key) -> None:
    found = await ctx.find(ConfigMap, key)
    if found is not None and found.metadata.labels.get("obsolete") == "yes":
        await ctx.delete(found)
