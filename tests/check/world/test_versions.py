"""Kinds with several versions in worlds: an old operator and a new one side by side during a rollout."""

import pytest

from attractor import Context, Controller, Key, ObjectMeta, controller
from attractor.check import Edit, SpecError, World, WorldState, always, check, eventually_stable
from attractor.k8s import ConfigMap
from attractor.testing.replay.differential import agree
from tests.webhooks.backups import Backup, BackupV1, backup, down, up

KEY = Key("default", "a")
EDIT = Edit(Backup, KEY, spec=[{"schedule": {"hour": "2"}}])


async def keep(ctx: Context, key: Key, text: str) -> None:
    found = await ctx.find(ConfigMap, key)
    if found is None:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name=key.name, namespace=key.namespace), data={"at": text}))
    elif found.data != {"at": text}:
        found.data = {"at": text}
        await ctx.update(found)


@controller(for_=BackupV1, owns=[ConfigMap])
async def old(ctx: Context, key: Key) -> None:
    """The operator of v1."""
    found = await ctx.find(BackupV1, key)
    if found is not None:
        await keep(ctx, key, found.spec.cron)


@controller(for_=Backup, owns=[ConfigMap])
async def new(ctx: Context, key: Key) -> None:
    """The operator of v2, which writes the same."""
    found = await ctx.find(Backup, key)
    if found is not None:
        await keep(ctx, key, f"{found.spec.schedule.minute} {found.spec.schedule.hour}")


@controller(for_=Backup, owns=[ConfigMap])
async def rude(ctx: Context, key: Key) -> None:
    """The operator of v2, which writes something else."""
    found = await ctx.find(Backup, key)
    if found is not None:
        await keep(ctx, key, f"{found.spec.schedule.hour}:{found.spec.schedule.minute}")


def kept(world: WorldState) -> bool:
    return [one.data for one in world.list(ConfigMap)] == [{"at": one.spec.cron} for one in world.list(BackupV1)]


def rollout(newer: Controller, **options: object) -> World:
    given = {"objects": [backup()], "properties": [eventually_stable(kept)], **options}
    return World(hosts={"old": [old], "new": [newer]}, webhooks=[up, down], **given)  # type: ignore[arg-type]


def test_old_and_new_operator_agree_during_a_rollout() -> None:
    check(rollout(new, users=[EDIT])).assert_holds(within=["lag", "workers"])


def test_a_new_operator_that_writes_otherwise_fights_with_the_old_one() -> None:
    check(rollout(rude)).assert_violated("eventually stable")


def test_claims_see_the_version_that_they_ask_for() -> None:
    def both(world: WorldState) -> bool:
        return world.get(BackupV1, KEY).spec.cron == "5 1" and world.get(Backup, KEY).spec.schedule.hour == "1"

    check(World(controllers=[new], objects=[backup()], webhooks=[up, down], properties=[always(both)])).assert_holds(
        within=["lag", "workers"]
    )


async def test_runs_come_out_the_same_on_a_server_that_converts() -> None:
    await agree(rollout(new, users=[EDIT]), seed=5)


def test_one_process_has_one_view_of_a_kind() -> None:
    with pytest.raises(SpecError, match="two versions of Backup"):
        check(World(controllers=[old, new], objects=[backup()], webhooks=[up, down]))
