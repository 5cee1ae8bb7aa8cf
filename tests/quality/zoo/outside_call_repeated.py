"""Not idempotent: a call that creates something outside is repeated, and creates it twice.

The volume's number is known only from the answer. A crash, or an answer that is lost, between the call and the status
write makes the next reconcile ask for another one; the first is paid for by nobody's object. Seen in
crossplane/crossplane-runtime#277. The fixed one asks for a volume by a name of its own choosing.
"""

from typing import Protocol

from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import App, tell


class Volumes(Protocol):
    """A store of volumes outside the cluster."""

    async def create(self) -> int:
        """A new volume; answers its number."""

    async def ensure(self, name: str) -> int:
        """The volume of that name, a new one if there is none; answers its number."""


@controller(for_=App, externals=[Volumes])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.count == 0:
        await tell(ctx, app, count=await ctx.external(Volumes).create())


@controller(for_=App, externals=[Volumes])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.count == 0:
        await tell(ctx, app, count=await ctx.external(Volumes).ensure(app.metadata.uid))
