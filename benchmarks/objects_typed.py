"""Typed resources: decode, encode and copy against plain JSON libraries and pydantic, and what importing costs.

Prints JSON: microseconds per operation (best of several rounds) for an object of about 1 KB and of about 5 KB, with
and without unknown fields; ``null`` for a rival that is not installed. Run: ``python benchmarks/objects_typed.py``.
"""

from __future__ import annotations

import copy
import importlib.metadata
import importlib.util
import json
import statistics
import subprocess
import sys
import timeit
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from attractor.k8s.typed_classes import class_for
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.resource import Resource, Struct

if TYPE_CHECKING:
    from collections.abc import Callable

RIVALS = ("msgspec", "orjson", "pydantic")


class Item(Struct):
    name: str
    image: str
    size: int
    command: list[str]
    environment: dict[str, str]
    enabled: bool
    ratio: float | None = None


class Spec(Struct):
    replicas: int
    selector: dict[str, str]
    items: list[Item]
    note: str | None = None


class Status(Struct):
    phase: str
    observed_generation: int


class Widget(Resource, group="example.org", version="v1"):
    spec: Spec
    status: Status | None = None


def item(number: int) -> dict[str, Any]:
    return {
        "name": f"item-{number}",
        "image": "registry.example.org/team/image:1.2.3",
        "size": number,
        "command": ["/bin/run", "--verbose", f"--number={number}"],
        "environment": {"LEVEL": "info", "REGION": "north-1"},
        "enabled": True,
        "ratio": 0.5,
    }


def sample(items: int, unknown: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"replicas": 3, "selector": {"app": "w"}, "items": [item(n) for n in range(items)]}
    if unknown:
        spec["items"][0]["fromTheFuture"] = {"a": [1, 2, 3]}
    return {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {
            "name": "sample",
            "namespace": "default",
            "uid": "6a1b1f0e-6d3f-4a55-9f37-0f6d5f0e1a11",
            "resourceVersion": "123456",
            "generation": 4,
            "creationTimestamp": "2026-01-31T08:00:00Z",
            "labels": {"app": "w", "tier": "front"},
            "annotations": {"example.org/owner": "team-a"},
            "finalizers": ["example.org/clean-up"],
        },
        "spec": spec,
        "status": {"phase": "Ready", "observedGeneration": 4},
    }


def measured_us(operation: Callable[[], object]) -> float:
    timer = timeit.Timer(operation)
    timer.timeit(10)
    number = max(10, int(0.01 / (timer.timeit(50) / 50)))
    return round(min(timer.repeat(9, number)) / number * 1e6, 2)


def least(rows: list[Any]) -> Any:
    """The least of each figure over several passes, so that a busy moment of the machine does not count."""
    if isinstance(rows[0], dict):
        return {name: least([row[name] for row in rows]) for name in rows[0]}
    return None if rows[0] is None else min(rows)


def typed_row(cls: type[Resource], data: bytes) -> dict[str, float]:
    made, value = cls.from_json(data), orjson.loads(data)
    return {
        "decode": measured_us(lambda: cls.from_json(data)),
        "encode": measured_us(made.to_json),
        "copy": measured_us(made.deep_copy),
        "from_dict": measured_us(lambda: cls.from_dict(value)),
        "to_dict": measured_us(made.to_dict),
    }


def plain_rows(data: bytes) -> dict[str, dict[str, float]]:
    value = orjson.loads(data)
    return {
        "json (untyped)": {
            "decode": measured_us(lambda: json.loads(data)),
            "encode": measured_us(lambda: json.dumps(value)),
            "copy": measured_us(lambda: copy.deepcopy(value)),
        },
        "orjson (untyped)": {
            "decode": measured_us(lambda: orjson.loads(data)),
            "encode": measured_us(lambda: orjson.dumps(value)),
            "copy": measured_us(lambda: orjson.loads(orjson.dumps(value))),
        },
    }


def msgspec_row(data: bytes) -> dict[str, float]:
    """The same shape without our rules: unknown fields are dropped."""
    plain = {"omit_defaults": True, "rename": "camel", "kw_only": True}
    spec_item = msgspec.defstruct(
        "Item", [("name", str), ("image", str), ("size", int), ("command", list[str]),
                 ("environment", dict[str, str]), ("enabled", bool), ("ratio", float | None, None)], **plain,
    )  # fmt: skip
    spec = msgspec.defstruct(
        "Spec", [("replicas", int), ("selector", dict[str, str]), ("items", list[spec_item])], **plain
    )
    widget = msgspec.defstruct(
        "Widget", [("api_version", str), ("kind", str), ("metadata", dict[str, Any]), ("spec", spec),
                   ("status", dict[str, Any])], **plain,
    )  # fmt: skip
    decoder = msgspec.json.Decoder(widget)
    made = decoder.decode(data)
    return {
        "decode": measured_us(lambda: decoder.decode(data)),
        "encode": measured_us(lambda: msgspec.json.encode(made)),
        "copy": measured_us(lambda: decoder.decode(msgspec.json.encode(made))),
    }


@dataclass
class PlainItem:
    name: str
    image: str
    size: int
    command: list[str]
    environment: dict[str, str]
    enabled: bool
    ratio: float | None = None
    unknown: dict[str, Any] = field(default_factory=dict)


@dataclass
class PlainSpec:
    replicas: int
    selector: dict[str, str]
    items: list[PlainItem]
    note: str | None = None
    unknown: dict[str, Any] = field(default_factory=dict)


def from_plain(cls: type, names: dict[str, str], value: dict[str, Any]) -> Any:
    """A codec for dataclasses in plain Python that keeps unknown fields and checks no types."""
    known, unknown = {}, {}
    for name, item in value.items():
        if name in names:
            known[names[name]] = item
        else:
            unknown[name] = item
    return cls(**known, unknown=unknown)


def to_plain(names: dict[str, str], value: Any) -> dict[str, Any]:
    made = {name: item for name, attribute in names.items() if (item := getattr(value, attribute)) is not None}
    return {**made, **value.unknown}


def dataclass_row(data: bytes) -> dict[str, float]:
    item_names = {f.name: f.name for f in fields(PlainItem) if f.name != "unknown"}
    spec_names = {f.name: f.name for f in fields(PlainSpec) if f.name != "unknown"}

    def decode() -> dict[str, Any]:
        value: dict[str, Any] = orjson.loads(data)
        spec = from_plain(PlainSpec, spec_names, value["spec"])
        spec.items = [from_plain(PlainItem, item_names, item) for item in spec.items]
        value["spec"] = spec
        return value

    made = decode()

    def encode() -> bytes:
        spec = to_plain(spec_names, made["spec"])
        spec["items"] = [to_plain(item_names, item) for item in spec["items"]]
        return orjson.dumps({**made, "spec": spec})

    return {
        "decode": measured_us(decode),
        "encode": measured_us(encode),
        "copy": measured_us(lambda: copy.deepcopy(made)),
    }


def pydantic_row(data: bytes) -> dict[str, float] | None:
    """The same shape with ``extra="allow"``, which keeps unknown fields."""
    if importlib.util.find_spec("pydantic") is None:
        return None
    import pydantic
    from pydantic.alias_generators import to_camel

    config = pydantic.ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)
    spec_item = pydantic.create_model(
        "Item", __config__=config, name=(str, ...), image=(str, ...), size=(int, ...), command=(list[str], ...),
        environment=(dict[str, str], ...), enabled=(bool, ...), ratio=(float | None, None),
    )  # fmt: skip
    spec = pydantic.create_model(
        "Spec", __config__=config, replicas=(int, ...), selector=(dict[str, str], ...), items=(list[spec_item], ...)
    )
    widget = pydantic.create_model(
        "Widget", __config__=config, api_version=(str, ...), kind=(str, ...), metadata=(dict[str, Any], ...),
        spec=(spec, ...), status=(dict[str, Any], ...),
    )  # fmt: skip
    made = widget.model_validate_json(data)
    return {
        "decode": measured_us(lambda: widget.model_validate_json(data)),
        "encode": measured_us(lambda: made.model_dump_json(by_alias=True)),
        "copy": measured_us(lambda: made.model_copy(deep=True)),
    }


def all_rows(data: bytes) -> dict[str, Any]:
    return {
        "attractor": typed_row(Widget, data),
        **plain_rows(data),
        "msgspec (drops unknown)": msgspec_row(data),
        "dataclasses, own codec (spec only, unchecked)": dataclass_row(data),
        "pydantic (extra=allow)": pydantic_row(data),
    }


def start_ms(statement: str) -> float:
    """Median wall time of a new interpreter that runs a statement, less that of one that does nothing."""

    def once(source: str) -> float:
        return min(
            timeit.repeat(lambda: subprocess.run([sys.executable, "-c", source], check=True), number=1, repeat=7)
        )

    return round(statistics.median(once(statement) - once("pass") for _ in range(3)) * 1e3, 1)


def main() -> None:
    rows: dict[str, Any] = {}
    for label, items, unknown in (("1 KB", 2, False), ("1 KB, unknown fields", 2, True), ("5 KB", 20, False)):
        data = orjson.dumps(sample(items, unknown))
        rows[label] = {"bytes": len(data), **least([all_rows(data) for _ in range(3)])}
    deployment = class_for(GroupVersionKind("apps", "v1", "Deployment"))
    assert deployment is not None
    data = orjson.dumps(
        {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}] * 4}}}}
    )
    rows["built-in Deployment"] = {"bytes": len(data), "attractor": typed_row(deployment, data)}
    first = "from attractor.objects import builtin as b; b.find('apps', 'v1', 'deployments').schema.child('spec')"
    versions = {name: importlib.metadata.version(name) if importlib.util.find_spec(name) else None for name in RIVALS}
    print(
        json.dumps(
            {
                "benchmark": "objects_typed",
                "python": sys.version.split()[0],
                "versions": versions,
                "unit": "us",
                "objects": rows,
                "import_ms": {
                    "attractor": start_ms("import attractor"),
                    "attractor.objects.resource": start_ms("import attractor.objects.resource"),
                    "one built-in schema, cold": start_ms(first),
                    "one built-in class, cold": start_ms("from attractor.k8s.apps_v1 import Deployment"),
                },
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
