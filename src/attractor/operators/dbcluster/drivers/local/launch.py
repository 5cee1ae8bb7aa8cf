"""From a Pod to a ``Launch``: environment, files and mounts of its container. Pure.

There is no name service: a host name of a StatefulSet's pod (``pod.service``) in the environment becomes its address.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.dbcluster.drivers.local.protocol import Launch, Mount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.k8s.core_v1 import ConfigMap, EnvVar, Pod, Secret

_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


class NotYet(LookupError):
    """Something that the pod needs is not there (yet); the text names it."""


def config_maps(pod: Pod) -> list[Key]:
    """The ConfigMaps that a pod mounts."""
    volumes = pod.spec.volumes
    return [Key(pod.metadata.namespace, one.config_map.name) for one in volumes if one.config_map is not None]


def secrets(pod: Pod) -> list[Key]:
    """The Secrets that a pod mounts or reads into its environment."""
    names = [one.secret.secret_name for one in pod.spec.volumes if one.secret is not None]
    for variable in pod.spec.containers[0].env:
        source = variable.value_from
        if source is not None and source.secret_key_ref is not None:
            names.append(source.secret_key_ref.name)
    return [Key(pod.metadata.namespace, name) for name in dict.fromkeys(names)]


def hosts(pod: Pod) -> list[Key]:
    """The pods that are named in the environment by their host names."""
    parts = [one.value.partition(".") for one in pod.spec.containers[0].env]
    return [
        Key(pod.metadata.namespace, host) for host, _, service in parts if service and service == pod.spec.subdomain
    ]


def launch_of(
    pod: Pod,
    address: str,
    addresses: Mapping[Key, str],
    configured: Mapping[Key, ConfigMap],
    secret: Mapping[Key, Secret],
) -> Launch:
    """Return the process to start. Raises ``NotYet`` when a ConfigMap, a Secret or one of its keys is missing."""
    container = pod.spec.containers[0]
    environment: dict[str, str] = {}
    for variable in container.env:
        environment[variable.name] = _value(variable, pod, address, addresses, secret)
    probe = container.readiness_probe
    checked = probe.exec.command if probe is not None and probe.exec is not None else []
    return Launch(
        command=tuple(_expand(part, environment) for part in (*container.command, *container.args)),
        environment=tuple(environment.items()),
        mounts=_mounts(pod),
        files=tuple(_files(pod, configured, secret)),
        probe=tuple(_expand(part, environment) for part in checked),
    )


def _value(variable: EnvVar, pod: Pod, address: str, addresses: Mapping[Key, str], secret: Mapping[Key, Secret]) -> str:
    source = variable.value_from
    if source is None:
        host, _, service = variable.value.partition(".")
        is_host = service and service == pod.spec.subdomain
        return addresses[Key(pod.metadata.namespace, host)] if is_host else variable.value
    if source.field_ref is not None:
        known = {
            "metadata.name": pod.metadata.name,
            "metadata.namespace": pod.metadata.namespace,
            "metadata.uid": pod.metadata.uid,
            "status.podIP": address,
        }
        path = source.field_ref.field_path
        if path not in known:
            raise NotYet(f"pod {pod.key}: this node cannot tell {path}; it knows {', '.join(known)}")
        return known[path]
    if source.secret_key_ref is not None:
        wanted = source.secret_key_ref
        found = secret.get(Key(pod.metadata.namespace, wanted.name))
        if found is None or wanted.key not in found.data:
            raise NotYet(f"pod {pod.key} waits for {wanted.key} of Secret {wanted.name}")
        return found.data[wanted.key].decode()
    raise NotYet(f"pod {pod.key}: this node cannot fill in {variable.name}; use a value, a field or a Secret's key")


def _mounts(pod: Pod) -> tuple[Mount, ...]:
    claims = {
        one.name: one.persistent_volume_claim.claim_name
        for one in pod.spec.volumes
        if one.persistent_volume_claim is not None
    }
    return tuple(
        Mount(mount.mount_path, "claim", claims[mount.name])
        if mount.name in claims
        else Mount(mount.mount_path, "files", mount.name)
        for mount in pod.spec.containers[0].volume_mounts
    )


def _files(pod: Pod, configured: Mapping[Key, ConfigMap], secret: Mapping[Key, Secret]) -> list[tuple[str, str, bytes]]:
    found: list[tuple[str, str, bytes]] = []
    for volume in pod.spec.volumes:
        if volume.config_map is not None:
            source = configured.get(Key(pod.metadata.namespace, volume.config_map.name))
            if source is None:
                raise NotYet(f"pod {pod.key} waits for ConfigMap {volume.config_map.name}")
            found += [(volume.name, name, text.encode()) for name, text in sorted(source.data.items())]
        elif volume.secret is not None:
            held = secret.get(Key(pod.metadata.namespace, volume.secret.secret_name))
            if held is None:
                raise NotYet(f"pod {pod.key} waits for Secret {volume.secret.secret_name}")
            found += [(volume.name, name, data) for name, data in sorted(held.data.items())]
    return found


def _expand(text: str, environment: Mapping[str, str]) -> str:
    """``$(NAME)`` is replaced, as Kubernetes does; an unknown name stays as it is."""
    return _REFERENCE.sub(lambda found: environment.get(found[1], found[0]), text)
