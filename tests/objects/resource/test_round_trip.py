"""Nothing is lost between the wire and typed objects."""

import copy
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.resource import UNSET, Duration, ListMeta, ObjectMeta, codec, yaml_text
from tests.objects.resource.widgets import Colour, Port, Tree, Widget, WidgetSpec

HIDDEN = "\ue000"
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
unknown = st.dictionaries(st.just(HIDDEN) | texts.map(lambda text: f"x-{text}"), json_values, max_size=2)


def with_unknown(known: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(st.fixed_dictionaries(known), unknown).map(lambda both: {**both[0], **both[1]})


ports = with_unknown({"containerPort": st.integers(1, 65535), "protocol": texts})
conditions = with_unknown(
    {
        "type": texts,
        "status": st.sampled_from(["True", "False", "Unknown"]),
        "lastTransitionTime": st.just("2026-01-31T08:00:00Z"),
        "reason": texts,
        "message": texts,
        "observedGeneration": st.integers(1, 9),
    }
)
owners = with_unknown({"apiVersion": texts, "kind": texts, "name": texts, "uid": texts, "controller": st.booleans()})
metadata = with_unknown(
    {
        "name": st.just("w"),
        "labels": st.dictionaries(texts, texts, min_size=1, max_size=2),
        "ownerReferences": st.lists(owners, min_size=1, max_size=2),
        "deletionTimestamp": st.just("2026-01-31T08:00:00.000001Z"),
    }
)
specs = with_unknown(
    {
        "size": st.integers(0, 200),
        "mode": st.sampled_from(["Fast", "Safe"]),
        "colour": st.sampled_from(["Red", "Blue"]),
        "ports": st.lists(ports, max_size=3),
        "byName": st.dictionaries(st.just(HIDDEN) | texts, ports, max_size=2),
        "timeout": st.sampled_from(["1h30m0s", "300ms", "0s"]),
        "secret": st.sampled_from(["", "aGk="]),
        "memory": st.sampled_from(["1Gi", 5, "500m"]),
        "target": st.integers(0, 9) | texts,
        "cleared": st.none() | texts,
        "free": st.dictionaries(st.just(HIDDEN) | texts, json_values, max_size=3),
    }
)
objects = with_unknown(
    {
        "apiVersion": st.just("example.org/v1"),
        "kind": st.just("Widget"),
        "metadata": metadata,
        "spec": specs,
        "status": with_unknown({"replicas": st.integers(0, 9), "conditions": st.lists(conditions, max_size=2)}),
    }
)


@given(objects)
def test_every_field_of_any_object_survives_known_or_unknown_at_every_depth(value: dict[str, Any]) -> None:
    original = copy.deepcopy(value)
    data = orjson.dumps(value)
    for widget in (Widget.from_json(data), Widget.from_dict(value)):
        assert widget.to_dict() == original
        assert orjson.loads(widget.to_json()) == original
    assert value == original, "reading must not change what was read"


@given(objects)
def test_a_changed_field_is_the_only_difference(value: dict[str, Any]) -> None:
    widget = Widget.from_dict(value)
    widget.spec.size = 77
    widget.spec.ports.reverse()
    expected = copy.deepcopy(value)
    expected["spec"]["size"] = 77
    expected["spec"]["ports"].reverse()
    assert widget.to_dict() == expected


@given(objects)
def test_a_copy_is_equal_and_shares_nothing(value: dict[str, Any]) -> None:
    widget = Widget.from_dict(value)
    for copied in (widget.deep_copy(), copy.deepcopy(widget)):
        assert copied == widget
        copied.metadata.labels["added"] = "here"
        copied.spec.ports.append(Port(container_port=1))
        copied.spec.unknown_fields["added"] = 1
        assert copied != widget
        assert widget.to_dict() == value


@given(objects)
def test_yaml_reads_back_what_it_wrote(value: dict[str, Any]) -> None:
    widget = Widget.from_dict(value)
    assert Widget.from_yaml(widget.to_yaml()) == widget


def poison(value: Any) -> None:
    """Change every list and object of a JSON value."""
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, dict | list):
            poison(item)
    if isinstance(value, dict):
        value["poison"] = 1
    else:
        value.append("poison")


@given(objects)
def test_a_typed_object_shares_nothing_with_what_it_was_read_from_or_written_to(value: dict[str, Any]) -> None:
    original = copy.deepcopy(value)
    widget = Widget.from_dict(value)
    poison(value)
    written = widget.to_dict()
    assert written == original
    poison(written)
    assert widget.to_dict() == original


def test_yaml_times_and_dates_stay_texts() -> None:
    widget = Widget.from_yaml("metadata: {creationTimestamp: 2026-01-31T08:00:00Z}\nspec: {free: {day: 2026-01-31}}")
    assert widget.metadata.creation_timestamp == datetime(2026, 1, 31, 8, tzinfo=UTC)
    assert widget.spec.free == {"day": "2026-01-31"}


@pytest.mark.parametrize("text", ["12e45", "1e3", "-1.5E-7", ".5e3", "0o17"])
def test_a_text_that_go_would_take_for_a_number_is_written_with_quotes(text: str) -> None:
    assert yaml_text.dump({"commit": text}) == f"commit: '{text}'\n"
    assert isinstance(yaml_text.load(f"commit: {text}")["commit"], int | float)


def test_a_text_that_is_too_large_for_a_number_stays_one() -> None:
    assert yaml_text.load("commit: 12e4567") == {"commit": "12e4567"}


def test_what_is_there_twice_is_written_twice() -> None:
    ports = [80]
    assert yaml_text.dump({"a": ports, "b": ports}) == "a:\n- 80\nb:\n- 80\n"
    assert yaml_text.dump_all([{"a": 1}, {"b": 2}]) == "---\na: 1\n---\nb: 2\n"


def test_yaml_keys_become_texts_as_kubernetes_tools_make_them() -> None:
    widget = Widget.from_yaml("spec: {free: {8080: a, on: b, 1.5: {2: c}}}")
    assert widget.spec.free == {"8080": "a", "true": "b", "1.5": {"2": "c"}}
    with pytest.raises(codec.DecodeError, match="cannot be the key"):
        Widget.from_yaml("spec: {free: {null: a}}")


@pytest.mark.parametrize("text", ["[" * 900 + "]" * 900, "12345678901234567890123", "-0.0", "1e300"])
def test_deep_and_large_values_survive_where_the_class_does_not_look(text: str) -> None:
    data = f'{{"apiVersion":"example.org/v1","kind":"Widget","metadata":{{}},"spec":{{"size":1,"later":{text}}}}}'
    written = Widget.from_json(data).to_json().decode()
    assert f'"later":{text}' in written.replace("1e+300", "1e300")


def test_defaults_are_filled_in_and_written_and_absent_fields_stay_absent() -> None:
    widget = Widget.from_dict({"spec": {}})
    assert (widget.spec.size, widget.spec.mode, widget.spec.ports, widget.status) == (1, "Safe", [], None)
    assert widget.to_dict() == {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {},
        "spec": {"size": 1, "mode": "Safe", "ports": []},
    }


def test_each_object_has_its_own_default_list() -> None:
    one, other = WidgetSpec(), WidgetSpec()
    one.ports.append(Port(container_port=80))
    assert other.ports == []


def test_null_means_absent_save_where_a_field_says_that_they_differ() -> None:
    widget = Widget.from_dict({"metadata": {"labels": None}, "spec": {"size": None, "ports": None, "cleared": None}})
    assert widget.metadata.labels == {}
    assert (widget.spec.size, widget.spec.ports, widget.spec.cleared) == (1, [], None)
    assert widget.to_dict()["spec"] == {"size": 1, "mode": "Safe", "ports": [], "cleared": None}
    assert WidgetSpec().cleared is UNSET


def test_typed_values_are_python_values() -> None:
    widget = Widget.from_dict(
        {"spec": {"colour": "Blue", "timeout": "1m", "secret": "aGk=", "notBefore": "2026-01-31T08:00:00+02:00"}}
    )
    assert widget.spec.colour is Colour.BLUE
    assert widget.spec.timeout == Duration(minutes=1)
    assert widget.spec.secret == b"hi"
    assert widget.spec.not_before == datetime(2026, 1, 31, 6, tzinfo=UTC)


def test_unknown_fields_survive_in_a_type_that_contains_itself() -> None:
    value = {"children": [{"children": [{"leaf": 1}]}, {}]}
    assert codec.to_builtins(codec.convert(Tree, value)) == value


def test_two_objects_that_differ_only_in_unknown_fields_are_not_equal() -> None:
    plain, fancy = Widget.from_dict({"spec": {}}), Widget.from_dict({"spec": {"fancy": 1}})
    assert plain != fancy
    assert fancy.spec.unknown_fields == {"fancy": 1}
    assert "fancy" in repr(fancy)


def test_metadata_writes_only_what_is_there() -> None:
    assert codec.to_builtins(ObjectMeta(name="a")) == {"name": "a"}
    assert codec.to_builtins(ListMeta(continue_="token")) == {"continue": "token"}


def test_an_owner_reference_needs_a_stored_owner() -> None:
    widget = Widget(metadata=ObjectMeta(name="w", namespace="n"), spec=WidgetSpec())
    with pytest.raises(ValueError, match=r"Widget n/w has no uid yet"):
        widget.owner_reference()
    widget.metadata.uid = "u1"
    child = ObjectMeta(name="c", owner_references=[widget.owner_reference()])
    assert child.controller is not None
    assert codec.to_builtins(child.controller) == {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "name": "w",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
