"""A cluster in one process: what is there from the start, and how it ends."""

import re
from pathlib import Path

import pytest
import yaml

from attractor.apiserver.core import Request
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster, SystemSource
from attractor.embedded.kubeconfig import KubeconfigFile, KubeconfigTaken, kubeconfig
from attractor.store.contract import StoreUnavailable, StoreUnusable
from attractor.store.memory import MemoryStore
from tests.httpd.api import HttpApi

JANE = User("jane", groups=("system:authenticated",))


async def test_it_answers_in_process_and_over_http() -> None:
    async with EmbeddedCluster() as cluster:
        response = await cluster.server.handle(Request("GET", "/api/v1/namespaces/default"))
        assert response.json()["metadata"]["name"] == "default"
        first, second = await cluster.listen(), await cluster.listen()
        for address in (first, second):
            assert (await HttpApi(address.port, token="").get("/healthz")).body == b"ok"
        assert first.url == f"http://127.0.0.1:{first.port}"


async def test_leaving_closes_the_store_and_gives_up_the_addresses() -> None:
    store = MemoryStore()
    async with EmbeddedCluster(store) as cluster:
        address = await cluster.listen()
    with pytest.raises(StoreUnavailable):
        await store.commit({}, puts={"a": b"b"})
    with pytest.raises(ConnectionError):
        await HttpApi(address.port).get("/healthz")


async def test_a_store_that_cannot_be_opened_is_an_error_at_the_door() -> None:
    with pytest.raises(StoreUnusable):
        async with EmbeddedCluster("mongodb:x"):
            pass


async def test_the_default_roles_are_there_and_an_administrators_change_survives(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'cluster.db'}"
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    async with EmbeddedCluster(store) as cluster:
        listed = (await cluster.server.handle(Request("GET", roles))).json()["items"]
        assert {"admin", "cluster-admin", "edit", "view", "system:discovery"} <= {r["metadata"]["name"] for r in listed}
        gone = await cluster.server.handle(Request("DELETE", f"{roles}/view"))
        assert gone.code == 200
    async with EmbeddedCluster(store) as cluster:
        assert (await cluster.server.handle(Request("GET", f"{roles}/view"))).code == 404


def test_uids_are_random_uuids_and_suffixes_avoid_vowels() -> None:
    source = SystemSource()
    uids = {source.uid() for _ in range(1000)}
    assert len(uids) == 1000
    pattern = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert all(pattern.fullmatch(uid) for uid in uids)
    assert all(re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", source.suffix()) for _ in range(100))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", source.now())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", source.now_micro())


def test_a_kubeconfig_is_removed_only_while_it_is_the_one_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "below" / "kubeconfig"
    ours = KubeconfigFile(path, kubeconfig("https://h:1", "t", b"CA"))
    ours.write()
    assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == "https://h:1"
    path.unlink()
    theirs = KubeconfigFile(path, kubeconfig("https://h:2", "t", None))
    theirs.write()
    ours.remove()
    assert path.exists()
    theirs.remove()
    assert list(path.parent.iterdir()) == []


def test_a_kubeconfig_is_not_replaced_while_its_server_runs_and_is_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("left by a server that was killed")
    ours = KubeconfigFile(path, kubeconfig("https://h:1", "t", b"CA"))
    ours.write()
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(KubeconfigTaken):
        KubeconfigFile(path, kubeconfig("https://h:2", "t", None)).write()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    ours.remove()
    assert list(tmp_path.iterdir()) == []
