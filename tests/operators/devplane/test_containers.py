"""Containers for real: made, started, watched, stopped and removed by a Podman of the test's own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from attractor.objects.gvk import Key
from attractor.operators.devplane.api.containers import (
    Container,
    ContainerPort,
    ContainerServes,
    CreatedFile,
)
from attractor.operators.devplane.api.executables import CommandProbe, EnvVar, HttpProbe, Probe
from attractor.operators.devplane.api.services import Service
from attractor.testing import eventually
from tests.operators.devplane.container_planes import WITHIN_S, ContainerPlane, container_plane, named
from tests.operators.podman import IMAGE, Podman

SERVE = "mkdir -p /www; echo hello >/www/index.html; httpd -f -p 80 -h /www"


@pytest_asyncio.fixture(name="plane")
async def _plane(podman: Podman) -> AsyncIterator[ContainerPlane]:
    async with container_plane(podman) as made:
        yield made


async def page(port: int) -> str:
    """What a server on this machine answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.decode()


async def test_it_runs_answers_on_its_published_port_and_goes_with_its_object(plane: ContainerPlane) -> None:
    await plane.run("web", SERVE, ports=[ContainerPort(container_port=80)])
    running = await plane.until_in("web", "Running")
    assert running.status.health == "Healthy"
    assert plane.podman.names == [running.status.container_name]
    (port,) = running.status.ports
    assert "hello" in await eventually(lambda: page(port.host_port))
    await plane.delete(Container, "web")
    assert plane.podman.names == []


async def test_an_end_that_comes_at_once_is_not_lost(plane: ContainerPlane) -> None:
    await plane.run("job", "exit 7")
    ended = await plane.until_in("job", "Exited")
    assert (ended.status.exit_code, ended.status.health) == (7, "Unhealthy")
    assert ended.status.started_at is not None
    assert ended.status.finished_at is not None


async def test_the_runtime_is_away_and_comes_back(plane: ContainerPlane) -> None:
    plane.podman.stop()
    try:
        await plane.run("web")
        waiting = await plane.until_in("web", "RuntimeUnhealthy")
        assert plane.podman.socket in waiting.status.message
    finally:
        plane.podman.start()
    await plane.until_in("web", "Running")


async def test_one_that_somebody_removed_is_unknown_and_not_made_again(plane: ContainerPlane) -> None:
    await plane.run("web")
    running = await plane.until_in("web", "Running")
    plane.podman.run("rm", "--force", "--time", "0", running.status.container_id)
    gone = await plane.until_in("web", "Unknown")
    assert "somebody has removed it" in gone.status.message
    assert plane.podman.names == []


async def test_one_that_somebody_starts_again_runs_again(plane: ContainerPlane) -> None:
    await plane.run("web")
    running = await plane.until_in("web", "Running")
    plane.podman.run("stop", "--time", "0", running.status.container_id)
    await plane.until_in("web", "Exited")
    plane.podman.run("start", running.status.container_id)
    await plane.until_in("web", "Running")


async def test_the_runtime_starts_it_again_as_its_policy_says(plane: ContainerPlane) -> None:
    await plane.run("job", "test -e /tmp/once || { echo >/tmp/once; exit 3; }; sleep 1000", restart_policy="OnFailure")
    again = await plane.until(Container, "job", lambda one: one.status.restarts == 1)
    assert again.status.phase == "Running"


async def test_it_is_stopped_and_stays_to_be_looked_at(plane: ContainerPlane) -> None:
    await plane.run("web")
    running = await plane.until_in("web", "Running")
    await plane.change("web", stop=True)
    ended = await plane.until_in("web", "Exited")
    assert ended.status.exit_code == 137
    assert plane.podman.names == [running.status.container_name]


async def test_it_waits_until_it_is_to_start(plane: ContainerPlane) -> None:
    await plane.run("web", start=False)
    await plane.until(Container, "web", lambda one: one.status.message == "waits for spec.start")
    assert plane.podman.names == []
    await plane.change("web", start=True)
    await plane.until_in("web", "Running")


async def test_it_says_why_it_cannot_be_started(plane: ContainerPlane) -> None:
    await plane.run("a", image="localhost/nothing:1")
    await plane.run("b", command=["/no/such/program"])
    await plane.run("c", env_files=["/no/such/file"])
    await plane.run("d", args=['{{portForServing "nobody"}}'])
    for name, why in {"a": "not on this machine", "b": "no/such/program", "c": "cannot be read", "d": "serves"}.items():
        failed = await plane.until_in(name, "FailedToStart")
        assert why in failed.status.message, failed.status.message


async def test_it_gets_variables_files_and_a_directory(plane: ContainerPlane, tmp_path: Path) -> None:
    (tmp_path / "env").write_text("FROM_FILE=one\nBOTH=file\n")
    (tmp_path / "copied").write_text("from a file")
    await plane.run(
        "job",
        'test "$FROM_FILE $BOTH" = "one own" && test "$(cat given)" = "as said" && test "$(cat copied)" = "from a file"',
        env=[EnvVar(name="BOTH", value="own")],
        env_files=[str(tmp_path / "env")],
        create_files=[
            CreatedFile(path="/data/given", content="as said"),
            CreatedFile(path="/data/copied", source=str(tmp_path / "copied")),
        ],
        working_directory="/data",
    )
    ended = await plane.until_in("job", "Exited")
    assert ended.status.exit_code == 0


async def test_it_is_built_from_a_directory(plane: ContainerPlane, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nARG WORD\nENV WORD=$WORD\nCOPY code /code\n")
    (tmp_path / "code").write_text("7")
    build = {"context": str(tmp_path), "args": {"WORD": "said"}}
    metadata = {"name": "job", "namespace": "default"}
    spec = {"build": build, "command": ["sh", "-c", 'test "$WORD" = said && exit $(cat /code)']}
    made = {"apiVersion": "dev.attractor.dev/v1", "kind": "Container", "metadata": metadata, "spec": spec}
    await plane.cluster.client.apply(made, field_manager="test")
    ended = await plane.until_in("job", "Exited")
    assert ended.status.exit_code == 7


async def test_probes_from_outside_and_inside_decide_about_its_health(plane: ContainerPlane) -> None:
    probes = [
        Probe(name="page", http=HttpProbe(url='http://127.0.0.1:{{portForServing "web"}}/')),
        Probe(name="file", command=CommandProbe(command=["cat", "/tmp/ready"]), interval_seconds=0.1),
    ]
    await plane.run("web", SERVE, probes=probes, serves=[ContainerServes(service="web", port=80)])
    await plane.until(Container, "web", lambda one: one.status.health == "Unhealthy")
    running = await plane.get(Container, "web")
    plane.podman.run("exec", running.status.container_id, "sh", "-c", "echo >/tmp/ready")
    await plane.until(Container, "web", lambda one: one.status.health == "Healthy")


async def test_clients_of_a_service_reach_the_container_behind_it(plane: ContainerPlane) -> None:
    await plane.create(Service(metadata=named("web")))
    await plane.run("web", SERVE, serves=[ContainerServes(service="web", port=80)])
    ready = await plane.until(Service, "web", lambda one: one.status.phase == "Ready")
    assert "hello" in await eventually(lambda: page(ready.status.effective_port))
    await plane.change("web", stop=True)
    await plane.until(Service, "web", lambda one: one.status.phase == "NotReady")


async def test_what_a_plane_that_is_gone_has_left_is_removed_and_a_namesake_is_made(podman: Podman) -> None:
    async with container_plane(podman) as first:
        await first.run("web", container_name="fixed")
        await first.run("other")
        old = await first.until_in("web", "Running")
        await first.until_in("other", "Running")
    assert len(podman.names) == 2
    async with container_plane(podman) as second:
        await second.run("web", container_name="fixed")
        new = await second.until_in("web", "Running")
        assert new.status.container_id != old.status.container_id
        assert podman.names == ["fixed"]
        await second.delete(Container, "web")


async def test_a_container_of_somebody_else_is_left_alone(plane: ContainerPlane) -> None:
    plane.podman.run("run", "--detach", "--name", "theirs", IMAGE, "sleep", "1000")
    await plane.run("web", container_name="theirs")
    failed = await plane.until_in("web", "FailedToStart")
    assert "not of this object" in failed.status.message
    await plane.delete(Container, "web")
    assert plane.podman.names == ["theirs"]


async def test_ten_are_made_and_removed_at_once(plane: ContainerPlane) -> None:
    for number in range(10):
        await plane.run(f"web-{number}")
    for number in range(10):
        await plane.until_in(f"web-{number}", "Running")
    assert len(plane.podman.names) == 10
    for number in range(10):
        await plane.cluster.client.delete(Container, Key("default", f"web-{number}"))

    async def all_are_gone() -> bool:
        return await plane.cluster.client.list(Container, "default") == []

    await eventually(all_are_gone, within_s=WITHIN_S)
    assert plane.podman.names == []
