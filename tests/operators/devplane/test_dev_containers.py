"""``attractor dev up`` with containers and processes together, as a person starts it."""

import asyncio
import json
import os
import signal

import pytest

from tests.operators.devplane.devcommand import Dev
from tests.operators.podman import IMAGE, Podman

APPLICATION = f"""
apiVersion: dev.attractor.dev/v1
kind: ContainerNetwork
metadata: {{name: inner}}
---
apiVersion: dev.attractor.dev/v1
kind: ContainerVolume
metadata: {{name: data}}
spec: {{persistent: false}}
---
apiVersion: dev.attractor.dev/v1
kind: Service
metadata: {{name: web}}
---
apiVersion: dev.attractor.dev/v1
kind: Container
metadata: {{name: web}}
spec:
  image: {IMAGE}
  command: [sh, -c, "trap 'exit 0' TERM; echo hello >/data/index.html; httpd -p 80 -h /data; sleep 1000 & wait"]
  networks: [{{network: inner}}]
  volumeMounts: [{{volume: data, target: /data}}]
  serves: [{{service: web, port: 80}}]
---
apiVersion: dev.attractor.dev/v1
kind: Executable
metadata: {{name: client}}
spec:
  command: [sh, -c, "sleep 1000"]
  args: ['{{{{portFor "web"}}}}']
"""


@pytest.fixture(autouse=True)
def _runtime(dev: Dev, podman: Podman) -> None:
    dev.environment["CONTAINER_HOST"] = f"unix://{podman.socket}"


def left(podman: Podman) -> list[str]:
    """All containers, networks and volumes."""
    found = podman.run("network", "ls", "--format", "{{.Name}}").split()
    return [*podman.names, *(name for name in found if name != "podman"), *podman.run("volume", "ls", "-q").split()]


def test_containers_and_processes_come_up_answer_and_go_together(dev: Dev, podman: Podman) -> None:
    with dev.up(APPLICATION) as plane:
        plane.until(r"container +web +Running")
        port = int(plane.until(r"service +web +Ready +127\.0\.0\.1:(\d+)").group(1))
        plane.until(r"process +client +Running")

        async def page() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            answer = await reader.read()
            writer.close()
            return answer

        assert b"hello" in asyncio.run(page())
        assert "container  web" in dev.run("status").stdout
        down = dev.run("down")
        assert (down.returncode, down.stdout.strip()) == (0, "stopped: nothing is left running")
        assert plane.code() == 0
    assert left(podman) == []


def test_what_a_killed_plane_has_left_is_ended_by_down(dev: Dev, podman: Podman) -> None:
    with dev.up(APPLICATION) as plane:
        plane.until(r"container +web +Running")
        plane.tell(signal.SIGKILL)
    assert len(podman.names) == 1
    down = dev.run("down")
    assert "was ended" in down.stdout
    assert left(podman) == []


def test_a_plane_that_comes_again_over_its_store_takes_its_containers_over(dev: Dev, podman: Podman) -> None:
    with dev.up(APPLICATION, "--store", "sqlite:dev.db") as plane:
        plane.until(r"container +web +Running")
        plane.tell(signal.SIGKILL)
    (before,) = json.loads(podman.run("ps", "--format", "json"))
    with dev.up(APPLICATION, "--store", "sqlite:dev.db") as plane:
        plane.until(r"service +web +Ready")
        (after,) = json.loads(podman.run("ps", "--format", "json"))
        assert after["Id"] == before["Id"]
        assert dev.run("down").returncode == 0
        assert plane.code() == 0
    assert left(podman) == []
    assert os.listdir(dev.directory)
