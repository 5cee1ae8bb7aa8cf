"""``attractor migrate``: after it, nothing is stored in an older version."""

from pathlib import Path

import pytest

from attractor import EmbeddedCluster
from attractor.cli.commands.migrate import NotInstalled, migrate
from attractor.cli.main import main
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.webhooks import WebhookSet
from attractor.webhooks.registration import in_process
from tests.webhooks.backups import Backup, BackupV1, down, old_backup, up

PREFIX = "store.example.org/backups/"


async def test_what_is_stored_in_an_older_version_is_rewritten() -> None:
    async with EmbeddedCluster(webhooks=[up, down]) as cluster, cluster.client() as client:
        (definition,) = WebhookSet([up, down]).definitions([Backup], in_process)
        first, second = definition["spec"]["versions"]
        first["storage"], second["storage"] = True, False
        await client.create(CustomResourceDefinition.from_dict(definition))
        for name in ("a", "b"):
            await client.create(old_backup(name))
        patched = [{**first, "storage": False}, {**second, "storage": True}]
        where = ("", "backups.store.example.org")
        await client.patch(CustomResourceDefinition, where, {"spec": {"versions": patched}})
        assert (await migrate(client, Backup, is_dry_run=True)).stored == ("v1", "v2")
        done = await migrate(client, Backup)
        assert (done.storage, done.rewritten) == ("v2", 2)
        values = [entry.value for entry in cluster.store.snapshot_nowait().range(PREFIX)]
        assert all(b'"apiVersion":"store.example.org/v2"' in value for value in values)
        assert (await migrate(client, BackupV1)).stored == ("v2",)
        assert [one.spec.cron for one in await client.list(BackupV1)] == ["5 1", "5 1"]


async def test_a_kind_that_is_not_installed_is_named() -> None:
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        with pytest.raises(NotInstalled, match=r"backups.store.example.org"):
            await migrate(client, Backup)


def test_a_module_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", str(tmp_path / "none.py"), "--kubeconfig", "x"]) == 2
    assert "hint:" in capsys.readouterr().err
