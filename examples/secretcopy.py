"""Follow what an object refers to: a Copy of a Secret from another namespace, kept up to date.

Shows: ``Watches`` through an index, reads by index, server-side apply, extra permissions.
"""

from attractor import Context, Index, Key, ObjectMeta, Permission, Resource, Result, Struct, Watches, controller
from attractor.k8s import Secret
from attractor.toolkit import set_controller


class CopySpec(Struct):
    """Which Secret."""

    from_namespace: str
    from_name: str


class Copy(Resource, group="examples.attractor.dev", version="v1", plural="copies"):
    """A copy of a Secret, under the Copy's own name."""

    spec: CopySpec


def sources(copy: Copy) -> list[str]:
    """The Secrets that a Copy depends on."""
    return [f"{copy.spec.from_namespace}/{copy.spec.from_name}"]


@controller(
    for_=Copy,
    watches=[Watches(Secret, index="source")],
    indexes=[Index(Copy, "source", sources)],
    permissions=[Permission(Secret, ("create", "patch"))],
)
async def secretcopy(ctx: Context, key: Key) -> Result | None:
    """Apply the source's data under the Copy's name; a source that is missing will wake us when it comes."""
    copy = await ctx.find(Copy, key)
    if copy is None or copy.metadata.is_deleting:
        return None
    source = await ctx.find(Secret, Key(copy.spec.from_namespace, copy.spec.from_name))
    known = await ctx.find(Secret, key)
    if source is None or (known is not None and known.data == source.data):
        return None
    made = Secret(metadata=ObjectMeta(namespace=key.namespace, name=key.name), data=source.data)
    set_controller(copy, made)
    await ctx.apply(made)
    others = await ctx.list(Copy, index=("source", sources(copy)[0]))
    ctx.log.info("copied", source=str(source.key), copies=len(others))
    return None
