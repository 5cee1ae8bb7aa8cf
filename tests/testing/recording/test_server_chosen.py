"""Recordings of objects in which the server chooses something: worlds follow them whatever they choose themselves."""

import io
from typing import Any

import pytest

from attractor.check import World
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.batch_v1 import Job
from attractor.k8s.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, Service
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource
from attractor.runtime import Context, controller
from attractor.runtime.toolkit.owners import set_controller
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.recording import Recorder, Recording
from attractor.testing.recording.admission import follow
from attractor.testing.recording.equality import alike
from tests.runtime.things import passing

A = Key("default", "a")
FIRST = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "1"})
POD: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
CHILDREN: dict[str, tuple[type[Resource], dict[str, Any]]] = {
    "a service": (Service, {"ports": [{"port": 80}], "selector": {"a": "b"}}),
    "a headless one": (Service, {"ports": [{"port": 80}], "clusterIP": "None"}),
    "one with node ports": (
        Service,
        {"ports": [{"port": 80}], "type": "LoadBalancer", "externalTrafficPolicy": "Local"},
    ),
    "a job": (Job, {"template": {"spec": {**POD, "restartPolicy": "Never"}}}),
    "a pod": (Pod, POD),
    "a deployment": (
        Deployment,
        {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}},
    ),
    "a claim": (
        PersistentVolumeClaim,
        {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
}


@pytest.mark.parametrize("how", ["apply", "create"])
@pytest.mark.parametrize("child", CHILDREN)
async def test_a_child_of_a_built_in_kind_is_followed(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, child: str, how: str
) -> None:
    kind, spec = CHILDREN[child]

    @controller(for_=ConfigMap, owns=[kind])
    async def parent(ctx: Context, key: Key) -> None:
        source = await ctx.find(ConfigMap, A) if key == A else None
        if source is None:
            return
        made = kind.from_dict({"metadata": {"name": "a", "namespace": "default"}, "spec": spec})
        set_controller(source, made)
        if how == "apply":
            await ctx.apply(made)
        elif await ctx.find(kind, A) is None:
            await ctx.create(made)

    file = io.BytesIO()
    recorder = Recorder(file)
    await cluster.client.create(FIRST)
    client = cluster.controller_client()
    client.transport = recorder.listening(client.transport)
    async with cluster.manager(recorder.watching(parent), client=client).running():
        await eventually(lambda: cluster.client.get(kind, A))
        await passing(1)
    recording = Recording.read(file.getvalue().splitlines(keepends=True))
    assert follow(World(controllers=[parent], objects=[FIRST]), recording).departure is None


@pytest.mark.parametrize(
    ("recorded", "world", "expected"),
    [
        ({"clusterIP": "10.0.0.7"}, {"clusterIP": "10.0.0.9"}, True),
        ({"clusterIP": "None"}, {"clusterIP": "10.0.0.9"}, False),
        ({"clusterIP": "None"}, {"clusterIP": "None"}, True),
        ({"clusterIP": "10.0.0.7"}, {}, False),
        ({"clusterIPs": ["10.0.0.7"]}, {"clusterIPs": ["10.0.0.9"]}, True),
        ({"clusterIPs": ["None"]}, {"clusterIPs": ["10.0.0.9"]}, False),
        ({"nodePort": 30001}, {"nodePort": 30002}, True),
        ({"nodePort": 30001}, {"nodePort": 0}, False),
        ({"port": 80}, {"port": 81}, False),
        ({"controller-uid": "x"}, {"controller-uid": "y"}, True),
        ({"controller-uid": "x"}, {}, False),
    ],
)
def test_what_the_server_has_chosen_may_differ_and_what_was_said_may_not(
    recorded: Any, world: Any, expected: bool
) -> None:
    assert alike(recorded, world) is expected
