"""Built-in types inside an author's kind: every one of them has a schema that the server accepts and that says enough."""

import importlib
import types
from typing import Any

import orjson
import pytest

from attractor.k8s import typed_classes
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import (
    EnvVar,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Volume,
)
from attractor.objects.errors import Invalid
from attractor.objects.resource import ObjectMeta, Resource, Struct, crd_for
from attractor.testing import ClusterUnderTest

APPLY_LIMIT_BYTES = 262_144
"""What kubectl can note down in an annotation."""


class RunnerSpec(Struct):
    """What runs, and with what."""

    resources: ResourceRequirements = ResourceRequirements()
    env: list[EnvVar] = []  # noqa: RUF012
    volumes: list[Volume] = []  # noqa: RUF012
    claim: PersistentVolumeClaimSpec | None = None
    pod: PodSpec | None = None
    template: PodTemplateSpec | None = None


class Runner(Resource, group="test.attractor.dev", version="v1"):
    """Something that runs."""

    spec: RunnerSpec


def properties_of(kind: type[Resource]) -> Any:
    [version] = crd_for(kind)["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def test_amounts_and_ports_are_numbers_or_texts_and_lists_know_their_keys() -> None:
    spec = properties_of(Runner)
    amount = spec["resources"]["properties"]["limits"]["additionalProperties"]
    assert amount["x-kubernetes-int-or-string"] is True
    assert amount["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert amount["pattern"].startswith("^")
    containers = spec["template"]["properties"]["spec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    container = containers["items"]
    assert container["required"] == ["name"]
    assert container["properties"]["ports"]["items"]["properties"]["protocol"] == {"type": "string", "default": "TCP"}
    port = container["properties"]["livenessProbe"]["properties"]["httpGet"]["properties"]["port"]
    assert port["x-kubernetes-int-or-string"] is True
    assert "labels" in spec["template"]["properties"]["metadata"]["properties"]


def every_struct() -> list[tuple[str, str]]:
    return [
        (module, name) for module, package in typed_classes.MODULES.items() for name in typed_classes.names_of(package)
    ]


@pytest.mark.slow
async def test_the_server_accepts_every_built_in_type_in_a_kind(cluster: ClusterUnderTest) -> None:
    refused = []
    for module in typed_classes.MODULES:
        offered = importlib.import_module(f"attractor.k8s.{module}")
        found = [getattr(offered, name) for owner, name in every_struct() if owner == module]
        for number in range(0, len(found), 8):
            hints = {f"f{n}": cls | None for n, cls in enumerate(found[number : number + 8])}
            body = {"__annotations__": hints, "__module__": __name__, **dict.fromkeys(hints)}
            spec = type("Spec", (Struct,), body)
            body = {"__annotations__": {"spec": spec}, "__module__": __name__}
            name = f"All{module.replace('_', '').capitalize()}{number}"
            said = {"group": "test.attractor.dev", "version": "v1"}
            kind: Any = types.new_class(name, (Resource,), said, lambda made, body=body: made.update(body))  # type: ignore[misc]
            try:
                await cluster.client.create(CustomResourceDefinition.from_dict(crd_for(kind)))
            except Invalid as error:
                refused.append((name, [cls.__name__ for cls in found[number : number + 8]], error.message[:600]))
    assert refused == []


async def test_what_is_written_in_an_embedded_type_is_stored_and_checked(cluster: ClusterUnderTest) -> None:
    await cluster.install(Runner)
    made = Runner.from_dict(
        {
            "apiVersion": "test.attractor.dev/v1",
            "kind": "Runner",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {
                "resources": {"limits": {"cpu": 2, "memory": "1.5Gi"}},
                "env": [
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}
                ],
                "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
                "claim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
                },
            },
        }
    )
    stored = await cluster.client.create(made)
    assert stored.spec.template is not None
    assert stored.spec.template.metadata.labels == {"a": "b"}
    assert stored.spec.template.spec.containers[0].ports[0].protocol == "TCP"
    assert stored.spec.resources.limits == {"cpu": 2, "memory": "1.5Gi"}
    wrong = stored.deep_copy()
    wrong.metadata = ObjectMeta(name="b", namespace="default")
    wrong.spec.resources.limits = {"cpu": "much"}
    with pytest.raises(Invalid, match=r"spec\.resources\.limits\.cpu"):
        await cluster.client.create(wrong)


def test_kubectl_can_note_down_what_it_applies() -> None:
    assert len(orjson.dumps(crd_for(Runner))) < APPLY_LIMIT_BYTES
