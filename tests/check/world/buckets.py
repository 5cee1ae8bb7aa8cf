"""An outside system, and controllers that use it: carelessly, carefully, and in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attractor.check import happens
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, Struct
from attractor.runtime import Context, Reconciler, Result, controller

if TYPE_CHECKING:
    from attractor.check import WorldState

KEY = Key("default", "a")


class BucketStatus(Struct):
    """What is."""

    id: str = ""


class Bucket(Resource, group="test.attractor.dev", version="v1"):
    """A bucket outside."""

    status: BucketStatus = BucketStatus()


class Storage(Protocol):
    """Where buckets are."""

    async def create(self, tag: str) -> str: ...
    async def delete(self, bucket: str) -> None: ...
    async def find(self, tag: str) -> list[str]: ...


class StorageModel:
    """Buckets have ids; one tag may have several."""

    def __init__(self) -> None:
        self.buckets: dict[str, str] = {}

    def create(self, tag: str) -> str:
        made = next(name for name in ("b1", "b2", "b3", "b4", "b5") if name not in self.buckets)
        self.buckets[made] = tag
        return made

    def delete(self, bucket: str) -> None:
        self.buckets.pop(bucket, None)

    def find(self, tag: str) -> list[str]:
        return sorted(name for name, each in self.buckets.items() if each == tag)


class FragileModel(StorageModel):
    """Buckets that somebody may delete."""

    @happens(times=1)
    def somebody_deletes_a_bucket(self) -> list[Key]:
        if self.buckets:
            self.buckets.popitem()
        return [KEY]


def bucket(name: str = "a") -> Bucket:
    return Bucket(metadata=ObjectMeta(name=name, namespace="default"))


class Careless(Reconciler[Bucket]):
    """Creates a bucket whenever the status names none: a crash or a lost answer in between leaves two."""

    kind = Bucket

    async def sync(self, ctx: Context, obj: Bucket) -> Result | None:
        if not obj.status.id:
            obj.status.id = await ctx.external(Storage).create(obj.metadata.uid)
        return None

    async def clean_up(self, ctx: Context, obj: Bucket) -> Result | None:
        if obj.status.id:
            await ctx.external(Storage).delete(obj.status.id)
        return None


class Careful(Careless):
    """Looks for what is there under its tag first, and cleans up by tag."""

    async def sync(self, ctx: Context, obj: Bucket) -> Result | None:
        storage = ctx.external(Storage)
        found = await storage.find(obj.metadata.uid)
        obj.status.id = found[0] if found else await storage.create(obj.metadata.uid)
        return None

    async def clean_up(self, ctx: Context, obj: Bucket) -> Result | None:
        for name in await ctx.external(Storage).find(obj.metadata.uid):
            await ctx.external(Storage).delete(name)
        return None


careless = controller(Careless(), for_=Bucket, externals=[Storage])
careful = controller(Careful(), for_=Bucket, externals=[Storage])


def one_bucket_each(world: WorldState) -> bool:
    """Every object has exactly the bucket that its status names, and nothing else is there."""
    wanted = {obj.metadata.uid: obj.status.id for obj in world.list(Bucket)}
    return {tag: name for name, tag in world.external(Storage).buckets.items()} == wanted and len(
        world.external(Storage).buckets
    ) == len(wanted)


class Progress(Struct):
    """What background work has told."""

    id: str = ""


async def make(ctx: Context) -> None:
    """Background work: makes the bucket and tells the reconcile."""
    storage = ctx.external(Storage)
    found = await storage.find(str(ctx.key))
    name = found[0] if found else await storage.create(str(ctx.key))

    def tell(progress: Progress) -> None:
        progress.id = name

    await ctx.defer(Progress, tell)
    await ctx.schedule()


@controller(for_=Bucket, externals=[Storage])
async def behind(ctx: Context, key: Key) -> None:
    """Lets background work make the bucket."""
    obj = await ctx.find(Bucket, key)
    if obj is None:
        return
    progress = await ctx.recall(Progress)
    if progress is None:
        await ctx.remember(Progress())
        await ctx.start(make)
        return
    if progress.id and obj.status.id != progress.id:
        changed = obj.deep_copy()
        changed.status.id = progress.id
        await ctx.patch_from(obj, changed, subresource="status")


def one_bucket_by_key(world: WorldState) -> bool:
    return [obj.status.id for obj in world.list(Bucket)] == list(world.external(Storage).buckets)
