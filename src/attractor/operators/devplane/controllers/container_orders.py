"""From a Container to what the runtime is asked for: its name, labels and order, with templates replaced. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from attractor.objects.gvk import Key
from attractor.objects.resource.codec import to_builtins
from attractor.operators.devplane.api.executables import GROUP
from attractor.operators.devplane.api.templates import expand, references
from attractor.operators.devplane.controllers.health import Question
from attractor.operators.devplane.controllers.launch import Places
from attractor.operators.local.containers.runtime import (
    Attachment,
    Build,
    ContainerOrder,
    ExecOrder,
    File,
    Mount,
    PublishedPort,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.resource import Resource
    from attractor.operators.devplane.api.container_networks import ContainerNetwork, ContainerVolume
    from attractor.operators.devplane.api.containers import Container, ContainerExecSpec, ContainerSpec
    from attractor.operators.devplane.api.executables import Probe
    from attractor.operators.devplane.api.services import Service

PLANE = f"{GROUP}/plane"
"""The label that says which control plane made it; the driver's own."""
UID, KEY, MODE, LIFECYCLE = (f"{GROUP}/{name}" for name in ("uid", "key", "mode", "lifecycle-key"))
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared, not bound
UID_LETTERS = 8


class Missing(Exception):
    """Something that the container needs is not there yet; it waits and is tried again."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"waits for {kind} {name}")


@dataclass(frozen=True)
class Surroundings:
    """What a Container refers to, by name; what is not there is not in it."""

    services: Mapping[str, Service] = field(default_factory=dict)
    networks: Mapping[str, ContainerNetwork] = field(default_factory=dict)
    volumes: Mapping[str, ContainerVolume] = field(default_factory=dict)


def runtime_name(obj: Resource, asked: str) -> str:
    """The name that the runtime knows an object's container, network or volume by: never that of a namesake."""
    return asked or f"{obj.metadata.name}-{obj.metadata.uid[:UID_LETTERS]}"


def own_labels(obj: Resource, mode: str) -> dict[str, str]:
    """The labels by which what an object has made is found again."""
    return {UID: obj.metadata.uid, KEY: str(obj.key), MODE: mode}


def needed_services(spec: ContainerSpec) -> list[str]:
    """The Services, by name, whose places the templates of a Container ask for."""
    texts = [*spec.command, *spec.args, *(one.value for one in spec.env)]
    return sorted({found.service for found in references(texts) if not found.is_serving})


def needed_networks(spec: ContainerSpec) -> list[str]:
    """The ContainerNetworks that a Container is to be in, by name."""
    return [one.network for one in spec.networks or ()]


def needed_volumes(spec: ContainerSpec) -> list[str]:
    """The ContainerVolumes that a Container has, by name."""
    return sorted({one.volume for one in spec.volume_mounts if one.volume is not None})


def keys_in(namespace: str, names: Sequence[str]) -> list[str]:
    """Names as ``namespace/name``, for an index by which a change leads to those who wait for it."""
    return [str(Key(namespace, name)) for name in names]


def lifecycle_key(spec: ContainerSpec) -> str:
    """What a persistent container must have been made of to be taken over: as is said, or a hash of the spec."""
    if spec.lifecycle_key:
        return spec.lifecycle_key
    said = to_builtins(spec)
    kept = {name: value for name, value in said.items() if name not in {"start", "stop", "stopGraceSeconds", "probes"}}
    return hashlib.sha256(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def image_of(obj: Container) -> str:
    """The image that it is made from; that of a build has a name of its own."""
    build = obj.spec.build
    if build is None:
        return obj.spec.image
    return build.tag or f"localhost/attractor-dev/{obj.metadata.namespace}-{obj.metadata.name}:latest"


def order_of(obj: Container, around: Surroundings) -> ContainerOrder:
    """The container; raises ``Missing``, ``Unresolved`` and ``NotServed``."""
    spec = obj.spec
    places = Places({one.service: ("0.0.0.0", one.port) for one in spec.serves}, around.services)  # noqa: S104 - inside
    labels = spec.labels | own_labels(obj, spec.mode) | {LIFECYCLE: obj.status.lifecycle_key}
    return ContainerOrder(
        name=obj.status.container_name,
        image=image_of(obj),
        build=_build(spec),
        pull_policy=spec.pull_policy,
        command=tuple(expand(text, places) for text in spec.command),
        args=tuple(expand(text, places) for text in spec.args),
        environment=tuple((one.name, expand(one.value, places)) for one in spec.env),
        env_files=tuple(spec.env_files),
        working_directory=spec.working_directory,
        user=spec.user,
        hostname=spec.hostname,
        ports=published(spec),
        mounts=_mounts(spec, around.volumes),
        networks=_attachments(obj, around.networks),
        files=tuple(
            File(one.path, one.content, one.source or "", one.mode, one.uid, one.gid) for one in spec.create_files
        ),
        labels=tuple(sorted(labels.items())),
        restart_policy=spec.restart_policy,
    )


def _build(spec: ContainerSpec) -> Build | None:
    if spec.build is None:
        return None
    build = spec.build
    return Build(build.context, build.dockerfile, build.target, tuple(sorted(build.args.items())))


def published(spec: ContainerSpec) -> tuple[PublishedPort, ...]:
    """The ports that the machine publishes: those that are named, and those of Services that it serves."""
    said = [PublishedPort(one.container_port, one.host_port, one.host_address, one.protocol) for one in spec.ports]
    known = {(one.container_port, one.protocol) for one in said}
    wanted = sorted({one.port for one in spec.serves if (one.port, "TCP") not in known})
    return (*said, *(PublishedPort(port, 0, "127.0.0.1") for port in wanted))


def _mounts(spec: ContainerSpec, volumes: Mapping[str, ContainerVolume]) -> tuple[Mount, ...]:
    found = []
    for one in spec.volume_mounts:
        if one.volume is None:
            source = str(Path(one.host_path or "").absolute())
            found.append(Mount(source, one.target, is_volume=False, is_read_only=one.read_only))
            continue
        volume = volumes.get(one.volume)
        if volume is None or volume.status.phase != "Ready":
            raise Missing("ContainerVolume", one.volume)
        found.append(Mount(volume.status.volume_name, one.target, is_volume=True, is_read_only=one.read_only))
    return tuple(found)


def _attachments(obj: Container, networks: Mapping[str, ContainerNetwork]) -> tuple[Attachment, ...] | None:
    if obj.spec.networks is None:
        return None
    found = []
    for one in obj.spec.networks:
        network = networks.get(one.network)
        if network is None or network.status.phase != "Running":
            raise Missing("ContainerNetwork", one.network)
        aliases = dict.fromkeys([obj.metadata.name, *one.aliases])
        found.append(Attachment(network.status.network_name, tuple(aliases)))
    return tuple(found)


def exec_order(spec: ContainerExecSpec) -> ExecOrder:
    """Return the command of a ContainerExec."""
    return ExecOrder(
        command=(*spec.command, *spec.args),
        environment=tuple((one.name, one.value) for one in spec.env),
        env_files=tuple(spec.env_files),
        working_directory=spec.working_directory,
    )


def served_at(obj: Container) -> dict[str, tuple[str, int]]:
    """Where the machine publishes the Services that a Container serves: address and port by Service."""
    places = {one.container_port: one for one in obj.status.ports if one.protocol == "TCP"}
    return {
        one.service: (
            EVERYWHERE.get(places[one.port].host_address, places[one.port].host_address),
            places[one.port].host_port,
        )
        for one in obj.spec.serves
        if one.port in places
    }


def question_of(probe: Probe, obj: Container, services: Mapping[str, Service]) -> Question:
    """Return the request of a probe, which is asked from the machine; raises ``Unresolved`` and ``NotServed``."""
    assert probe.http is not None
    return Question(url=expand(probe.http.url, Places(served_at(obj), services)), timeout_s=probe.timeout_seconds)
