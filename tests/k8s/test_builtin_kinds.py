"""What the built-in kinds say about themselves."""

import json
import subprocess
import sys

import pytest

from attractor.k8s import catalog
from attractor.k8s.catalog import SubresourceInfo
from attractor.objects.gvk import GroupVersionKind

APPS = "io.k8s.api.apps.v1"
CORE = "io.k8s.api.core.v1"


def test_a_resource_is_found_by_its_plural_and_by_its_kind() -> None:
    info = catalog.find("apps", "v1", "deployments")
    assert info is not None
    assert info is catalog.find_kind(GroupVersionKind("apps", "v1", "Deployment"))
    assert (info.singular, info.namespaced, info.short_names, info.categories) == (
        "deployment", True, ("deploy",), ("all",),
    )  # fmt: skip
    assert "watch" in info.verbs
    assert info.subresources["scale"] == SubresourceInfo(
        "scale", "autoscaling", "v1", "Scale", ("get", "patch", "update")
    )
    assert info.list_kind == "DeploymentList"
    assert catalog.find("apps", "v1", "widgets") is None
    assert catalog.find_kind(GroupVersionKind("apps", "v1beta1", "Deployment")) is None


def test_groups_name_their_preferred_version_first_and_alpha_versions_are_off_by_default() -> None:
    by_name = {group.name: group for group in catalog.groups()}
    assert next(iter(catalog.groups())).name == ""
    assert by_name["autoscaling"].versions == ("v2", "v1")
    v1, alpha = catalog.find("autoscaling", "v1", "horizontalpodautoscalers"), None
    assert v1 is not None
    assert not v1.is_preferred
    alpha = catalog.find("internal.apiserver.k8s.io", "v1alpha1", "storageversions")
    assert alpha is not None
    assert (v1.is_enabled_by_default, alpha.is_enabled_by_default) == (True, False)


def test_list_types_keys_and_merge_keys_are_in_the_schema() -> None:
    pod_spec = catalog.definition(f"{CORE}.PodSpec")
    containers = pod_spec.properties["containers"]
    assert (containers.list_type, containers.list_map_keys, containers.patch_merge_key) == ("map", ("name",), "name")
    assert containers.items is not None
    ports = containers.items.properties["ports"]
    assert ports.list_map_keys == ("containerPort", "protocol")
    assert ports.items is not None
    assert ports.items.properties["protocol"].doc["default"] == "TCP"
    assert catalog.definition("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector").map_type == "atomic"


def test_an_unknown_definition_is_named_in_the_error() -> None:
    with pytest.raises(KeyError, match=r"has no definition io\.example\.Nothing"):
        catalog.definition("io.example.Nothing")
    with pytest.raises(KeyError, match="no Go type is known"):
        catalog.go_type("Nothing")


def test_documents_carry_descriptions_and_definitions_do_not() -> None:
    doc = catalog.document(f"{CORE}.ConfigMap")
    assert doc["description"].startswith("ConfigMap holds configuration data")
    assert doc["properties"]["data"]["description"].startswith("Data contains the configuration data")
    doc["properties"]["data"].clear()
    assert catalog.definition(f"{CORE}.ConfigMap").properties["data"].type == "object"
    assert "description" not in catalog.definition(f"{CORE}.ConfigMap").doc


def test_structs_are_always_there_slices_without_omitempty_are_null_and_the_rest_of_an_empty_object_is_gone() -> None:
    assert catalog.zero_object(f"{APPS}.Deployment") == {
        "metadata": {},
        "spec": {
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    }
    assert catalog.zero_object(f"{CORE}.ConfigMap") == {"metadata": {}}
    assert catalog.zero_object("io.k8s.api.rbac.v1.Role") == {"metadata": {}, "rules": None}
    assert catalog.zero_object(f"{CORE}.Container") == {"name": "", "resources": {}}
    assert catalog.zero_object("io.k8s.api.coordination.v1.Lease") == {"metadata": {}, "spec": {}}


def test_a_core_event_shows_its_zero_times_as_null() -> None:
    assert catalog.zero_object(f"{CORE}.Event") == {
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


def test_go_types_are_named_as_decoding_errors_name_them() -> None:
    spec = catalog.go_type(f"{CORE}.PodSpec").fields
    assert spec["containers"].type.name == "[]v1.Container"
    assert spec["nodeSelector"].type.name == "map[string]string"
    assert spec["restartPolicy"].type.name == "v1.RestartPolicy"
    assert spec["restartPolicy"].cls == "string"
    seconds = spec["terminationGracePeriodSeconds"].type
    assert (seconds.cls, seconds.name, seconds.elem and seconds.elem.name) == ("pointer", "*int64", "int64")
    assert catalog.go_type(f"{CORE}.Secret").fields["data"].type.name == "map[string][]uint8"
    limits = catalog.go_type(f"{CORE}.ResourceRequirements").fields["limits"].type
    assert (limits.cls, limits.name, limits.elem and limits.elem.cls) == ("map", "v1.ResourceList", "quantity")


def test_protobuf_nests_what_json_inlines() -> None:
    fields = catalog.go_type(f"{CORE}.Volume").fields
    assert (fields["name"].protobuf_path, fields["hostPath"].protobuf_path) == ((1,), (2, 1))
    assert (fields["hostPath"].protobuf_number, fields["hostPath"].protobuf_kind) == (1, "bytes")
    containers = catalog.go_type(f"{CORE}.PodSpec").fields["containers"]
    assert (containers.protobuf_number, containers.protobuf_repeated) == (2, True)
    verbs = catalog.go_type("io.k8s.apimachinery.pkg.apis.meta.v1.APIResource").fields["verbs"]
    assert (verbs.cls, verbs.protobuf_number, verbs.protobuf_repeated) == ("slice", 4, False)
    pod = catalog.go_type(f"{CORE}.Pod").fields
    assert (pod["kind"].protobuf_number, pod["metadata"].protobuf_number) == (None, 1)


def test_importing_attractor_reads_no_data_and_naming_one_kind_reads_only_its_package_and_metadata() -> None:
    program = """
import json, sys
import attractor, attractor.objects, attractor.k8s.catalog as builtin
from attractor.k8s.catalog import archive
before = "zipfile" in sys.modules, archive._archive.cache_info().misses
info = builtin.find("", "v1", "configmaps")
listed = archive._package.cache_info().misses
info.schema.properties["data"]
print(json.dumps([before, listed, archive._package.cache_info().misses]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[False, 0], 0, 2]
