"""Follow what another kind does: every Namespace with a ``banner`` annotation has a ConfigMap that shows it.

Shows: ``Watches`` with a map function, predicates and their combinators, rate limits, reads past the cache, patches.
"""

from attractor import (
    Backoff,
    Context,
    For,
    Key,
    MaxOf,
    ObjectMeta,
    Permission,
    Result,
    TokenBucket,
    Watches,
    controller,
)
from attractor.k8s import ConfigMap, Namespace
from attractor.toolkit import Predicate, annotations_changed, created, deleted

NAME = "banner"
is_banner = Predicate(lambda change: change.object.metadata.name == NAME, "is a banner")


def namespace_of(shown: ConfigMap) -> list[Key]:
    """Whose banner a ConfigMap is."""
    return [Key("", shown.metadata.namespace)]


@controller(
    for_=For(Namespace, when=(created | annotations_changed) & ~deleted),
    watches=[Watches(ConfigMap, namespace_of, when=is_banner & ~created)],
    permissions=[Permission(ConfigMap, ("get", "create", "patch", "delete"))],
    limiter=lambda: MaxOf(Backoff(base_s=0.1), TokenBucket(rate=10, burst=100)),
)
async def banners(ctx: Context, key: Key) -> Result | None:
    """Show what the annotation says; read from the server what may have been changed a moment ago."""
    namespace = await ctx.find(Namespace, key)
    if namespace is None or namespace.metadata.is_deleting:
        return None
    shown, text = Key(key.name, NAME), namespace.metadata.annotations.get(NAME)
    found = await ctx.find(ConfigMap, shown, cached=False)
    if text is None:
        if found is not None:
            await ctx.delete(found)
    elif found is None:
        await ctx.create(ConfigMap(metadata=ObjectMeta(namespace=key.name, name=NAME), data={"text": text}))
    elif found.data.get("text") != text:
        there = "replace" if "text" in found.data else "add"
        await ctx.patch(ConfigMap, shown, [{"op": there, "path": "/data/text", "value": text}], type="json")
    return None
