"""``attractor dev up compose.yaml``: services as real containers, which find each other, wait for each other, and go."""

import re

import pytest

from tests.operators.devplane.devcommand import Dev
from tests.operators.podman import IMAGE, Podman

pytestmark = pytest.mark.slow

COMPOSE = f"""
services:
  web:
    image: ${{IMAGE:-{IMAGE}}}
    command: [sh, -c, "trap 'exit 0' TERM; wget -q -O - http://db/ > /srv/index.html; httpd -p 80 -h /srv; sleep 900 & wait"]
    volumes: [pages:/srv]
    ports: ["80"]
    healthcheck: {{test: "wget -q -O /dev/null http://127.0.0.1/", interval: 1s}}
    depends_on:
      db: {{condition: service_healthy}}
      migrate: {{condition: service_completed_successfully}}
  db:
    image: {IMAGE}
    command: [sh, -c, "trap 'exit 0' TERM; mkdir /d; cat /run/secrets/row > /d/index.html; httpd -p 80 -h /d; echo ready; sleep 900 & wait"]
    secrets: [row]
    healthcheck: {{test: "wget -q -O /dev/null http://127.0.0.1/", interval: 1s}}
  migrate:
    image: {IMAGE}
    command: ["true"]
    logging: {{driver: none}}
volumes: {{pages: {{}}}}
secrets: {{row: {{file: row.txt}}}}
"""


@pytest.fixture(autouse=True)
def _runtime(dev: Dev, podman: Podman) -> None:
    dev.environment["CONTAINER_HOST"] = f"unix://{podman.socket}"


def test_a_compose_file_comes_up_in_order_answers_and_goes_down(dev: Dev, podman: Podman) -> None:
    (dev.directory / "compose.yaml").write_text(COMPOSE)
    (dev.directory / "row.txt").write_text("a row of the database")
    up = dev.run("up", "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    try:
        waited = dev.run("wait", "--timeout", "55")
        shown = dev.run("ps").stdout
        assert waited.returncode == 0, waited.stderr + shown
        found = re.search(r"container +web +Running +127\.0\.0\.1:(\d+)->80", shown)
        assert found is not None, shown
        web = next(name for name in podman.names if "web" in name)
        assert podman.run("exec", web, "cat", "/srv/index.html") == "a row of the database"
        assert dev.run("logs", "db", "migrate").stdout == "db      | ready\n"
        assert re.search(r"container +migrate +Exited +exit code 0", shown)
        assert "services.migrate.logging is left out" in (dev.directory / ".attractor" / "plane.log").read_text()
    finally:
        down = dev.run("down")
    assert down.stdout == "stopped: nothing is left running\n"
    assert podman.names == []
