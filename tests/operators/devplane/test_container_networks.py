"""Networks, volumes, connections, modes and commands of real containers."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from attractor.objects.errors import Invalid
from attractor.operators.devplane.api.container_networks import (
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerNetworkConnectionSpec,
    ContainerNetworkSpec,
    ContainerVolume,
    ContainerVolumeSpec,
)
from attractor.operators.devplane.api.containers import (
    Container,
    ContainerExec,
    ContainerExecSpec,
    NetworkAttachment,
    VolumeMount,
)
from tests.operators.devplane.container_planes import ContainerPlane, container_plane, named
from tests.operators.podman import IMAGE, Podman


@pytest_asyncio.fixture(name="plane")
async def _plane(podman: Podman) -> AsyncIterator[ContainerPlane]:
    async with container_plane(podman) as made:
        yield made


def networks(podman: Podman) -> list[str]:
    """The names of all networks but the runtime's own."""
    found = podman.run("network", "ls", "--format", "{{.Name}}").split()
    return sorted(set(found) - {"podman"})


async def test_containers_wait_for_their_network_find_each_other_in_it_and_it_goes_after_them(
    plane: ContainerPlane,
) -> None:
    attached = [NetworkAttachment(network="inner", aliases=["database"])]
    await plane.run("db", "mkdir /w; echo rows >/w/index.html; httpd -f -p 80 -h /w", networks=attached)
    waiting = await plane.until(Container, "db", lambda one: one.status.message)
    assert (waiting.status.phase, waiting.status.message) == ("Pending", "waits for ContainerNetwork inner")
    await plane.create(ContainerNetwork(metadata=named("inner")))
    await plane.until_in("db", "Running")
    found = await plane.get(ContainerNetwork, "inner")
    assert found.status.subnets
    ask = "until wget -q -O- http://database/ && wget -q -O- http://db/; do sleep 0.1; done"
    await plane.run("client", ask, networks=[NetworkAttachment(network="inner")])
    ended = await plane.until_in("client", "Exited")
    assert ended.status.exit_code == 0
    await plane.cluster.client.delete(ContainerNetwork, found.key)
    await plane.until(ContainerNetwork, "inner", lambda one: "cannot be removed yet" in one.status.message)
    await plane.delete(Container, "db")
    await plane.delete(Container, "client")
    await plane.until_gone(ContainerNetwork, "inner")
    assert networks(plane.podman) == []


async def test_a_network_that_somebody_removed_is_told_and_one_of_somebody_else_is_kept(plane: ContainerPlane) -> None:
    plane.podman.run("network", "create", "theirs")
    existing = ContainerNetworkSpec(network_name="theirs", mode="Existing")
    await plane.create(ContainerNetwork(metadata=named("existing"), spec=existing))
    taken = ContainerNetworkSpec(network_name="theirs")
    await plane.create(ContainerNetwork(metadata=named("taken"), spec=taken))
    await plane.create(ContainerNetwork(metadata=named("own")))
    await plane.until(ContainerNetwork, "existing", lambda one: one.status.phase == "Running")
    refused = await plane.until(ContainerNetwork, "taken", lambda one: one.status.phase == "FailedToStart")
    assert "not of this object" in refused.status.message
    own = await plane.until(ContainerNetwork, "own", lambda one: one.status.phase == "Running")
    plane.podman.run("network", "rm", own.status.network_name)
    await plane.until(ContainerNetwork, "own", lambda one: one.status.phase == "Removed")
    for name in ("existing", "taken", "own"):
        await plane.delete(ContainerNetwork, name)
    assert networks(plane.podman) == ["theirs"]


async def test_a_connection_puts_a_container_into_a_network_and_keeps_those_of_others(plane: ContainerPlane) -> None:
    for name in ("first", "second"):
        await plane.create(ContainerNetwork(metadata=named(name)))
    plane.podman.run("network", "create", "theirs")
    await plane.run("web", networks=[NetworkAttachment(network="first")])
    running = await plane.until_in("web", "Running")
    plane.podman.run("network", "connect", "theirs", running.status.container_id)
    spec = ContainerNetworkConnectionSpec(network="second", container="web", aliases=["also"])
    await plane.create(ContainerNetworkConnection(metadata=named("link"), spec=spec))
    await plane.until(ContainerNetworkConnection, "link", lambda one: one.status.phase == "Connected")
    found = await plane.engine.find(running.status.container_id)
    assert found is not None
    assert len(found.networks) == 3
    await plane.delete(ContainerNetworkConnection, "link")
    found = await plane.engine.find(running.status.container_id)
    assert found is not None
    assert sorted(name.partition("-")[0] for name in found.networks) == ["first", "theirs"]


async def test_a_volume_outlives_its_containers_and_only_a_persistent_one_its_object(plane: ContainerPlane) -> None:
    await plane.create(ContainerVolume(metadata=named("kept"), spec=ContainerVolumeSpec(volume_name="kept")))
    await plane.create(ContainerVolume(metadata=named("lost"), spec=ContainerVolumeSpec(persistent=False)))
    mounts = [VolumeMount(volume="kept", target="/kept"), VolumeMount(volume="lost", target="/lost", read_only=True)]
    await plane.run("writer", "echo one >/kept/file; echo two >/lost/file", volume_mounts=mounts)
    ended = await plane.until_in("writer", "Exited")
    assert ended.status.exit_code != 0
    await plane.delete(Container, "writer")
    await plane.run("reader", "cat /kept/file", volume_mounts=mounts)
    ended = await plane.until_in("reader", "Exited")
    assert ended.status.exit_code == 0
    await plane.delete(Container, "reader")
    for name in ("kept", "lost"):
        await plane.delete(ContainerVolume, name)
    assert plane.podman.run("volume", "ls", "--quiet").split() == ["kept"]


async def persistent(plane: ContainerPlane, name: str, **fields: Any) -> Container:
    """A persistent container, as it runs."""
    await plane.run(name, mode="Persistent", container_name="lasting", **fields)
    return await plane.until_in(name, "Running")


async def test_a_persistent_container_outlives_its_object_and_is_taken_over_if_it_is_the_same(podman: Podman) -> None:
    async with container_plane(podman, "one") as plane:
        first = await persistent(plane, "db")
        await plane.delete(Container, "db")
    assert podman.names == ["lasting"]
    async with container_plane(podman, "other") as plane:
        again = await persistent(plane, "db")
        assert again.status.container_id == first.status.container_id
        await plane.delete(Container, "db")
        podman.run("stop", "--time", "0", "lasting")
        resumed = await persistent(plane, "db")
        assert resumed.status.container_id == first.status.container_id
        await plane.delete(Container, "db")
        different = await persistent(plane, "db", hostname="another")
        assert different.status.container_id != first.status.container_id
        await plane.delete(Container, "db")
        await plane.run("watcher", mode="Existing", container_name="lasting")
        watched = await plane.until_in("watcher", "Running")
        assert watched.status.container_id == different.status.container_id
        await plane.delete(Container, "watcher")
        assert podman.names == ["lasting"]
        await plane.run("cleaner", mode="Cleanup", container_name="lasting")
        await plane.until_in("cleaner", "NotFound")
    assert podman.names == []


async def test_only_what_a_control_plane_has_made_is_cleaned_up_and_what_is_not_there_is_waited_for(
    plane: ContainerPlane,
) -> None:
    await plane.run("watcher", mode="Existing", container_name="theirs")
    await plane.until_in("watcher", "NotFound")
    plane.podman.run("run", "--detach", "--name", "theirs", IMAGE, "sleep", "1000")
    await plane.until_in("watcher", "Running")
    await plane.run("cleaner", mode="Cleanup", container_name="theirs")
    failed = await plane.until_in("cleaner", "FailedToStart")
    assert "is kept" in failed.status.message
    with pytest.raises(Invalid, match="containerName"):
        await plane.run("nameless", mode="Persistent")


async def test_a_command_waits_for_its_container_and_tells_what_it_wrote_and_how_it_ended(
    plane: ContainerPlane,
) -> None:
    spec = ContainerExecSpec(container="web", command=["sh", "-c", "echo said; echo wrong >&2; exit 5"])
    await plane.create(ContainerExec(metadata=named("once"), spec=spec))
    waiting = await plane.until(ContainerExec, "once", lambda one: one.status.message)
    assert waiting.status.phase == ""
    await plane.run("web")
    ended = await plane.until(ContainerExec, "once", lambda one: one.status.phase == "Finished")
    assert (ended.status.exit_code, sorted(ended.status.output.split())) == (5, ["said", "wrong"])
    missing = ContainerExecSpec(container="web", command=["/no/such/program"])
    await plane.create(ContainerExec(metadata=named("missing"), spec=missing))
    failed = await plane.until(ContainerExec, "missing", lambda one: one.status.phase in {"FailedToStart", "Finished"})
    assert failed.status.exit_code != 0
