"""Sample objects with one list or map filled up: attacks that nobody had to think of."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.fuzz.answers import CRD, CRDS, KINDS
from tests.fuzz.attacks import APPLY, JSON, Attack, Family, created, named, text


def widened() -> dict[str, Family]:
    """Every list and every map of the sample objects, filled up; in JSON, by an update, and by server-side apply."""
    found: dict[str, Family] = {}
    for api, resource, kind, fields in KINDS:
        obj = named(kind, "v1" if api == "/api/v1" else api.removeprefix("/apis/"), **fields)
        obj["metadata"] |= {"labels": {"a": "b"}, "annotations": {"a": "b"}}
        for where in containers(obj, ()):
            for way in ("POST", "PUT", "PATCH"):
                name = f"{way} {resource} {'.'.join(map(str, where))}"
                found[name] = wide_family(api, resource, obj, where, way)
    return found


def containers(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        yield path
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from containers(item, (*path, key))


def wide_family(api: str, resource: str, obj: dict[str, Any], where: tuple[Any, ...], way: str) -> Family:
    def family(count: int) -> list[Attack]:
        wide = copy.deepcopy(obj)
        here: Any = wide
        for key in where:
            here = here[key]
        if isinstance(here, list):
            sample = here[0]
            here[:] = [renamed(sample, number) for number in range(count)]
        else:
            sample = next(iter(here.values()), "v") if where else 1
            here |= {f"w{number}": sample if isinstance(sample, str) else 1 for number in range(count)}
        collection = f"{api}/namespaces/default/{resource}"
        before = [created(CRDS, CRD)] if resource == "things" else []
        if way == "POST":
            return [*before, created(collection, wide)]
        before.append(created(collection, obj))
        content_type, query = (JSON, "") if way == "PUT" else (APPLY, "?fieldManager=m&force=true")
        return [*before, Attack(way, f"{collection}/x{query}", content_type, text(wide))]

    return family


def renamed(sample: Any, number: int) -> Any:
    """An item like the sample, with names and numbers of its own."""
    if isinstance(sample, dict):
        changed = {key: f"{value}{number}" for key, value in sample.items() if isinstance(value, str)}
        changed |= {key: number + 1 for key, value in sample.items() if isinstance(value, int)}
        return {**copy.deepcopy(sample), **changed}
    return f"{sample}{number}"
