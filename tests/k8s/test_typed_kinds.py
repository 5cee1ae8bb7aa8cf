"""Built-in kinds as Python classes."""

import copy
import importlib
import importlib.util
import pickle
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from attractor.k8s import catalog, typed_classes
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.catalog import ResourceInfo
from attractor.k8s.coordination_v1 import Lease, LeaseSpec
from attractor.k8s.core_v1 import ConfigMap, Container, Pod, PodSpec, Secret
from attractor.k8s.networking_v1 import NetworkPolicyIngressRule
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.resource import MicroTime, ObjectMeta, Resource, codec

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDINGS = [
    ROOT / "tests/golden/kube-apiserver-1.36" / f"{name}.json"
    for name in ("crd-lifecycle", "deployment-status-and-generation", "leases-and-events", "secrets-and-services")
]


def test_objects_are_built_and_read_by_attribute() -> None:
    pod = Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=[Container(name="c", image="i:1")]))
    pod.spec.containers[0].resources.limits["cpu"] = "500m"
    pod.spec.termination_grace_period_seconds = 5
    pod.status.pod_ip = "10.0.0.1"
    assert pod.to_dict() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "500m"}}}],
            "terminationGracePeriodSeconds": 5,
        },
        "status": {"podIP": "10.0.0.1"},
    }


def test_secrets_carry_bytes_and_leases_carry_microseconds() -> None:
    assert Secret(data={"a": b"hi"}).to_dict()["data"] == {"a": "aGk="}
    lease = Lease(spec=LeaseSpec(renew_time=MicroTime.of(datetime(2026, 1, 31, tzinfo=UTC))))
    assert lease.to_dict()["spec"] == {"renewTime": "2026-01-31T00:00:00.000000Z"}
    assert Lease.from_dict(lease.to_dict()) == lease


def test_a_keyword_gets_an_underscore() -> None:
    rule = codec.convert(NetworkPolicyIngressRule, {"from": [{"podSelector": {}}]})
    assert rule.from_[0].pod_selector is not None
    assert codec.to_builtins(rule) == {"from": [{"podSelector": {}}]}


def test_fields_of_a_newer_kubernetes_survive() -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"newer": 1}, "data": {"a": "b"}, "newest": {"c": []}}
    assert ConfigMap.from_dict(value).to_dict() == value


@pytest.mark.parametrize("info", catalog.resources(), ids=lambda info: str(info.gvk))
def test_every_kind_has_a_class_that_reads_its_empty_object_and_keeps_the_built_in_names(info: ResourceInfo) -> None:
    cls = typed_classes.class_for(info.gvk)
    assert cls is not None
    assert cls.resource_info is info
    empty = cls.from_dict(catalog.zero_object(info.definition))
    assert empty == cls()
    shadowed = set(vars(Resource)) & set(cls.__struct_fields__) - set(Resource.__struct_fields__)
    assert not {name for name in shadowed if not name.startswith("__")}


def test_an_unknown_kind_has_no_class() -> None:
    assert typed_classes.class_for(GroupVersionKind("", "v1", "Nothing")) is None


def test_modules_list_and_refuse_names() -> None:
    core = importlib.import_module("attractor.k8s.core_v1")
    assert {"ConfigMap", "Pod", "Container", "Secret", "Service"} <= set(dir(core))
    with pytest.raises(AttributeError, match=r"core_v1' has no attribute 'Nothing'"):
        core.Nothing  # noqa: B018
    for module in typed_classes.MODULES:
        imported = importlib.import_module(f"attractor.k8s.{module}")
        for name in dir(imported):
            assert getattr(imported, name).__name__ == name


def test_objects_can_be_copied_and_pickled() -> None:
    deployment = Deployment.from_dict({"spec": {"replicas": 2, "fancy": 1}})
    assert copy.deepcopy(deployment) == deployment
    assert pickle.loads(pickle.dumps(deployment)) == deployment


def test_type_stubs_are_those_that_the_tool_writes() -> None:
    path = ROOT / "tools/builtin_kinds_stubs.py"
    spec = importlib.util.spec_from_file_location("builtin_kinds_stubs", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.main(check=True) == 0, "run tools/builtin_kinds_stubs.py"


def recorded(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a recording that has a class, with normalised times made times again."""
    if isinstance(value, list):
        for item in value:
            yield from recorded(item)
    elif isinstance(value, dict):
        match value:
            case {"apiVersion": str(api_version), "kind": str(kind), "metadata": {"uid": _}}:
                if typed_classes.class_for(GroupVersionKind.of(api_version, kind)) is not None:
                    yield value
        for item in value.values():
            yield from recorded(item)


def load(path: Path) -> list[dict[str, Any]]:
    text = path.read_text().replace('"<time>"', '"2026-01-31T08:00:00Z"')
    text = re.sub(r'"(renewTime|acquireTime|eventTime)": "[^"]*"', r'"\1": "2026-01-31T08:00:00.000000Z"', text)
    return list(recorded([step["response"] for step in orjson.loads(text)["steps"]]))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_answers_of_a_real_api_server_survive_the_round_trip(path: Path) -> None:
    found = load(path)
    assert found
    for value in found:
        cls = typed_classes.class_for(GroupVersionKind.of(value["apiVersion"], value["kind"]))
        assert cls is not None
        assert without_zeros(cls.from_dict(value).to_dict()) == without_zeros(value)


def without_zeros(value: Any) -> Any:
    """What Go's zero values leave: neither empty texts, lists and maps nor zeros, false and null."""
    if isinstance(value, dict):
        kept = {name: without_zeros(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item or item == {}}
    return [without_zeros(item) for item in value] if isinstance(value, list) else value


def dots(fields: dict[str, Any], zero: Any, path: str = "") -> Iterator[tuple[str, bool, bool]]:
    """For each object or list in a field set: its path, whether it is owned itself, whether the zero object has it."""
    for name, inner in fields.items():
        if name.startswith("f:") and inner and not path.endswith("]"):
            field = name[2:]
            has = isinstance(zero, dict) and field in zero
            yield f"{path}.{field}", "." in inner, has
            yield from dots(inner, zero.get(field) if has else None, f"{path}.{field}")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_real_api_server_lets_nobody_own_what_the_zero_object_has(path: Path) -> None:
    seen = 0
    for value in load(path):
        info = catalog.find_kind(GroupVersionKind.of(value["apiVersion"], value["kind"]))
        assert info is not None
        zero = catalog.zero_object(info.definition)
        for entry in value["metadata"].get("managedFields", ()):
            if entry["operation"] == "Update":
                for field, owned, is_zero in dots(entry["fieldsV1"], zero):
                    assert owned is not is_zero, f"{value['kind']}{field}"
                    seen += 1
    assert seen
