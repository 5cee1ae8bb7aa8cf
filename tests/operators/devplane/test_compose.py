"""Compose files become objects: reading, merging and translating, case by case after the Compose Specification."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from attractor.operators.devplane.api.application import Part, check_fields
from attractor.operators.devplane.api.compose import fields
from attractor.operators.devplane.api.compose.document import ComposeError, Source, is_compose
from attractor.operators.devplane.api.compose.interpolation import BadInterpolation, interpolate
from attractor.operators.devplane.api.compose.translation import Translation, translate


def translated(text: str, *profiles: str, variables: dict[str, str] | None = None, **files: str) -> Translation:
    """The translation of compose.yaml, with other files by their names (``_`` for a dot)."""
    texts = {name.replace("_", "."): textwrap.dedent(other) for name, other in files.items()}
    texts["compose.yaml"] = textwrap.dedent(text)

    def read(path: str) -> str:
        if path not in texts:
            raise FileNotFoundError(2, "No such file or directory", path)
        return texts[path]

    return translate(["compose.yaml"], Source(read, variables or {}), profiles)


def spec_of(text: str, name: str = "web", **options: Any) -> dict[str, Any]:
    """The Container of a service."""
    found = [part for part in translated(text, **options).parts if (part.kind, part.name) == ("Container", name)]
    assert len(found) == 1
    spec: dict[str, Any] = found[0].object["spec"]
    return spec


def service(body: str) -> str:
    """A file with one service web of an image."""
    return "services:\n  web:\n    image: i\n" + textwrap.indent(textwrap.dedent(body), "    ")


VARIABLES = {"SET": "value", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$SET-${SET}", "value-value"),
        ("${UNSET}$UNSET|", "|"),
        ("${EMPTY:-other} ${EMPTY-other}", "other "),
        ("${UNSET:-other} ${UNSET-other}", "other other"),
        ("${SET:+other} ${EMPTY:+other} ${EMPTY+other} ${UNSET+other}", "other  other "),
        ("${UNSET:-${SET}-${UNSET:-deep}}", "value-deep"),
        ("$$SET $${SET}", "$SET ${SET}"),
        ("${SET:?must be there}", "value"),
    ],
)
def test_variables_are_interpolated(text: str, expected: str) -> None:
    assert interpolate(text, VARIABLES) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${EMPTY:?is needed}", "variable EMPTY is not set: is needed"),
        ("${UNSET?}", "variable UNSET is not set"),
        ("${UNSET", "a brace is not closed"),
        ("cost: $5", "is no variable"),
        ("${a b}", "is no variable"),
    ],
)
def test_what_cannot_be_interpolated_is_told(text: str, why: str) -> None:
    with pytest.raises(BadInterpolation, match=why):
        interpolate(text, VARIABLES)


@pytest.mark.parametrize(
    ("body", "field", "expected"),
    [
        ("command: bundle exec 'thin -p 3000'", "args", ["bundle", "exec", "thin -p 3000"]),
        ("command: [php, -d, vendor/bin/phpunit]", "args", ["php", "-d", "vendor/bin/phpunit"]),
        ("entrypoint: /code/entrypoint.sh", "command", ["/code/entrypoint.sh"]),
        ("environment: {A: 1, B: true, C: x}", "env", [("A", "1"), ("B", "true"), ("C", "x")]),
        ("environment: [A=1, SET, B=a=b, UNSET]", "env", [("A", "1"), ("SET", "value"), ("B", "a=b")]),
        ("working_dir: /srv", "workingDirectory", "/srv"),
        ("user: '1000:1000'", "user", "1000:1000"),
        ("labels: [a.b=c, d]", "labels", {"a.b": "c", "d": ""}),
        ("restart: no", "restartPolicy", "Never"),
        ("restart: unless-stopped", "restartPolicy", "UnlessStopped"),
        ("stop_grace_period: 1m30s", "stopGraceSeconds", 90),
        ("pull_policy: if_not_present", "pullPolicy", "Missing"),
        ("container_name: my-web", "containerName", "my-web"),
    ],
)
def test_a_field_of_a_service_is_translated(body: str, field: str, expected: Any) -> None:
    found = spec_of(service(body), variables=VARIABLES)[field]
    assert [(one["name"], one["value"]) for one in found] == expected if field == "env" else found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3000", [(3000, 0, "127.0.0.1", "TCP")]),
        ("8000:80", [(80, 8000, "127.0.0.1", "TCP")]),
        ("9090-9091:8080-8081", [(8080, 9090, "127.0.0.1", "TCP"), (8081, 9091, "127.0.0.1", "TCP")]),
        ("0.0.0.0:8001:8001", [(8001, 8001, "0.0.0.0", "TCP")]),
        ("127.0.0.1::5000", [(5000, 0, "127.0.0.1", "TCP")]),
        ("6060:6060/udp", [(6060, 6060, "127.0.0.1", "UDP")]),
        ("[::1]:6000:80", [(80, 6000, "::1", "TCP")]),
        ({"target": 80, "published": "8080", "protocol": "tcp", "mode": "host"}, [(80, 8080, "127.0.0.1", "TCP")]),
        ({"target": 80, "host_ip": "127.0.0.2"}, [(80, 0, "127.0.0.2", "TCP")]),
    ],
)
def test_ports_have_a_short_and_a_long_form(text: Any, expected: list[tuple[int, int, str, str]]) -> None:
    assert [tuple(one.values()) for one in fields.ports(text)] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("./src:/app:ro", {"target": "/app", "readOnly": True, "hostPath": "./src"}),
        ("data:/var/lib", {"target": "/var/lib", "readOnly": False, "volume": "data"}),
        ({"type": "bind", "source": "./a", "target": "/a"}, {"target": "/a", "readOnly": False, "hostPath": "./a"}),
        (
            {"type": "volume", "source": "data", "target": "/a", "read_only": True},
            {"target": "/a", "readOnly": True, "volume": "data"},
        ),
    ],
)
def test_volumes_have_a_short_and_a_long_form(value: Any, expected: dict[str, Any]) -> None:
    assert fields.mount(value) == expected


@pytest.mark.parametrize(
    ("test", "command"),
    [
        ("curl -f localhost", ["sh", "-c", "curl -f localhost"]),
        (["CMD", "curl", "-f"], ["curl", "-f"]),
        (["CMD-SHELL", "curl -f || exit 1"], ["sh", "-c", "curl -f || exit 1"]),
    ],
)
def test_a_health_check_is_a_probe(test: Any, command: list[str]) -> None:
    found = fields.probe({"test": test, "interval": "1m", "timeout": "500ms"})
    assert found == {
        "name": "healthcheck",
        "command": {"command": command},
        "intervalSeconds": 60.0,
        "timeoutSeconds": 0.5,
    }
    assert fields.probe({"test": ["NONE"]}) is fields.probe({"disable": True}) is None


WHOLE = """
name: shop
services:
  web:
    build: {context: ./web, args: {VERSION: "${VERSION:-1}"}}
    image: shop/web
    ports: ["8080:80"]
    volumes: [./web:/srv, data_dir:/data]
    networks: {front: {aliases: [shop]}}
    env_file: [web.env, {path: missing.env, required: false}]
    secrets: [token]
    configs: [{source: settings, target: /etc/settings, mode: 0440}]
    healthcheck: {test: [CMD, check], interval: 2s}
    depends_on:
      db: {condition: service_healthy}
      migrate: {condition: service_completed_successfully}
      worker: {condition: service_started}
  db: {image: postgres, networks: [front]}
  migrate: {image: shop/web, command: migrate}
  worker: {image: shop/web, deploy: {replicas: 2}}
  debug: {image: busybox, profiles: [debug]}
networks: {front: {}}
volumes: {data_dir: {}}
secrets: {token: {file: ./token.txt}}
configs: {settings: {content: "a=b"}}
"""


def test_a_whole_application_is_translated() -> None:
    found = translated(WHOLE, web_env="A=1")
    assert [str(part) for part in found.parts] == [
        "ContainerNetwork default",
        "ContainerNetwork front",
        "ContainerVolume data-dir",
        "Container web",
        "Container db",
        "Container migrate",
        "Container worker-1",
        "Container worker-2",
    ]
    assert found.notes == ["compose.yaml:2: name is left out"]
    assert next(part for part in found.parts if part.name == "web").object["spec"] == {
        "build": {"context": "web", "args": {"VERSION": "1"}, "tag": "shop/web"},
        "envFiles": ["web.env"],
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostAddress": "127.0.0.1", "protocol": "TCP"}],
        "volumeMounts": [
            {"target": "/srv", "readOnly": False, "hostPath": "web"},
            {"target": "/data", "readOnly": False, "volume": "data-dir"},
        ],
        "createFiles": [
            {"path": "/run/secrets/token", "source": "token.txt"},
            {"path": "/etc/settings", "mode": 0o440, "content": "a=b"},
        ],
        "probes": [
            {
                "name": "healthcheck",
                "command": {"command": ["check"]},
                "intervalSeconds": 2.0,
                "timeoutSeconds": 30.0,
            }
        ],
        "dependsOn": [
            {"kind": "Container", "name": "db", "condition": "Healthy"},
            {"kind": "Container", "name": "migrate", "condition": "Completed"},
            {"kind": "Container", "name": "worker-1", "condition": "Started"},
            {"kind": "Container", "name": "worker-2", "condition": "Started"},
        ],
        "start": False,
        "networks": [{"network": "front", "aliases": ["web", "shop"]}],
    }


def test_what_is_translated_are_objects_that_the_kinds_know() -> None:
    """Each field is one that the kind has."""
    for part in translated(WHOLE, "debug", web_env="A=1").parts:
        assert isinstance(part, Part)
        check_fields(part)


def test_profiles_choose_services() -> None:
    assert "Container debug" in map(str, translated(WHOLE, "debug", web_env="").parts)


def test_a_service_extends_another_of_the_same_file_or_of_another() -> None:
    text = """
    services:
      base: {image: i, environment: {A: base, B: base}, command: [a], labels: [x=1]}
      web:
        extends: base
        environment: [B=own]
        command: [b]
      other: {extends: {file: other.yaml, service: far}, ports: ["80"]}
    """
    other = "services: {far: {image: far, ports: ['81'], volumes: ['./d:/d']}}"
    web = spec_of(text, other_yaml=other)
    assert [(one["name"], one["value"]) for one in web["env"]] == [("A", "base"), ("B", "own")]
    assert (web["args"], web["labels"]) == (["b"], {"x": "1"})
    found = spec_of(text, "other", other_yaml=other)
    assert (found["image"], [one["containerPort"] for one in found["ports"]]) == ("far", [81, 80])


def test_files_are_included() -> None:
    found = translated("include: [db.yaml]\nservices: {web: {image: i}}", db_yaml="services: {db: {image: d}}")
    assert [part.place for part in found.parts if part.kind == "Container"] == ["db.yaml:1", "compose.yaml:2"]


def test_anchors_and_merge_keys_are_read() -> None:
    text = """
    x-common: &common {environment: {A: "1"}, restart: always}
    services: {web: {<<: *common, image: i}}
    """
    assert spec_of(text)["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (service("privileged: true"), "compose.yaml:4: services.web.privileged is not supported"),
        (service("network_mode: host"), "compose.yaml:4: services.web.network_mode is not supported"),
        (service("\nports: ['80:x']"), "compose.yaml:5: services.web.ports.0: '80:x' is no port"),
        (service("restart: on-failure:3"), "compose.yaml:4: services.web.restart: restart on-failure:3"),
        (service("depends_on: [nobody]"), "compose.yaml:4: services.web.depends_on names nobody"),
        (service("volumes: ['data:/d']"), "compose.yaml:4: services.web.volumes.0 names volume data"),
        (service("volumes: ['/d']"), "compose.yaml:4: services.web.volumes.0 has no name"),
        (service("networks: [back]"), "network back is not declared"),
        (service("env_file: none.env"), "compose.yaml:4: services.web.env_file cannot be read: none.env: No such file"),
        (service("hostname: ${UNSET?say it}"), "compose.yaml:4: variable UNSET is not set: say it"),
        (
            service("deploy: {replicas: 2}\nports: ['80:80']"),
            "compose.yaml:5: services.web.ports publishes a fixed port",
        ),
        ("services: {web: {command: x}}", "compose.yaml:1: services.web has neither image nor build"),
        ("services: {a: {extends: a, image: i}}", "compose.yaml:1: service a extends itself"),
        ("include: [compose.yaml]\nservices: {}", "compose.yaml includes itself"),
        ("services: {web: {image: i}}\nmodels: {}", "compose.yaml:2: models is not supported"),
        ("services: [", "this is no YAML"),
    ],
)
def test_what_is_not_supported_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ComposeError) as raised:
        translated(text)
    assert message in str(raised.value)


def test_what_makes_no_difference_is_left_out_with_a_note() -> None:
    found = translated(service("logging: {driver: none}\ndeploy: {resources: {}}\nhealthcheck: {test: a, retries: 3}"))
    assert found.notes == [
        "compose.yaml:4: services.web.logging is left out",
        "compose.yaml:6: services.web.healthcheck.retries is left out",
        "compose.yaml:5: services.web.deploy.resources is left out",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("services: {}", True),
        ("include: [a]", True),
        ("kind: Service\nservices: 1", False),
        ("a: [", False),
        ("x", False),
    ],
)
def test_a_compose_file_is_known_by_its_content(text: str, expected: bool) -> None:
    assert is_compose(text) is expected
