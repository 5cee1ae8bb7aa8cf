"""Discovery: the plain documents, the aggregated one, and what definitions add to them."""

import json
from typing import Any

import pytest

from attractor.httpd.formats.catalog import catalog_of
from attractor.httpd.formats.discovery import discover

from .definitions import definition

BUILTIN = catalog_of(())
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def get(path: str, accept: str = "application/json", *definitions: bytes) -> Any:
    document = discover(catalog_of(definitions), path, accept, server_address="192.0.2.2:16443")
    assert document is not None
    return json.loads(document.body)


def test_api_lists_the_core_versions_and_the_address_to_use() -> None:
    assert get("/api") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "192.0.2.2:16443"}],
    }


def test_groups_stand_in_the_order_of_kubernetes_and_custom_groups_follow_by_name() -> None:
    groups = get("/apis", "", definition(group="zoo.org"), definition(group="ant.org"))["groups"]
    names = [group["name"] for group in groups]
    assert names[:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]
    assert names[-2:] == ["ant.org", "zoo.org"]
    assert "internal.apiserver.k8s.io" not in names, "a group without a stable version is not served"


def test_group_prefers_the_stable_version_of_the_highest_number() -> None:
    crd = definition(versions=("v1alpha1", "v2", "v1", "v3beta1"))
    group = get("/apis/example.org", "", crd)
    assert [one["version"] for one in group["versions"]] == ["v2", "v1", "v3beta1", "v1alpha1"]
    assert group["preferredVersion"] == {"groupVersion": "example.org/v2", "version": "v2"}
    assert get("/apis/autoscaling")["preferredVersion"]["version"] == "v2"


def test_builtin_resource_is_listed_with_its_subresources() -> None:
    answer = get("/apis/apps/v1")
    assert (answer["kind"], answer["apiVersion"], answer["groupVersion"]) == ("APIResourceList", "v1", "apps/v1")
    rows = {row["name"]: row for row in answer["resources"]}
    assert rows["deployments"] == {
        "name": "deployments",
        "singularName": "deployment",
        "namespaced": True,
        "kind": "Deployment",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["deploy"],
        "categories": ["all"],
        "storageVersionHash": "8aSe+NMegvE=",
    }
    assert rows["deployments/scale"] == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }


def test_core_resource_list_has_no_api_version_as_in_kubernetes() -> None:
    assert "apiVersion" not in get("/api/v1")


def test_custom_resource_is_listed_under_its_accepted_names() -> None:
    rows = get("/apis/example.org/v1", "", definition())["resources"]
    assert [row["name"] for row in rows] == ["widgets", "widgets/status", "widgets/scale"]
    assert rows[0]["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    assert (rows[0]["shortNames"], rows[0]["categories"]) == (["wd"], ["all"])
    assert (rows[2]["group"], rows[2]["version"], rows[2]["kind"]) == ("autoscaling", "v1", "Scale")


def test_definition_that_is_not_established_is_not_served() -> None:
    document = discover(catalog_of((definition(established=False),)), "/apis/example.org/v1")
    assert document is not None
    assert (document.code, document.body) == (404, b"404 page not found\n")


def test_definition_that_is_being_deleted_offers_no_writes() -> None:
    rows = get("/apis/example.org/v1", "", definition(terminating=True))["resources"]
    assert rows[0]["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/apis/bogus.example.org/v1", "text/plain; charset=utf-8"),
        ("/apis/bogus.example.org", "text/plain; charset=utf-8"),
        ("/apis/apps/v2", "application/json"),
        ("/api/v2", "application/json"),
    ],
)
def test_unknown_group_is_a_missing_page_and_unknown_version_a_missing_resource(path: str, content_type: str) -> None:
    document = discover(BUILTIN, path)
    assert document is not None
    assert (document.code, document.content_type) == (404, content_type)


@pytest.mark.parametrize("path", ["/api/v1/pods", "/apis/apps/v1/deployments", "/healthz", "/", "/openapi/v3"])
def test_other_paths_are_left_to_others(path: str) -> None:
    assert discover(BUILTIN, path) is None


def test_aggregated_discovery_says_its_kind_in_the_content_type() -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    document = discover(BUILTIN, "/apis", f"{accept},application/json")
    assert document is not None
    assert document.content_type == accept
    assert json.loads(document.body)["apiVersion"] == "apidiscovery.k8s.io/v2"


def test_aggregated_discovery_of_a_version_that_is_gone_is_the_plain_one() -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    document = discover(BUILTIN, "/apis", f"{accept},application/json")
    assert document is not None
    assert json.loads(document.body)["kind"] == "APIGroupList"


def test_aggregated_discovery_wins_even_when_plain_json_stands_first() -> None:
    document = discover(BUILTIN, "/api", f"application/json,{AGGREGATED}")
    assert document is not None
    assert document.content_type == AGGREGATED


def test_aggregated_resource_names_its_kinds_subresources_and_scope() -> None:
    items = get("/apis", AGGREGATED, definition())["items"]
    by_name = {item["metadata"]["name"]: item for item in items}
    deployments = next(r for r in by_name["apps"]["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    assert [sub["responseKind"]["kind"] for sub in deployments["subresources"]] == ["Scale", "Deployment"]
    widgets = by_name["example.org"]["versions"][0]["resources"][0]
    assert widgets["responseKind"] == {"group": "example.org", "version": "v1", "kind": "Widget"}
    assert widgets["scope"] == "Namespaced"
    assert [sub["subresource"] for sub in widgets["subresources"]] == ["status", "scale"]


def test_aggregated_core_group_has_no_name() -> None:
    items = get("/api", AGGREGATED)["items"]
    assert [item["metadata"] for item in items] == [{}]
    assert [version["version"] for version in items[0]["versions"]] == ["v1"]


def test_unchanged_aggregated_discovery_is_not_sent_again() -> None:
    first = discover(BUILTIN, "/apis", AGGREGATED)
    assert first is not None
    etag = dict(first.headers)["ETag"]
    again = discover(BUILTIN, "/apis", AGGREGATED, if_none_match=etag)
    assert again is not None
    assert (again.code, again.body) == (304, b"")
    changed = discover(catalog_of((definition(),)), "/apis", AGGREGATED, if_none_match=etag)
    assert changed is not None
    assert changed.code == 200


def test_catalog_is_the_same_object_while_definitions_do_not_change() -> None:
    assert catalog_of((definition(),)) is catalog_of((definition(),))
    assert catalog_of((definition(),)).tag != BUILTIN.tag


def test_custom_resource_in_a_builtin_group_joins_it() -> None:
    crd = definition(group="networking.k8s.io", plural="gadgets", kind="Gadget", versions=("v1", "v1alpha9"))
    group = get("/apis/networking.k8s.io", "", crd)
    assert [one["version"] for one in group["versions"]] == ["v1", "v1alpha9"]
    names = [row["name"] for row in get("/apis/networking.k8s.io/v1", "", crd)["resources"]]
    assert {"ingresses", "gadgets"} <= set(names)


def test_plain_discovery_can_be_yaml_and_refuses_what_it_cannot_write() -> None:
    document = discover(BUILTIN, "/apis/policy", "application/yaml")
    assert document is not None
    assert document.content_type == "application/yaml"
    assert document.body.startswith(b"apiVersion: v1\nkind: APIGroup\nname: policy\n")
    refused = discover(BUILTIN, "/apis/policy", "text/html")
    assert refused is not None
    assert refused.code == 406
