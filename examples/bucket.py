"""An outside system behind a finalizer: a Bucket in the API is a bucket in some object store.

Shows: ``Reconciler`` (finalizer, one write a run), ``externals``, conditions, Events.
"""

from typing import Protocol

from attractor import Condition, Context, Reconciler, Resource, Result, Struct, controller
from attractor.toolkit import set_condition


class ObjectStore(Protocol):
    """What the controller needs of the outside; tests and the checker bring their own."""

    async def ensure(self, name: str, region: str) -> str:
        """Create the bucket unless it is there; answers its address."""

    async def remove(self, name: str) -> None:
        """Remove the bucket if it is there."""


class BucketSpec(Struct):
    """What is wanted."""

    region: str = "eu"


class BucketStatus(Struct):
    """What is."""

    address: str = ""
    conditions: list[Condition] = []


class Bucket(Resource, group="examples.attractor.dev", version="v1"):
    """A bucket."""

    spec: BucketSpec
    status: BucketStatus = BucketStatus()


class Buckets(Reconciler[Bucket]):
    """Keeps buckets; what it does outside is idempotent, because any run may be repeated."""

    kind = Bucket

    async def sync(self, ctx: Context, obj: Bucket) -> Result | None:
        """Ensure the bucket, and say so."""
        address = await ctx.external(ObjectStore).ensure(obj.metadata.name, obj.spec.region)
        if obj.status.address != address:
            await ctx.emit(obj, "Created", f"bucket at {address}")
        obj.status.address = address
        now, generation = await ctx.now(), obj.metadata.generation
        set_condition(obj.status.conditions, "Ready", True, reason="Created", now=now, generation=generation)
        return Result(requeue_after_s=600)

    async def clean_up(self, ctx: Context, obj: Bucket) -> Result | None:
        """Remove the bucket; only then the object may go."""
        await ctx.external(ObjectStore).remove(obj.metadata.name)
        return None


buckets = controller(Buckets(), externals=[ObjectStore], workers=4, timeout_s=30)
