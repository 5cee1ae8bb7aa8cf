"""Immutable children, named by a hash of what they are made from: old ones go once the new ones are there.

Shows: hashed names, owners, lists, garbage that is cleaned up, every-owner watches.
"""

from attractor import AlreadyExists, Context, Key, ObjectMeta, Owns, Resource, Result, Struct, controller
from attractor.k8s import ConfigMap
from attractor.toolkit import hashed_name, is_controlled_by, set_controller, split_children


class ReleaseSpec(Struct):
    """What to release, and how often."""

    content: dict[str, str] = {}
    copies: int = 1


class Release(Resource, group="examples.attractor.dev", version="v1"):
    """Some copies of some content."""

    spec: ReleaseSpec


@controller(for_=Release, owns=[Owns(ConfigMap, every_owner=True)], workers=2)
async def releases(ctx: Context, key: Key) -> Result | None:
    """Create what is missing, then delete what is stale; a child is never changed."""
    release = await ctx.find(Release, key)
    if release is None or release.metadata.is_deleting:
        return None
    wanted = [hashed_name(key.name, release.spec.content, number) for number in range(release.spec.copies)]
    listed = await ctx.list(ConfigMap, namespace=key.namespace)
    current, stale = split_children([one for one in listed if is_controlled_by(one, release)], wanted)
    for name in set(wanted) - {one.metadata.name for one in current}:
        child = ConfigMap(metadata=ObjectMeta(namespace=key.namespace, name=name), data=release.spec.content)
        child.immutable = True
        set_controller(release, child)
        try:
            await ctx.create(child)
        except AlreadyExists:
            ctx.log.warning("the name is taken by somebody else's object", name=name)
            return Result(requeue=True)
    for child in stale:
        await ctx.delete(child)
    return None
