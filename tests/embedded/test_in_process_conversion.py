"""Versions of a kind on an embedded server that converts them in process."""

from attractor import EmbeddedCluster, Key
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.testing import ClusterUnderTest
from tests.webhooks.backups import Backup, BackupV1, backup, down, old_backup, up

KEY = Key("default", "a")


async def test_objects_are_written_and_read_in_every_version() -> None:
    async with ClusterUnderTest(webhooks=[up, down]) as cluster:
        await cluster.install(BackupV1)
        await cluster.client.create(old_backup(cron="7 8"))
        found = await cluster.client.get(Backup, KEY)
        assert (found.spec.schedule.minute, found.spec.schedule.hour) == ("7", "8")
        await cluster.client.patch(Backup, KEY, {"spec": {"schedule": {"hour": "9"}}})
        assert (await cluster.client.get(BackupV1, KEY)).spec.cron == "7 9"
        assert [one.spec.cron for one in await cluster.client.list(BackupV1)] == ["7 9"]


async def test_objects_are_stored_as_the_hub() -> None:
    async with EmbeddedCluster(webhooks=[up, down]) as cluster, cluster.client() as client:
        for definition in cluster.definitions(Backup):
            await client.create(CustomResourceDefinition.from_dict(definition))
        await client.create(old_backup())
        entry = cluster.store.snapshot_nowait().get("store.example.org/backups/default/a")
        assert entry is not None
        assert b'"apiVersion":"store.example.org/v2"' in entry.value
        assert (await client.get(Backup, KEY)).spec == backup().spec
