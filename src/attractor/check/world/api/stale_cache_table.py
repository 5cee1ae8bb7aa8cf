"""The stale-cache table: what becomes of a plan that was made from an old cache. Produced by the checker.

A controller keeps one child as its owner wants it: it reads it from its cache and creates, changes or deletes it.
The *right action* is what the server's state asks for; the *lag* is how the cache differs from the server when the
reconcile starts. For each pair the table says whether the world is as wanted after that one reconcile, and whether it
is so eventually, under every interleaving; and why.

Deletes and changes go by name, as in the controller that the table is about. The last rows are the same with the uid as
precondition: a child that was deleted and taken by somebody else is then left alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from attractor.check.api import check
from attractor.check.events import Performed
from attractor.check.world.api.properties import eventually_stable
from attractor.check.world.api.state import store_key
from attractor.check.world.api.users import Create, Delete, Edit
from attractor.check.world.api.world import World
from attractor.check.world.simulation.process.activity import is_write
from attractor.check.world.simulation.server.storage import uid_of
from attractor.check.world.simulation.walk import Walk
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, Struct
from attractor.runtime import effects
from attractor.runtime.controller import controller
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.world.api.state import WorldState
    from attractor.check.world.api.users import User
    from attractor.runtime.context import Context

Lag = Literal["latest", "c-lag", "u-lag", "d-lag", "recreated"]
Action = Literal["create", "update", "delete"]
LAGS: tuple[Lag, ...] = ("latest", "c-lag", "u-lag", "d-lag", "recreated")
ACTIONS: tuple[Action, ...] = ("create", "update", "delete")
KEY = Key("default", "a")


class OwnerSpec(Struct):
    """The child's text; none when there should be no child."""

    text: str | None = None


class Owner(Resource, group="stalecache.attractor.dev", version="v1"):
    """Wants one child."""

    spec: OwnerSpec


def _child(owner: Owner) -> ConfigMap:
    made = ConfigMap(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), data={"text": owner.spec.text or ""})
    set_controller(owner, made)
    return made


async def _keep(ctx: Context, key: Key, *, guarded: bool) -> None:
    owner = await ctx.find(Owner, key)
    if owner is None:
        return
    found = await ctx.find(ConfigMap, key)
    is_ours = found is not None and is_controlled_by(found, owner)
    if owner.spec.text is None:
        if found is not None and is_ours:
            await (ctx.delete(found) if guarded else ctx.delete_key(ConfigMap, key))
    elif found is None:
        await ctx.create(_child(owner))
    elif is_ours and found.data != {"text": owner.spec.text}:
        found.data = {"text": owner.spec.text}
        await (ctx.update(found) if guarded else ctx.patch(ConfigMap, key, {"data": found.data}))


@controller(for_=Owner, owns=[ConfigMap], name="by-name")
async def by_name(ctx: Context, key: Key) -> None:
    """Changes and deletes whatever has the name."""
    await _keep(ctx, key, guarded=False)


@controller(for_=Owner, owns=[ConfigMap], name="by-uid")
async def by_uid(ctx: Context, key: Key) -> None:
    """Changes and deletes only what it read."""
    await _keep(ctx, key, guarded=True)


def _wanted(world: WorldState) -> bool:
    """The child is as the owner wants it; what somebody else put in its place is untouched."""
    owner, found = world.get(Owner, KEY), world.find(ConfigMap, KEY)
    if found is not None and not is_controlled_by(found, owner):
        return found.data == {"text": "theirs"}
    return (None if found is None else found.data) == (None if owner.spec.text is None else {"text": owner.spec.text})


def _foreign_stays(world: WorldState) -> bool:
    """What somebody else put in the place of the child is there, untouched."""
    found = world.find(ConfigMap, KEY)
    return found is not None and found.data == {"text": "theirs"}


@dataclass(frozen=True)
class Cell:
    """One pair of lag and right action; None where the pair cannot be."""

    lag: Lag
    action: Action
    once: bool | None
    eventually: bool | None
    reason: str


def _is_possible(lag: Lag, action: Action) -> bool:
    """Create is right only where the server has nothing, update and delete only where it has something."""
    return lag == "latest" or (lag == "d-lag") == (action == "create")


def cell(lag: Lag, action: Action, *, guarded: bool = False) -> Cell:
    """Find out about one pair."""
    if not _is_possible(lag, action):
        why = "the server has nothing" if lag == "d-lag" else "the server has the object"
        return Cell(lag, action, None, None, f"never right: {why}")
    desired = _foreign_stays if lag == "recreated" else _wanted
    world = _world(lag, action, guarded)
    walk = Walk(world)
    for kind in ("Owner", "ConfigMap"):
        walk.take("list", kind=kind)
    for name in {"latest": [], "c-lag": ["create"], "u-lag": ["edit"], "d-lag": ["delete"]}.get(
        lag, ["delete", "create"]
    ):
        walk.take(name)
    walk.take("start")
    asked: list[str] = []
    while walk.can("go on"):
        walk.take("go on")
        asked += [_told(note) for note in walk.events if isinstance(note, Performed) and _is_write(note)]
    once = walk.look(desired)
    # Once the lag has happened: before it there is nothing of somebody else's to keep.
    claim = eventually_stable(lambda look: desired(look) or _before(look, lag))
    eventually = check(world.but(properties=[claim]))["eventually stable"].verdict != "violated"
    return Cell(lag, action, once, eventually, "; ".join(asked) or "nothing was planned")


def _before(look: WorldState, lag: Lag) -> bool:
    """Whether the name was not yet taken by somebody else, so that the table's question does not arise."""
    if lag != "recreated":
        return False
    found = look.find(ConfigMap, KEY)
    return _wanted(look) and not (found is None and look.budget("create configmap default/a") == 0)


def _is_write(note: Performed) -> bool:
    return is_write(note.effect)


def _told(note: Performed) -> str:
    error = note.answer.error
    outcome = "ok" if error is None else f"{getattr(error, 'code', '')} {type(error).__name__}".strip()
    return f"{effects.described(note.effect).split()[0]} -> {outcome}"


def _world(lag: Lag, action: Action, guarded: bool) -> World:
    owner = Owner(metadata=ObjectMeta(name="a", namespace="default"), spec=OwnerSpec())
    owner.spec.text = None if action == "delete" else "new"
    stored = owner.deep_copy()
    stored.metadata.uid = uid_of(store_key(Owner, KEY), 1)
    mine = _child(stored)
    mine.data = {"text": "old"}
    theirs = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"text": "theirs"})
    objects: list[Resource] = [owner]
    if lag in {"u-lag", "d-lag", "recreated"} or (lag == "latest" and action != "create"):
        objects.append(mine)
    users: dict[str, list[User]] = {
        "c-lag": [Create(mine)],
        "u-lag": [Edit(ConfigMap, KEY, patch=[{"data": {"text": "older"}}])],
        "d-lag": [Delete(ConfigMap, KEY)],
        "recreated": [Delete(ConfigMap, KEY, uid=uid_of(store_key(ConfigMap, KEY), 1)), Create(theirs)],
    }
    return World(controllers=[by_uid if guarded else by_name], objects=objects, users=users.get(lag, []))


def stale_cache_table() -> list[Cell]:
    """Every pair of lag and right action, for a controller that goes by name."""
    return [cell(lag, action) for lag in LAGS for action in ACTIONS]


def guarded_rows() -> list[Cell]:
    """The pairs in which going by uid makes a difference."""
    return [cell("recreated", action, guarded=True) for action in ACTIONS]


def lines() -> Iterator[str]:
    """The table as Markdown."""
    yield "| cache | right action | after one reconcile | eventually | why |"
    yield "|---|---|---|---|---|"
    for each in stale_cache_table():
        yield _line(each, each.lag)
    for each in guarded_rows():
        yield _line(each, f"{each.lag}, by uid")


def _line(each: Cell, lag: str) -> str:
    marks: dict[Any, str] = {True: "as wanted", False: "not", None: "--"}
    return f"| {lag} | {each.action} | {marks[each.once]} | {marks[each.eventually]} | {each.reason} |"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
