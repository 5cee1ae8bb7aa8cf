"""The names that people type lead to resources."""

from dataclasses import replace

import pytest

from attractor.k8s import catalog
from attractor.k8s.catalog import ResourceInfo
from attractor.k8s.rest_mapping import AmbiguousName, RestMapping, UnknownName
from attractor.objects.gvk import GroupKind, GroupVersionKind, GroupVersionResource


def custom(group: str, kind: str, version: str = "v1", **said: tuple[str, ...]) -> ResourceInfo:
    lowered = kind.lower()
    info = ResourceInfo(group, version, kind, f"{lowered}s", lowered, True, ("get", "list"), **said)  # type: ignore[arg-type]
    return info if info.group_versions else replace(info, group_versions=(version,))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pods", "v1, Kind=Pod"),
        ("pod", "v1, Kind=Pod"),
        ("Pod", "v1, Kind=Pod"),
        ("po", "v1, Kind=Pod"),
        ("deployments.apps", "apps/v1, Kind=Deployment"),
        ("deploy.v1.apps", "apps/v1, Kind=Deployment"),
        ("Deployment.apps", "apps/v1, Kind=Deployment"),
        ("hpa", "autoscaling/v2, Kind=HorizontalPodAutoscaler"),
        ("hpa.v1.autoscaling", "autoscaling/v1, Kind=HorizontalPodAutoscaler"),
        ("events", "v1, Kind=Event"),
        ("events.events.k8s.io", "events.k8s.io/v1, Kind=Event"),
        ("crd", "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition"),
        ("roles.rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1, Kind=Role"),
    ],
)
def test_a_name_is_resolved_as_kubectl_does(name: str, kind: str) -> None:
    assert str(RestMapping().resolve(name).gvk) == kind


@pytest.mark.parametrize("info", [i for i in catalog.resources() if i.is_enabled_by_default], ids=lambda i: str(i.gvk))
def test_every_built_in_resource_is_found_by_its_full_name(info: ResourceInfo) -> None:
    full = f"{info.resource}.{info.version}.{info.group}" if info.group else info.resource
    assert RestMapping().resolve(full) == info


def test_an_unknown_name_suggests_close_ones() -> None:
    with pytest.raises(UnknownName, match=r"doesn't have a resource type 'deploymens'; did you mean .*deployments"):
        RestMapping().resolve("deploymens")
    with pytest.raises(UnknownName, match=r"'pods\.apps'"):
        RestMapping().resolve("pods.apps")
    with pytest.raises(UnknownName, match=r"no resource of kind Qqqq is known$"):
        RestMapping().for_kind(GroupKind("", "Qqqq"))


def test_alpha_resources_are_found_only_when_they_are_added() -> None:
    mapping = RestMapping()
    alpha = catalog.find("internal.apiserver.k8s.io", "v1alpha1", "storageversions")
    assert alpha is not None
    with pytest.raises(UnknownName):
        mapping.resolve("storageversions")
    mapping.add(alpha)
    assert mapping.resolve("storageversions") is alpha


def test_a_custom_kind_is_found_by_all_its_names_until_it_is_discarded() -> None:
    mapping = RestMapping()
    widget = custom("example.org", "Widget", short_names=("wd",), categories=("all",))
    mapping.add(widget)
    for name in ("widgets", "widget", "Widget", "wd", "wd.example.org", "widgets.v1.example.org"):
        assert mapping.resolve(name) is widget
    assert widget in mapping.category("all")
    assert mapping.find(widget.gvr) is widget
    assert mapping.find_kind(widget.gvk) is widget
    mapping.discard(widget.gvr)
    mapping.discard(widget.gvr)
    assert mapping.find(GroupVersionResource("example.org", "v1", "widgets")) is None
    assert mapping.find_kind(GroupVersionKind("example.org", "v1", "Widget")) is None
    with pytest.raises(UnknownName):
        mapping.resolve("wd")


def test_a_custom_kind_never_hides_a_built_in_one_of_the_same_name() -> None:
    mapping = RestMapping()
    mapping.add(custom("serving.example.org", "Service"))
    assert mapping.resolve("services").group == ""
    assert mapping.resolve("services.serving.example.org").group == "serving.example.org"


def test_a_name_that_two_custom_groups_have_is_refused_with_the_full_names() -> None:
    mapping = RestMapping()
    mapping.add(custom("a.example.org", "Widget"))
    mapping.add(custom("b.example.org", "Widget"))
    with pytest.raises(AmbiguousName, match=r"say widgets\.a\.example\.org or widgets\.b\.example\.org") as caught:
        mapping.resolve("widget")
    assert [info.group for info in caught.value.candidates] == ["a.example.org", "b.example.org"]
    assert mapping.resolve("widget.b.example.org").group == "b.example.org"


def test_the_preferred_version_of_a_custom_group_wins() -> None:
    versions = ("v1", "v1beta1")
    old = custom("example.org", "Widget", "v1beta1", group_versions=versions)
    new = custom("example.org", "Widget", "v1", group_versions=versions)
    mapping = RestMapping([old, new])
    assert mapping.resolve("widget") is new
    assert mapping.for_kind(GroupKind("example.org", "Widget")) is new
    assert mapping.category("all") == []


def test_the_category_all_is_that_of_kubernetes() -> None:
    assert {info.resource for info in RestMapping().category("all")} == {
        "pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets", "statefulsets",
        "horizontalpodautoscalers", "cronjobs", "jobs",
    }  # fmt: skip
