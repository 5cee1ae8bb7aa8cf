"""What writers of valid objects are told."""

from typing import Any

import pytest

from attractor.apiserver.kinds.builtin import strategy_for
from attractor.k8s.catalog import find
from attractor.objects.json_types import JsonObject


def told(group: str, resource: str, obj: JsonObject, old: JsonObject | None = None) -> list[str]:
    info = find(group, "v1", resource)
    assert info is not None
    return strategy_for(info).warnings({"metadata": {"name": "a"}, **obj}, old)


def pod(**spec: Any) -> JsonObject:
    return {"spec": {"containers": [{"name": "c", "image": "i", **spec.pop("container", {})}], **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
         ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead']),
        ({"container": {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}},
         ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply']),
        ({"container": {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}]}}, []),
        ({"container": {"resources": {"limits": {"memory": "100m"}}}},
         ['spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer']),
        ({"container": {"ports": [{"containerPort": 80}, {"containerPort": 80}]}},
         ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"]),
        ({"container": {"ports": [{"containerPort": 80}, {"containerPort": 80, "hostPort": 1}]}},
         ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"]),
        ({"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
         ['spec.imagePullSecrets[1].name: duplicate name "a"', 'spec.imagePullSecrets[2].name: invalid empty name ""']),
        ({"terminationGracePeriodSeconds": -1},
         ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"]),
        ({"topologySpreadConstraints": [{"topologyKey": "zone"}]},
         ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"]),
        ({"volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": "p"},
                                                                        {"key": "b", "path": "p/q"}]}}]},
         ['volume "v" (ConfigMap "m"): overlapping paths: "p/q" with "p"']),
    ],
)  # fmt: skip
def test_what_is_odd_about_a_pod(spec: JsonObject, expected: list[str]) -> None:
    assert told("", "pods", pod(**spec)) == expected


def test_a_template_is_judged_again_only_when_the_workload_changed() -> None:
    template = pod(nodeSelector={"beta.kubernetes.io/os": "linux"})
    old = {"metadata": {"generation": 1}, "spec": {"template": template}}
    assert told("apps", "deployments", old, old) == []
    assert len(told("apps", "deployments", {**old, "metadata": {"generation": 2}}, old)) == 1


@pytest.mark.parametrize(
    ("group", "resource", "obj", "expected"),
    [
        ("", "secrets", {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "YQ=="}},
         ["tls: failed to find any PEM data in certificate input"]),
        ("", "services", {"spec": {"type": "ClusterIP", "externalName": "x"}},
         ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        ("", "services", {"spec": {"type": "ClusterIP", "trafficDistribution": "PreferClose"}},
         ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']),
        ("", "persistentvolumes", {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}},
         ["spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
          "approach is to use dynamic provisioning."]),
        ("networking.k8s.io", "ingresses", {"metadata": {"annotations": {"kubernetes.io/ingress.class": "n"}}},
         ["annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"]),
        ("", "configmaps", {"data": {"a": "b"}}, []),
    ],
)  # fmt: skip
def test_what_is_odd_about_other_kinds(group: str, resource: str, obj: JsonObject, expected: list[str]) -> None:
    assert told(group, resource, obj) == expected
