"""A kind in two versions: v1 has a line of cron, v2 takes it apart."""

from typing import Annotated

from attractor import Meta, ObjectMeta, Resource, Struct, convert


class BackupV1Spec(Struct):
    cron: Annotated[str, Meta(pattern=r"^\S+ \S+$")] = "0 0"


class BackupV1(Resource, group="store.example.org", version="v1", kind="Backup"):
    """The first version."""

    spec: BackupV1Spec


class Schedule(Struct):
    minute: Annotated[str, Meta(pattern=r"^\S+$")] = "0"
    hour: Annotated[str, Meta(pattern=r"^\S+$")] = "0"


class BackupSpec(Struct):
    schedule: Schedule = Schedule()


class Backup(Resource, group="store.example.org", version="v2"):
    """The present version."""

    spec: BackupSpec


@convert(BackupV1, Backup)
def up(old: BackupV1) -> Backup:
    """Take the line apart."""
    minute, _, hour = old.spec.cron.partition(" ")
    return Backup(metadata=old.metadata, spec=BackupSpec(schedule=Schedule(minute=minute, hour=hour)))


@convert(Backup, BackupV1)
def down(new: Backup) -> BackupV1:
    """Put it together."""
    schedule = new.spec.schedule
    return BackupV1(metadata=new.metadata, spec=BackupV1Spec(cron=f"{schedule.minute} {schedule.hour}"))


def backup(name: str = "a", minute: str = "5", hour: str = "1") -> Backup:
    meta = ObjectMeta(name=name, namespace="default")
    return Backup(metadata=meta, spec=BackupSpec(schedule=Schedule(minute=minute, hour=hour)))


def old_backup(name: str = "a", cron: str = "5 1") -> BackupV1:
    return BackupV1(metadata=ObjectMeta(name=name, namespace="default"), spec=BackupV1Spec(cron=cron))
