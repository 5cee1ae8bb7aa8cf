"""Not idempotent: a call that creates something outside is repeated, and creates it twice.

The volume's number is known only from the answer. A crash, or an answer that is lost, between the call and the status
write makes the next reconcile ask for another one; the first is paid for by nobody's object. Seen in
crossplane/crossplane-runtime#277. The fixed one asks for a volume by a name of its own choosing.
"""

from typing import Protocol

from attractor.check import Faults, World, WorldState, always
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, tell


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


class VolumesModel:
    """The volumes by number; those that were asked for by name have one."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def create(self) -> int:
        self.names.append("")
        return len(self.names)

    def ensure(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name) + 1


def one_volume_is_enough(look: WorldState) -> bool:
    return len(look.external(Volumes).names) <= 1


def world(declared: Controller = buggy) -> World:
    claims = [always(one_volume_is_enough)]
    return World(
        controllers=[declared],
        objects=[app()],
        faults=Faults(crash=1),
        properties=claims,
        externals={Volumes: VolumesModel()},
    )
