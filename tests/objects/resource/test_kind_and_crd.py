"""One class is the kind: its names, its manifest, its place in a scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor.k8s import catalog
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.resource import (
    DecodeError,
    KindError,
    PrinterColumn,
    Resource,
    Scale,
    Scheme,
    SchemeError,
    Struct,
    crd_for,
)
from attractor.objects.resource.kind import ResourceMeta, guess_plural
from attractor.schema.structural import check_structural
from tests.objects.resource.widgets import Widget

if TYPE_CHECKING:
    from attractor.schema.node import Schema

CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


class OldSpec(Struct):
    """What was wanted."""

    count: int = 1


class OldWidget(
    Resource, group="example.org", version="v1beta1", kind="Widget", deprecated=True, deprecation_warning="use v1"
):
    """A widget of old."""

    spec: OldSpec


class Policy(Resource, group="example.org", version="v1", scope="Cluster"):
    """No spec, no status."""

    text: str = ""


def unknown_to_kubernetes(value: Any, schema: Schema, path: str = "") -> list[str]:
    """The fields of a manifest that Kubernetes' own definition of it does not have."""
    if isinstance(value, list):
        return [text for item in value for text in unknown_to_kubernetes(item, schema.items or schema, f"{path}[]")]
    if not isinstance(value, dict) or not (schema.properties or schema.additional):
        return []
    found = []
    for name, item in value.items():
        child = schema.child(name)
        found += [f"{path}.{name}"] if child is None else unknown_to_kubernetes(item, child, f"{path}.{name}")
    return found


def test_the_manifest_has_everything_that_the_class_says() -> None:
    crd = Widget.crd()
    assert crd["metadata"]["name"] == "widgets.example.org"
    assert crd["spec"]["names"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wd"],
        "categories": ["all"],
    }
    (version,) = crd["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1", True, True)
    assert version["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
    }
    assert version["additionalPrinterColumns"] == [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    assert version["selectableFields"] == [{"jsonPath": ".spec.mode"}]
    assert version["schema"]["openAPIV3Schema"]["properties"]["metadata"] == {"type": "object"}


def test_kubernetes_knows_every_field_of_the_manifest() -> None:
    schema = catalog.definition(CRD)
    assert not unknown_to_kubernetes(crd_for(OldWidget, Widget), schema)
    assert unknown_to_kubernetes({"spec": {"nonsense": 1}}, schema) == [".spec.nonsense"], "the check can fail"


def test_the_api_server_takes_the_schemas_of_all_versions() -> None:
    for version in (*crd_for(OldWidget, Widget)["spec"]["versions"], *Policy.crd()["spec"]["versions"]):
        errors = check_structural(version["schema"]["openAPIV3Schema"], has_status="subresources" in version)
        assert [str(error) for error in errors] == []


def test_several_classes_are_versions_of_one_kind_and_the_last_is_stored() -> None:
    versions = crd_for(OldWidget, Widget)["spec"]["versions"]
    assert [(version["name"], version["storage"]) for version in versions] == [("v1beta1", False), ("v1", True)]
    assert versions[0]["deprecated"] is True
    assert versions[0]["deprecationWarning"] == "use v1"
    assert crd_for(OldWidget, Widget, storage=OldWidget)["spec"]["versions"][0]["storage"] is True


def test_classes_that_are_not_versions_of_one_kind_are_refused() -> None:
    with pytest.raises(KindError, match="Policy and Widget are not versions of one kind"):
        crd_for(Policy, Widget)
    with pytest.raises(KindError, match="the same version"):
        crd_for(Widget, Widget)
    with pytest.raises(KindError, match="Policy is not among the versions"):
        crd_for(Widget, storage=Policy)


def test_a_built_in_kind_has_no_manifest() -> None:
    with pytest.raises(KindError, match="v1, Kind=ConfigMap is built in"):
        ConfigMap.crd()


def test_a_cluster_kind_without_status_says_so() -> None:
    crd = Policy.crd()
    assert crd["spec"]["scope"] == "Cluster"
    assert crd["metadata"]["name"] == "policies.example.org"
    assert "subresources" not in crd["spec"]["versions"][0]
    assert not Policy.resource_info.namespaced


def test_the_class_knows_its_resource() -> None:
    info = Widget.resource_info
    assert (info.gvk, info.resource, info.singular) == (Widget.gvk, "widgets", "widget")
    assert info.subresources["scale"].gvk == GroupVersionKind("autoscaling", "v1", "Scale")
    size = info.schema.properties["spec"].properties["size"]
    assert size.doc["default"] == 1


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Widget", "widgets"), ("Policy", "policies"), ("Gateway", "gateways"), ("Class", "classes"), ("Box", "boxes"), ("Patch", "patches")],
)  # fmt: skip
def test_the_plural_is_guessed_as_kubernetes_tools_do(kind: str, plural: str) -> None:
    assert guess_plural(kind) == plural


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": "example.org"}, "has a group but no version"),
        ({"group": "Example_org", "version": "v1"}, "group 'Example_org' is no DNS name"),
        ({"group": "example.org", "version": "V1"}, "version 'V1' is no version name"),
        ({"group": "example.org", "version": "v1", "scope": "Galaxy"}, "neither Namespaced nor Cluster"),
    ],
)
def test_a_class_statement_that_makes_no_kind_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(KindError, match=message):
        ResourceMeta("Thing", (Resource,), {"__module__": __name__, "__annotations__": {}}, **settings)


def test_a_printer_column_writes_what_it_has() -> None:
    class Shown(
        Resource,
        group="example.org",
        version="v1",
        printer_columns=[PrinterColumn("Age", ".metadata.creationTimestamp", "date", 1, "How old.", "date-time")],
    ):
        """Shown in a table."""

    (column,) = Shown.crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    assert column == {
        "name": "Age",
        "type": "date",
        "jsonPath": ".metadata.creationTimestamp",
        "format": "date-time",
        "description": "How old.",
        "priority": 1,
    }


def test_a_scheme_decodes_registered_and_built_in_kinds_into_their_classes() -> None:
    scheme = Scheme(Widget, OldWidget)
    assert isinstance(scheme.decode({"apiVersion": "example.org/v1", "kind": "Widget", "spec": {}}), Widget)
    assert isinstance(scheme.decode({"apiVersion": "example.org/v1beta1", "kind": "Widget", "spec": {}}), OldWidget)
    assert isinstance(scheme.decode({"apiVersion": "v1", "kind": "ConfigMap"}), ConfigMap)
    assert list(scheme) == [Widget, OldWidget]
    assert GroupVersionKind("", "v1", "Pod") in scheme
    assert GroupVersionKind("", "v2", "Pod") not in scheme


def test_a_scheme_says_what_it_does_not_know() -> None:
    scheme = Scheme(Widget)
    with pytest.raises(SchemeError, match=r"no class for example\.org/v1, Kind=Gadget; register one .*Kind=Widget"):
        scheme.decode({"apiVersion": "example.org/v1", "kind": "Gadget"})
    with pytest.raises(DecodeError, match="needs apiVersion and kind"):
        scheme.decode({"kind": "Gadget"})


def test_the_base_class_reads_objects_of_any_kind_and_keeps_them_whole() -> None:
    value = {"apiVersion": "example.org/v9", "kind": "Gadget", "metadata": {"name": "g", "x": 1}, "spec": {"a": [1]}}
    gadget = Resource.from_dict(value)
    assert (gadget.kind, gadget.metadata.name, gadget.unknown_fields) == ("Gadget", "g", {"spec": {"a": [1]}})
    assert gadget.to_dict() == value


def test_two_classes_cannot_have_one_kind_in_a_scheme() -> None:
    class Rival(Resource, group="example.org", version="v1", kind="Widget"):
        """Claims the same kind."""

    scheme = Scheme(Widget)
    assert scheme.register(Widget) is Widget
    with pytest.raises(SchemeError, match="is registered already, as"):
        scheme.register(Rival)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"short_names": "ws"}, r"short_names is 'ws'; write it as in short_names=\['ws'\]"),
        ({"categories": "all"}, r"write it as in categories=\['all'\]"),
        ({"rules": ["self.spec.size < 9"]}, r"write it as in rules=\[Rule\('self.spec.size < 9'\)\]"),
        ({"printer_columns": [("Size", ".spec.size")]}, r"write it as in printer_columns=\[PrinterColumn\('Size'"),
        ({"printer_columns": [PrinterColumn("Size", "spec.size")]}, "the path 'spec.size' .* write '.spec.size'"),
        ({"selectable_fields": ["spec.size"]}, "the path 'spec.size' does not begin at the object"),
        ({"scale": Scale("spec.replicas")}, "the path 'spec.replicas' does not begin at the object"),
        ({"scale": ".spec.replicas"}, r"write it as in scale=Scale\("),
        ({"shortnames": ["ws"]}, "Web has no option 'shortnames'; did you mean `short_names=`?"),
    ],
)
def test_an_option_of_a_kind_that_makes_no_sense_is_named_with_its_fix(options: dict[str, Any], said: str) -> None:
    with pytest.raises(KindError, match=said):
        ResourceMeta("Web", (Resource,), {}, group="example.org", version="v1", **options)
