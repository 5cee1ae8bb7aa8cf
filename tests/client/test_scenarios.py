"""What a client does, on every transport alike."""

import asyncio
from typing import Any

import pytest

from attractor.client import (
    Bookmark,
    Client,
    Encoded,
    MetadataOnly,
    PartialObjectMetadata,
    WatchEvent,
)
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.core_v1 import ConfigMap, Namespace, Pod
from attractor.objects.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    UnsupportedMediaType,
)
from attractor.objects.gvk import GroupVersionKind, GroupVersionResource, Key
from attractor.objects.labels import LabelSelector
from attractor.objects.resource import ObjectMeta, Resource, Scheme, Struct
from tests.anycluster import PROGRESS, Leftovers, installed
from tests.factories import config_map

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


class Narrow(Resource, group="", version="v1", kind="ServiceAccount"):
    """A built-in kind, seen by a class that knows none of its fields."""


class WidgetSpec(Struct):
    """What is wanted."""

    size: int = 1


class WidgetStatus(Struct):
    """What is there."""

    ready: int = 0


class Widget(Resource, group="client.example.org", version="v1"):
    """A custom kind."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


@pytest.fixture
async def widgets(client: Client, leftovers: Leftovers) -> None:
    """The custom kind is served."""
    await installed(client, Widget, leftovers)


@pytest.mark.any_cluster
async def test_what_is_created_is_read_back_typed(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", namespace=namespace, x="1"))
    assert created.metadata.uid
    read = await client.get(ConfigMap, Key(namespace, "a"))
    assert isinstance(read, ConfigMap)
    assert read == created
    assert read.data == {"x": "1"}


@pytest.mark.any_cluster
async def test_the_field_manager_of_the_client_is_recorded(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", namespace=namespace, x="1"), field_manager="somebody")
    assert [entry.manager for entry in created.metadata.managed_fields] == ["somebody"]
    written = await client.update(_with(created, x="2"))
    assert [entry.manager for entry in written.metadata.managed_fields] == ["somebody", "tests"]


def _with(obj: ConfigMap, **data: str) -> ConfigMap:
    changed = obj.deep_copy()
    changed.data = data
    return changed


@pytest.mark.any_cluster
async def test_creating_twice_is_already_exists_and_reading_nothing_is_not_found(
    client: Client, namespace: str
) -> None:
    await client.create(config_map("a", namespace=namespace))
    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await client.create(config_map("a", namespace=namespace))
    with pytest.raises(NotFound, match='configmaps "b" not found'):
        await client.get(ConfigMap, Key(namespace, "b"))


@pytest.mark.any_cluster
async def test_a_generated_name_comes_back(client: Client, namespace: str) -> None:
    asked = ConfigMap(metadata=ObjectMeta(generate_name="gen-", namespace=namespace))
    created = await client.create(asked)
    assert created.metadata.name.startswith("gen-")
    assert await client.get(ConfigMap, created.key) == created


async def test_an_object_that_breaks_a_rule_is_invalid_and_nothing_is_stored(client: Client, namespace: str) -> None:
    with pytest.raises(Invalid) as refused:
        await client.create(config_map("Not_A_Name", namespace=namespace))
    assert refused.value.causes[0]["field"] == "metadata.name"
    assert await client.list(ConfigMap, namespace) == []


async def test_a_dry_run_answers_and_stores_nothing(client: Client, namespace: str) -> None:
    answered = await client.create(config_map("a", namespace=namespace, x="1"), dry_run=True)
    assert answered.data == {"x": "1"}
    assert await client.list(ConfigMap, namespace) == []


@pytest.mark.any_cluster
async def test_objects_handed_out_are_the_callers_own(client: Client, namespace: str) -> None:
    await client.create(config_map("a", namespace=namespace, x="1"))
    first = await client.get(ConfigMap, (namespace, "a"))
    first.data["x"] = "changed"
    assert (await client.get(ConfigMap, (namespace, "a"))).data == {"x": "1"}


@pytest.mark.any_cluster
async def test_an_update_on_an_old_version_is_a_conflict(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", namespace=namespace, x="1"))
    updated = await client.update(_with(created, x="2"))
    assert updated.metadata.resource_version != created.metadata.resource_version
    with pytest.raises(Conflict, match="has been modified"):
        await client.update(_with(created, x="3"))


@pytest.mark.any_cluster
async def test_a_patch_of_two_states_is_locked_on_the_version_that_was_read(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", namespace=namespace, x="1", y="1"))
    rival = await client.update(_with(created, x="1", y="rival"))
    with pytest.raises(Conflict):
        await client.patch_from(created, _with(created, x="2", y="1"))
    merged = await client.patch_from(created, _with(created, x="2", y="1"), optimistic_lock=False)
    assert merged.data == {"x": "2", "y": "rival"}
    assert merged.metadata.uid == rival.metadata.uid


@pytest.mark.any_cluster
async def test_a_patch_of_equal_states_sends_nothing(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", namespace=namespace, x="1"))
    answered = await client.patch_from(created, created.deep_copy())
    assert answered.metadata.resource_version == created.metadata.resource_version
    with pytest.raises(ValueError, match="change a deep_copy"):
        await client.patch_from(created, created)


@pytest.mark.any_cluster
async def test_a_patch_removes_fields_labels_and_finalizers(client: Client, namespace: str) -> None:
    asked = config_map("a", {"k": "v", "l": "w"}, namespace=namespace, x="1")
    asked.metadata.finalizers = ["example.org/hold"]
    created = await client.create(asked)
    changed = created.deep_copy()
    changed.metadata.labels.pop("k")
    changed.metadata.finalizers = []
    changed.data = {}
    patched = await client.patch_from(created, changed)
    assert (patched.metadata.labels, patched.metadata.finalizers, patched.data) == ({"l": "w"}, [], {})


@pytest.mark.any_cluster
async def test_json_merge_and_strategic_patches(client: Client, namespace: str) -> None:
    key = (await client.create(config_map("a", namespace=namespace, x="1"))).key
    operations = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/y", "value": "2"}]
    assert (await client.patch(ConfigMap, key, operations, type="json")).data == {"x": "1", "y": "2"}
    assert (await client.patch(ConfigMap, key, {"data": {"x": None}})).data == {"y": "2"}
    assert (await client.patch(CONFIG_MAP, key, {"data": {"z": "3"}}, type="strategic"))["data"] == {"y": "2", "z": "3"}
    with pytest.raises(Invalid):
        await client.patch(ConfigMap, key, [{"op": "test", "path": "/data/x", "value": "1"}], type="json")


@pytest.mark.any_cluster
async def test_apply_creates_owns_and_conflicts(client: Client, namespace: str) -> None:
    applied = await client.apply(config_map("a", namespace=namespace, x="1"), field_manager="one")
    assert applied.data == {"x": "1"}
    with pytest.raises(Conflict, match=r"\.data\.x"):
        await client.apply(config_map("a", namespace=namespace, x="2"), field_manager="two")
    forced = await client.apply(config_map("a", namespace=namespace, x="2"), field_manager="two", force=True)
    assert forced.data == {"x": "2"}
    again = await client.apply(forced, field_manager="two")
    assert again.metadata.resource_version == forced.metadata.resource_version


@pytest.mark.any_cluster
async def test_status_is_written_apart_from_spec(client: Client, namespace: str, widgets: None) -> None:
    created = await client.create(
        Widget(
            metadata=ObjectMeta(name="w", namespace=namespace), spec=WidgetSpec(size=2), status=WidgetStatus(ready=9)
        )
    )
    assert created.status is None
    changed = created.deep_copy()
    changed.spec.size = 7
    changed.status = WidgetStatus(ready=1)
    written = await client.update_status(changed)
    assert (written.spec.size, written.status) == (2, WidgetStatus(ready=1))
    again = written.deep_copy()
    again.status = WidgetStatus(ready=2)
    again.spec.size = 8
    patched = await client.patch_from(written, again, subresource="status")
    assert (patched.spec.size, patched.status) == (2, WidgetStatus(ready=2))


@pytest.mark.any_cluster
async def test_fields_that_a_class_does_not_know_survive_a_round_trip(client: Client, namespace: str) -> None:
    created = await client.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "s", "namespace": namespace, "annotations": {"a": "b"}},
            "secrets": [{"name": "t"}],
        }
    )
    known = await client.get(Narrow, (namespace, "s"))
    known.metadata.labels["new"] = "label"
    written = await client.update(known)
    assert written.to_dict()["secrets"] == created["secrets"]
    listed = await client.list(Narrow, namespace, label_selector="new")
    assert [one.unknown_fields["secrets"] for one in listed] == [created["secrets"]]


@pytest.mark.any_cluster
async def test_unknown_kinds_are_found_by_discovery(client: Client, namespace: str, widgets: None) -> None:
    gvk = GroupVersionKind("client.example.org", "v1", "Widget")
    created = await client.create(
        {"apiVersion": "client.example.org/v1", "kind": "Widget", "metadata": {"name": "d", "namespace": namespace},
         "spec": {"size": 3}}
    )  # fmt: skip
    assert isinstance(created, dict)
    assert (await client.get(gvk, (namespace, "d")))["spec"] == {"size": 3}
    gvr = GroupVersionResource("client.example.org", "v1", "widgets")
    assert [item["metadata"]["name"] for item in await client.list(gvr, namespace)] == ["d"]
    with pytest.raises(NotFound, match="CustomResourceDefinition"):
        await client.get(GroupVersionKind("client.example.org", "v1", "Gadget"), (namespace, "d"))
    with pytest.raises(NotFound, match="CustomResourceDefinition"):
        await client.list(GroupVersionKind("nowhere.example.org", "v9", "Gadget"))


@pytest.mark.any_cluster
async def test_lists_follow_pages_to_the_end_and_keep_one_version(client: Client, namespace: str) -> None:
    for number in range(7):
        await client.create(config_map(f"c{number}", {"app": "paged"}, namespace=namespace))
    listed = await client.list(ConfigMap, namespace, label_selector="app", page_size=3)
    assert [item.metadata.name for item in listed] == [f"c{number}" for number in range(7)]
    assert listed.resource_version
    assert not listed.continue_token
    some = await client.list(ConfigMap, namespace, label_selector="app", limit=4, page_size=3)
    assert len(some) == 4
    sizes = [len(page) async for page in client.pages(ConfigMap, namespace, label_selector="app", page_size=3)]
    assert sizes == [3, 3, 1]


@pytest.mark.any_cluster
async def test_lists_are_chosen_by_labels_fields_and_namespace(client: Client, namespace: str) -> None:
    await client.create(config_map("a", {"app": "web"}, namespace=namespace))
    await client.create(config_map("b", {"app": "db"}, namespace=namespace))

    async def names(**selectors: Any) -> list[str]:
        return [item.metadata.name for item in await client.list(ConfigMap, namespace, **selectors)]

    assert await names(label_selector="app=web") == ["a"]
    assert await names(label_selector=LabelSelector.of_labels({"app": "db"})) == ["b"]
    assert await names(label_selector="app in (web,db)", field_selector="metadata.name!=a") == ["b"]
    everywhere = await client.list(ConfigMap, label_selector="app")
    assert {item.metadata.namespace for item in everywhere} >= {namespace}
    with pytest.raises(BadRequest):
        await names(field_selector="spec.nothing=1")


@pytest.mark.any_cluster
async def test_metadata_alone_is_read_and_listed(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", {"k": "v"}, namespace=namespace, x="1"))
    alone = await client.get(MetadataOnly(ConfigMap), created.key)
    assert isinstance(alone, PartialObjectMetadata)
    assert alone.metadata == created.metadata
    assert "data" not in alone.to_dict()
    listed = await client.list(MetadataOnly(CONFIG_MAP), namespace, label_selector="k")
    assert [item.metadata for item in listed] == [created.metadata]


@pytest.mark.any_cluster
async def test_encoded_objects_are_the_text_that_came(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", namespace=namespace, x="1"))
    text = await client.get(Encoded(ConfigMap), created.key)
    assert (text.key, text.uid, text.resource_version) == (
        created.key, created.metadata.uid, created.metadata.resource_version,
    )  # fmt: skip
    assert ConfigMap.from_json(text.json) == created


@pytest.mark.any_cluster
async def test_delete_by_object_takes_that_object_and_no_successor(client: Client, namespace: str) -> None:
    first = await client.create(config_map("a", namespace=namespace))
    await client.delete(first)
    second = await client.create(config_map("a", namespace=namespace))
    with pytest.raises(Conflict):
        await client.delete(first)
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, second.key, resource_version="1")
    await client.delete(ConfigMap, second.key, uid=second.metadata.uid)
    with pytest.raises(NotFound):
        await client.delete(ConfigMap, second.key)


@pytest.mark.any_cluster
async def test_an_object_with_finalizers_is_asked_to_go_and_stays(client: Client, namespace: str) -> None:
    asked = config_map("a", namespace=namespace)
    asked.metadata.finalizers = ["example.org/hold"]
    created = await client.create(asked)
    await client.delete(created, propagation="Foreground")
    held = await client.get(ConfigMap, created.key)
    assert held.metadata.is_deleting
    await client.patch(ConfigMap, created.key, {"metadata": {"finalizers": None}})


async def test_all_of_a_kind_are_not_deleted_without_a_namespace(client: Client) -> None:
    with pytest.raises(ValueError, match="v1, Kind=ConfigMap lives in a namespace: give it"):
        await client.delete_all_of(ConfigMap)


@pytest.mark.any_cluster
async def test_delete_all_of_takes_what_the_selector_chooses(client: Client, namespace: str) -> None:
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        await client.create(config_map(name, {"app": app}, namespace=namespace))
    await client.delete_all_of(ConfigMap, namespace, label_selector="app=web")
    assert [item.metadata.name for item in await client.list(ConfigMap, namespace, label_selector="app")] == ["c"]


@pytest.mark.any_cluster
async def test_scale_is_read_and_written_whatever_the_kind(client: Client, namespace: str) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }
    await client.create(deployment)
    assert (await client.get_scale(Deployment, (namespace, "d"))).spec.replicas == 2
    assert (await client.scale(Deployment, (namespace, "d"), 5)).spec.replicas == 5
    assert (await client.get(Deployment, (namespace, "d"))).spec.replicas == 5
    with pytest.raises(NotFound):
        await client.get_scale(ConfigMap, (namespace, "d"))


@pytest.mark.any_cluster
async def test_strategic_patches_of_custom_kinds_are_refused(client: Client, namespace: str, widgets: None) -> None:
    await client.create(Widget(metadata=ObjectMeta(name="w", namespace=namespace), spec=WidgetSpec()))
    with pytest.raises(UnsupportedMediaType):
        await client.patch(Widget, (namespace, "w"), {"spec": {"size": 2}}, type="strategic")


@pytest.mark.any_cluster
@pytest.mark.needs(PROGRESS)
async def test_a_watch_tells_what_is_there_then_what_happens(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", {"k": "v"}, namespace=namespace, x="1"))
    async with client.watch(ConfigMap, namespace, label_selector="k", initial_events=True) as events:
        first = await anext(events)
        assert isinstance(first, WatchEvent)
        assert (first.type, first.object, first.key) == ("ADDED", created, created.key)
        end = await anext(events)
        assert isinstance(end, Bookmark)
        assert end.ends_initial
        updated = await client.update(_with(created, x="2"))
        second = await anext(events)
        assert isinstance(second, WatchEvent)
        assert (second.type, second.object) == ("MODIFIED", updated)
        await client.delete(updated)
        third = await anext(events)
        assert isinstance(third, WatchEvent)
        assert (third.type, third.uid) == ("DELETED", created.metadata.uid)


@pytest.mark.any_cluster
async def test_a_watch_resumes_after_a_version_and_respects_selectors(client: Client, namespace: str) -> None:
    await client.create(config_map("a", {"app": "web"}, namespace=namespace))
    listed = await client.list(ConfigMap, namespace)
    await client.create(config_map("b", {"app": "db"}, namespace=namespace))
    wanted = await client.create(config_map("c", {"app": "web"}, namespace=namespace))
    async with client.watch(
        CONFIG_MAP, namespace, resource_version=listed.resource_version, label_selector="app=web"
    ) as events:
        event = await anext(events)
        assert isinstance(event, WatchEvent)
        assert event.object["metadata"]["name"] == "c"
        assert event.resource_version == wanted.metadata.resource_version


@pytest.mark.any_cluster
@pytest.mark.needs(PROGRESS)
async def test_a_watch_of_metadata_alone(client: Client, namespace: str) -> None:
    created = await client.create(config_map("a", {"k": "v"}, namespace=namespace, x="1"))
    async with client.watch(MetadataOnly(ConfigMap), namespace, label_selector="k") as events:
        event = await anext(events)
        assert isinstance(event, WatchEvent)
        assert isinstance(event.object, PartialObjectMetadata)
        assert event.object.metadata == created.metadata


@pytest.mark.any_cluster
@pytest.mark.needs(PROGRESS)
async def test_a_watch_ends_in_good_order_when_its_time_is_over(client: Client, namespace: str) -> None:
    async with client.watch(ConfigMap, namespace, label_selector="k", timeout_s=1, bookmarks=False) as events:
        assert [event async for event in events] == []


@pytest.mark.any_cluster
async def test_a_watch_from_before_history_is_gone(client: Client, namespace: str) -> None:
    with pytest.raises(Gone):
        async with client.watch(ConfigMap, namespace, resource_version="1") as events:
            await anext(events)


async def test_cancelling_a_reader_leaves_the_client_usable(client: Client, namespace: str) -> None:
    async with client.watch(ConfigMap, namespace) as events:
        reading = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert await client.list(ConfigMap, namespace) == []


async def test_a_key_that_does_not_fit_the_kinds_scope_is_refused_before_anything_is_sent(client: Client) -> None:
    with pytest.raises(ValueError, match="lives in a namespace"):
        await client.get(Pod, ("", "p"))
    with pytest.raises(ValueError, match="lives in no namespace"):
        await client.get(Namespace, ("a", "b"))
    with pytest.raises(ValueError, match="name is needed"):
        await client.get(Pod, ("a", ""))


@pytest.mark.any_cluster
async def test_a_registered_class_is_known_by_its_kind(client: Client, namespace: str, widgets: None) -> None:
    known = Client(client.transport, scheme=Scheme(Widget))
    assert await known.list(Widget.gvk, namespace) == []
