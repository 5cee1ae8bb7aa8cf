"""CustomResourceDefinitions register kinds; their objects obey them."""

from tests.apiserver.conftest import WIDGET_SCHEMA, WIDGETS, Api, widget_definition

WIDGET_IDENTITY = {"apiVersion": "example.org/v1", "kind": "Widget"}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def test_definition_is_served_as_soon_as_it_is_established(api: Api) -> None:
    assert (await api.get(WIDGETS)).code == 404
    made = await api.define_widgets()
    assert made.body["status"]["conditions"] is None
    conditions = (await api.get(f"{DEFINITIONS}/widgets.example.org")).body["status"]["conditions"]
    assert {item["type"]: item["status"] for item in conditions} == {"NamesAccepted": "True", "Established": "True"}
    assert (await api.get(WIDGETS)).code == 200


async def test_names_that_another_definition_holds_are_not_accepted(api: Api) -> None:
    await api.define_widgets()
    rival = widget_definition(
        names={"plural": "gadgets", "singular": "gadget", "kind": "Widget", "listKind": "GadgetList"}
    )
    rival["metadata"]["name"] = "gadgets.example.org"
    assert (await api("POST", DEFINITIONS, rival)).code == 201
    conditions = (await api.get(f"{DEFINITIONS}/gadgets.example.org")).body["status"]["conditions"]
    assert [item["reason"] for item in conditions if item["type"] == "NamesAccepted"] == ["KindConflict"]
    assert (await api.get("/apis/example.org/v1/namespaces/default/gadgets")).code == 404
    await api.delete(f"{DEFINITIONS}/widgets.example.org")


async def test_defaults_and_pruning_follow_the_schema(api: Api) -> None:
    await api.define_widgets()
    made = await api.create(WIDGETS, "w", spec={"size": 1, "bogus": True})
    assert made.body["spec"] == {"size": 1, "color": "red"}


async def test_object_stored_in_one_version_is_served_in_the_other(api: Api) -> None:
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": WIDGET_SCHEMA}},
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": WIDGET_SCHEMA}},
    ]
    await api.define_widgets(versions=versions)
    await api.create(WIDGETS.replace("v1", "v2"), "w", spec={"size": 3})
    one, two = await api.get(f"{WIDGETS}/w"), await api.get(f"{WIDGETS.replace('v1', 'v2')}/w")
    assert (one.body["apiVersion"], two.body["apiVersion"]) == ("example.org/v1", "example.org/v2")
    assert one.body["spec"] == two.body["spec"]
    assert (await api.get(WIDGETS.replace("v1", "v2"))).body["items"][0]["apiVersion"] == "example.org/v2"


async def test_cluster_scoped_kind_has_no_namespaces(api: Api) -> None:
    await api.define_widgets(scope="Cluster")
    assert (await api.get(WIDGETS)).code == 404
    made = await api.create("/apis/example.org/v1/widgets", "w")
    assert "namespace" not in made.metadata


async def test_definition_must_be_named_after_its_plural_and_group(api: Api) -> None:
    wrong = widget_definition()
    wrong["metadata"]["name"] = "things.example.org"
    answer = await api("POST", DEFINITIONS, wrong)
    assert answer.code == 422
    assert 'must be spec.names.plural+"."+spec.group' in answer.body["message"]


async def test_exactly_one_version_is_stored(api: Api) -> None:
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": WIDGET_SCHEMA}}
    answer = await api("POST", DEFINITIONS, widget_definition(versions=[{**version, "storage": False}]))
    assert "must have exactly one version marked as storage version" in answer.body["message"]


async def test_scale_reads_and_writes_the_declared_paths(api: Api) -> None:
    await api.define_widgets()
    await api.create(WIDGETS, "w", spec={"size": 3})
    await api.merge(f"{WIDGETS}/w/status", {"status": {"size": 2}})
    scale = await api.get(f"{WIDGETS}/w/scale")
    assert (scale.body["spec"], scale.body["status"]) == ({"replicas": 3}, {"replicas": 2})
    scaled = await api.merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": 5}})
    assert scaled.body["spec"] == {"replicas": 5}
    widget = await api.get(f"{WIDGETS}/w")
    assert widget.body["spec"]["size"] == 5
    assert widget.version == scaled.version
    assert widget.metadata["generation"] == 2


async def test_a_number_of_more_than_64_bits_is_kept(api: Api) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    await api.define_widgets(versions=[version])
    made = await api("POST", WIDGETS, {**WIDGET_IDENTITY, "metadata": {"name": "w"}, "n": 1e20})
    assert (made.code, made.body["n"]) == (201, 1e20)
