"""From compose files to objects: a Container for each service and replica, their networks and their volumes."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attractor.operators.devplane.api.application import API_VERSION, Part
from attractor.operators.devplane.api.compose import fields
from attractor.operators.devplane.api.compose.document import ComposeError, Document, active, load, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from attractor.operators.devplane.api.compose.document import Source

DEFAULT = "default"
"""The network of services that name none."""
LEFT_OUT = frozenset(
    {"logging", "stdin_open", "tty", "init", "develop", "platform", "annotations", "attach", "expose", "stop_signal"}
    | {"cpus", "mem_limit", "mem_reservation", "memswap_limit", "shm_size", "ulimits", "oom_score_adj", "cpu_shares"}
)
"""What a service may have that makes no difference to what it does here, or little; it is noted."""
NEXT = "take it out of the file, or run this service otherwise"


@dataclass
class Translation:
    """The objects of an application, and notes about what was left out, each with its line."""

    parts: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def translate(
    names: Sequence[str], source: Source, profiles: Sequence[str] = (), namespace: str = "default"
) -> Translation:
    """The objects of some compose files, of which later ones add to earlier ones; raises ``ComposeError``."""
    document = Document()
    for name in names:
        document = merged(document, load(name, source))
    return _Translator(document, source, profiles, namespace, posixpath.dirname(names[0])).all()


class _Translator:
    """One translation."""

    def __init__(
        self, document: Document, source: Source, profiles: Sequence[str], namespace: str, directory: str
    ) -> None:
        self._document, self._source, self._namespace, self._directory = document, source, namespace, directory
        self._services = active(document, profiles)
        self._made = Translation()
        self._networks: set[str] = set()

    def all(self) -> Translation:
        known = {"services", "networks", "volumes", "configs", "secrets", "version", "name"}
        for key in self._document.content:
            if key not in known and not key.startswith("x-"):
                raise self._refused("is not supported", key)
        for key in ("version", "name"):
            if key in self._document.content:
                self._note(key)
        containers = [part for name in self._services for part in self._containers(name)]
        self._made.parts = [*self._shared_networks(), *self._shared_volumes(), *containers]
        return self._made

    # Where things stand.

    def _refused(self, why: str, *path: str | int) -> ComposeError:
        return ComposeError(f"{self._document.place(*path)}: {'.'.join(map(str, path))} {why}", NEXT)

    def _note(self, *path: str | int) -> None:
        self._made.notes.append(f"{self._document.place(*path)}: {'.'.join(map(str, path))} is left out")

    def _read(self, reader: Callable[[Any], Any], value: Any, *path: str | int) -> Any:
        """A value in another form; raises ``ComposeError`` with its line."""
        try:
            return reader(value)
        except ValueError as error:
            place = self._document.place(*path)
            raise ComposeError(f"{place}: {'.'.join(map(str, path))}: {error}", "mend that in the file") from None

    def _part(self, kind: str, name: str, spec: dict[str, Any], *path: str) -> Part:
        metadata = {"name": object_name(name), "namespace": self._namespace}
        described = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
        return Part(self._document.place(*path), described)

    def _path(self, text: str) -> str:
        """A path of a compose file, seen from where the command runs."""
        return text if text.startswith(("/", "~")) else posixpath.normpath(posixpath.join(self._directory or ".", text))

    # Networks and volumes.

    def _declared(self, section: str, name: str, known: frozenset[str]) -> dict[str, Any]:
        spec = (self._document.content.get(section) or {}).get(name) or {}
        for key in spec.keys() - known:
            if not key.startswith("x-"):
                raise self._refused("is not supported", section, name, key)
        found: dict[str, Any] = spec
        return found

    def _shared_networks(self) -> Iterator[Part]:
        declared = self._document.content.get("networks") or {}
        for name in sorted(self._networks):
            if name != DEFAULT and name not in declared:
                raise ComposeError(f"network {name} is not declared", f"add `{name}:` under `networks:`")
            spec = self._declared(
                "networks", name, frozenset({"name", "driver", "external", "internal", "enable_ipv6"})
            )
            if spec.get("driver", "bridge") != "bridge":
                raise self._refused("is not supported: only bridge is", "networks", name, "driver")
            made: dict[str, Any] = {}
            if spec.get("external"):
                made = {"mode": "Existing", "networkName": str(spec.get("name", name))}
            elif "name" in spec:
                made = {"networkName": str(spec["name"])}
            if spec.get("internal"):
                made["internal"] = True
            if spec.get("enable_ipv6"):
                made["ipv6"] = True
            yield self._part("ContainerNetwork", name, made, "networks", name)

    def _shared_volumes(self) -> Iterator[Part]:
        for name in self._document.content.get("volumes") or {}:
            spec = self._declared("volumes", name, frozenset({"name", "external", "labels", "driver"}))
            if spec.get("driver", "local") != "local":
                raise self._refused("is not supported: only local is", "volumes", name, "driver")
            made: dict[str, Any] = {}
            if "name" in spec or spec.get("external"):
                made["volumeName"] = str(spec.get("name", name))
            if "labels" in spec:
                made["labels"] = fields.labels(spec["labels"])
            yield self._part("ContainerVolume", name, made, "volumes", name)

    # Services.

    def _containers(self, name: str) -> Iterator[Part]:
        spec = self._services[name]
        if not isinstance(spec, dict):
            raise self._refused("has nothing in it", "services", name)
        for key in spec:
            if key in LEFT_OUT:
                self._note("services", name, key)
            elif key not in _KNOWN and not key.startswith("x-"):
                raise self._refused("is not supported", "services", name, key)
        if not spec.get("image") and not spec.get("build"):
            raise self._refused("has neither image nor build", "services", name)
        made = self._spec(name, spec)
        for replica in self._replicas(name):
            if replica != name and "ports" in made and any(one["hostPort"] for one in made["ports"]):
                raise self._refused(
                    "publishes a fixed port, which only one replica can have", "services", name, "ports"
                )
            yield self._part("Container", replica, made, "services", name)

    def _replicas(self, name: str) -> list[str]:
        """The names of the Containers of a service: its own, or one with a number for each replica."""
        spec = self._services[name]
        deploy = spec.get("deploy") or {}
        for key in deploy.keys() - {"replicas"}:
            self._note("services", name, "deploy", key)
        count = int(deploy.get("replicas", spec.get("scale", 1)))
        return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]

    def _spec(self, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, (target, reader) in _SIMPLE.items():
            if spec.get(key) is not None:
                made[target] = self._read(reader, spec[key], "services", name, key)
        if spec.get("build") is not None:
            made["build"] = self._build(name, spec["build"])
            if "image" in made:
                made["build"]["tag"] = made.pop("image")
        env_files = self._env_files(name, spec.get("env_file"))
        ambient = self._source.variables
        lists = {
            "env": self._read(lambda one: fields.variables(one, ambient), spec.get("environment"), "services", name),
            "envFiles": env_files,
            "ports": self._each(name, spec, "ports", fields.ports),
            "volumeMounts": self._mounts(name, spec),
            "createFiles": [*self._files(name, spec, "secrets"), *self._files(name, spec, "configs")],
            "probes": self._probes(name, spec),
            "dependsOn": self._dependencies(name, spec),
        }
        made |= {key: value for key, value in lists.items() if value}
        if "dependsOn" in made:
            made["start"] = False
        made["networks"] = self._attachments(name, spec)
        return made

    def _each(self, name: str, spec: Mapping[str, Any], key: str, reader: Callable[[Any], Any]) -> list[Any]:
        found = enumerate(spec.get(key) or [])
        return [made for number, one in found for made in self._read(reader, one, "services", name, key, number)]

    def _build(self, name: str, value: Any) -> dict[str, Any]:
        spec = value if isinstance(value, dict) else {"context": value}
        for key in spec.keys() - {"context", "dockerfile", "target", "args"}:
            raise self._refused("is not supported", "services", name, "build", key)
        made: dict[str, Any] = {"context": self._path(str(spec.get("context", ".")))}
        made |= {key: str(spec[key]) for key in ("dockerfile", "target") if key in spec}
        if spec.get("args"):
            pairs = fields.variables(spec["args"], self._source.variables)
            made["args"] = {one["name"]: one["value"] for one in pairs}
        return made

    def _env_files(self, name: str, value: Any) -> list[str]:
        found = []
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            path = self._path(str(one["path"] if isinstance(one, dict) else one))
            try:
                self._source.read(path)
            except OSError as error:
                if isinstance(one, dict) and one.get("required") is False:
                    continue
                raise self._refused(f"cannot be read: {path}: {error.strerror}", "services", name, "env_file") from None
            found.append(path)
        return found

    def _mounts(self, name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = []
        for number, one in enumerate(spec.get("volumes") or []):
            path = ("services", name, "volumes", number)
            made = self._read(fields.mount, one, *path)
            if "hostPath" in made:
                made["hostPath"] = self._path(made["hostPath"])
            elif "volume" not in made:
                raise self._refused("has no name; give the volume one, and declare it under `volumes:`", *path)
            elif made["volume"] not in (self._document.content.get("volumes") or {}):
                raise self._refused(f"names volume {made['volume']}, which is not under `volumes:`", *path)
            else:
                made["volume"] = object_name(made["volume"])
            found.append(made)
        return found

    def _files(self, name: str, spec: Mapping[str, Any], section: str) -> Iterator[dict[str, Any]]:
        """Configs and secrets as files inside the container."""
        for number, one in enumerate(spec.get(section) or []):
            path = ("services", name, section, number)
            wanted = one if isinstance(one, dict) else {"source": one}
            source = str(wanted.get("source"))
            declared = (self._document.content.get(section) or {}).get(source)
            if declared is None:
                raise self._refused(f"names {source}, which is not under `{section}:`", *path)
            at = f"/run/secrets/{source}" if section == "secrets" else f"/{source}"
            target = str(wanted.get("target", at))
            made: dict[str, Any] = {"path": target if target.startswith("/") else f"/run/secrets/{target}"}
            made |= {key: int(str(wanted[key])) for key in ("uid", "gid") if key in wanted}
            if "mode" in wanted:
                made["mode"] = wanted["mode"] if isinstance(wanted["mode"], int) else int(str(wanted["mode"]), 8)
            yield {**made, **self._content(section, source, declared)}

    def _content(self, section: str, name: str, declared: Mapping[str, Any]) -> dict[str, str]:
        if "file" in declared:
            return {"source": self._path(str(declared["file"]))}
        if "content" in declared:
            return {"content": str(declared["content"])}
        if "environment" in declared:
            return {"content": self._source.variables.get(str(declared["environment"]), "")}
        raise self._refused("has no file, content or environment; external ones are not supported", section, name)

    def _probes(self, name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
        check = spec.get("healthcheck")
        if check is None:
            return []
        for key in ("retries", "start_period", "start_interval"):
            if key in check:
                self._note("services", name, "healthcheck", key)
        made = self._read(fields.probe, check, "services", name, "healthcheck")
        return [] if made is None else [made]

    def _dependencies(self, name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
        value = spec.get("depends_on") or {}
        wanted = {one: {} for one in value} if isinstance(value, list) else value
        found = []
        for other, how in wanted.items():
            path = ("services", name, "depends_on", other)
            if other not in self._services:
                if how.get("required") is False:
                    continue
                raise self._refused(
                    f"names {other}, which is no service that is to run", "services", name, "depends_on"
                )
            if how.get("restart"):
                self._note(*path, "restart")
            condition = self._read(fields.condition, how.get("condition", "service_started"), *path)
            found += [
                {"kind": "Container", "name": object_name(replica), "condition": condition}
                for replica in self._replicas(other)
            ]
        return found

    def _attachments(self, name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
        value = spec.get("networks") or [DEFAULT]
        wanted = dict.fromkeys(value) if isinstance(value, list) else value
        found = []
        for network, how in wanted.items():
            for key in (how or {}).keys() - {"aliases"}:
                raise self._refused("is not supported", "services", name, "networks", network, key)
            self._networks.add(network)
            aliases = dict.fromkeys([name, *((how or {}).get("aliases") or [])])
            found.append({"network": object_name(network), "aliases": list(aliases)})
        return found


def object_name(name: str) -> str:
    """The name of the object for a service, a network or a volume: small letters, and no underscores."""
    return name.lower().replace("_", "-").strip("-.")


def _pull_policy(value: Any) -> str:
    policies = {"always": "Always", "never": "Never", "missing": "Missing", "if_not_present": "Missing"}
    if value not in policies:
        raise ValueError(f"{value} is not supported; write always, missing or never")
    return policies[value]


def _whole_seconds(value: Any) -> int:
    return round(fields.seconds(value))


_SIMPLE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "image": ("image", str),
    "container_name": ("containerName", str),
    "entrypoint": ("command", fields.words),
    "command": ("args", fields.words),
    "working_dir": ("workingDirectory", str),
    "user": ("user", str),
    "hostname": ("hostname", str),
    "labels": ("labels", fields.labels),
    "restart": ("restartPolicy", fields.restart_policy),
    "stop_grace_period": ("stopGraceSeconds", _whole_seconds),
    "pull_policy": ("pullPolicy", _pull_policy),
}
"""What is translated by itself: the field of a Container, and how its value is read."""
_KNOWN = frozenset(_SIMPLE) | {
    "build",
    "environment",
    "env_file",
    "ports",
    "volumes",
    "networks",
    "configs",
    "secrets",
    "healthcheck",
    "depends_on",
    "deploy",
    "scale",
    "profiles",
}
