"""From a pod to a process: environment, files, addresses; and the order in which pods come and go. No machine needed."""

from typing import Any

import pytest

from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, Secret
from attractor.objects.gvk import Key
from attractor.operators.dbcluster.controllers import objects
from attractor.operators.dbcluster.drivers.local.launch import NotYet, config_maps, hosts, launch_of, secrets
from attractor.operators.dbcluster.drivers.local.protocol import Mount
from attractor.operators.dbcluster.drivers.local.statefulsets import pod_for, revision_of, statefulsets
from attractor.runtime import Context, effects
from attractor.runtime.steps import Steps

from .places import cluster_of, component


def workload(**fields: Any) -> StatefulSet:
    made = objects.component_objects(cluster_of(component(**fields)), component(**fields)).workload
    made.metadata.uid, made.metadata.resource_version = "1", "1"
    return made


CONFIG = Key("default", objects.component_objects(cluster_of(), component()).config.metadata.name)
CREDENTIALS = Key("default", "shop-credentials")
PRIMARY = Key("default", "shop-cache-0")


def things() -> tuple[dict[Key, ConfigMap], dict[Key, Secret]]:
    config = objects.component_objects(cluster_of(), component()).config
    return {CONFIG: config}, {CREDENTIALS: objects.credentials(cluster_of(), "hush")}


def test_a_pod_gets_its_environment_its_files_and_the_address_of_its_primary() -> None:
    pod = pod_for(workload(replicas=2), 1)
    assert (config_maps(pod), secrets(pod), hosts(pod)) == ([CONFIG], [CREDENTIALS], [PRIMARY])
    launch = launch_of(pod, "127.9.0.2", {PRIMARY: "127.9.0.1"}, *things())
    environment = dict(launch.environment)
    assert environment["POD_IP"] == "127.9.0.2"
    assert environment["PRIMARY_HOST"] == "127.9.0.1"
    assert environment["PRIMARY_NAME"] == "shop-cache-0"
    assert environment["REDISCLI_AUTH"] == "hush"
    assert Mount("/var/lib/dbcluster", "claim", "data-shop-cache-1") in launch.mounts
    assert {(volume, name) for volume, name, _ in launch.files} >= {
        ("config", "redis.conf"),
        ("credentials", "auth.conf"),
    }
    assert "hush" not in " ".join(launch.command), "a password is no argument that everybody can read"


def test_a_pod_waits_for_what_it_mounts() -> None:
    pod = pod_for(workload(), 0)
    configured, secret = things()
    with pytest.raises(NotYet, match="waits for password of Secret shop-credentials"):
        launch_of(pod, "127.9.0.1", {PRIMARY: "127.9.0.1"}, configured, {})
    with pytest.raises(NotYet, match="waits for ConfigMap shop-cache-config-"):
        launch_of(pod, "127.9.0.1", {PRIMARY: "127.9.0.1"}, {}, secret)


def ready(pod: Pod, uid: str = "u") -> Pod:
    body = {**pod.to_dict(), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    made = Pod.from_dict(body)
    made.metadata.uid = uid
    return made


def next_write(stateful: StatefulSet, *pods: Pod) -> effects.Effect[Any] | None:
    """What the controller writes first, besides a status."""
    steps = Steps(statefulsets.reconcile(Context("local", stateful.key), stateful.key))
    while not steps.is_done:
        asked: Any = steps.effect
        match asked:
            case effects.Get(kind) if kind is StatefulSet:
                steps.answer(stateful)
            case effects.List():
                steps.answer(list(pods))
            case effects.Get(kind) if kind is PersistentVolumeClaim:
                steps.answer(PersistentVolumeClaim())
            case effects.Patch():
                return None
            case _:
                return asked  # type: ignore[no-any-return]
    return None


def test_pods_are_created_in_order_each_after_the_one_before_is_ready() -> None:
    stateful = workload(replicas=2)
    first = next_write(stateful)
    assert isinstance(first, effects.Create)
    assert first.object.metadata.name == "shop-cache-0"
    assert next_write(stateful, pod_for(stateful, 0)) is None
    second = next_write(stateful, ready(pod_for(stateful, 0)))
    assert isinstance(second, effects.Create)
    assert second.object.metadata.name == "shop-cache-1"


def test_too_many_pods_go_from_the_highest_number_down() -> None:
    stateful = workload(replicas=3)
    pods = [ready(pod_for(stateful, number)) for number in range(3)]
    stateful.spec.replicas = 1
    gone = next_write(stateful, *pods)
    assert isinstance(gone, effects.Delete)
    assert gone.key.name == "shop-cache-2"


def test_a_change_replaces_pods_from_the_highest_number_down_one_at_a_time() -> None:
    old, new = workload(replicas=2), workload(replicas=2, version="7.2")
    assert revision_of(old) != revision_of(new)
    gone = next_write(new, ready(pod_for(old, 0)), ready(pod_for(old, 1)))
    assert isinstance(gone, effects.Delete)
    assert gone.key.name == "shop-cache-1"
    assert next_write(new, ready(pod_for(old, 0)), pod_for(new, 1)) is None
    last = next_write(new, ready(pod_for(old, 0)), ready(pod_for(new, 1)))
    assert isinstance(last, effects.Delete)
    assert last.key.name == "shop-cache-0"
