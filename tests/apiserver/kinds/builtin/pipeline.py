"""Runs objects through a built-in kind's strategy, in the order in which the core does."""

import copy
from typing import Any

from attractor.apiserver.kinds.builtin import strategy_for
from attractor.apiserver.kinds.strategy import Strategy
from attractor.k8s.catalog import resources
from attractor.objects.json_types import JsonObject

_BY_KIND = {f"{info.group}/{info.version}/{info.kind}": info for info in resources()}


def strategy(kind: str) -> Strategy:
    """The strategy of ``[group/]version/Kind``."""
    return strategy_for(_BY_KIND[kind if kind.count("/") == 2 else f"/{kind}"])


def written(kind: str, obj: JsonObject) -> JsonObject:
    """The object as read and defaulted."""
    rules = strategy(kind)
    found = rules.decode(copy.deepcopy(obj)).obj
    rules.default(found)
    return found


def created(kind: str, obj: JsonObject) -> JsonObject:
    """The object as it would be stored, without what the core stamps."""
    found = written(kind, obj)
    strategy(kind).prepare_create(found)
    strategy(kind).canonicalize(found)
    return found


def refusals(kind: str, obj: JsonObject) -> list[str]:
    """Every rule that a new object breaks."""
    return [str(error) for error in strategy(kind).validate(created(kind, obj))]


def change_refusals(kind: str, old: JsonObject, change: JsonObject, subresource: str = "") -> list[str]:
    """Every rule that a change breaks; ``change`` is merged over the stored object."""
    stored = created(kind, old)
    rules = strategy(kind)
    obj = written(kind, merged(stored, change))
    rules.prepare_update(obj, stored, subresource)
    return [str(error) for error in rules.validate_update(obj, stored, subresource)]


def changed(kind: str, old: JsonObject, change: JsonObject, subresource: str = "") -> JsonObject:
    """The object as it would be stored after a change."""
    stored = created(kind, old)
    before = copy.deepcopy(stored)
    obj = written(kind, merged(stored, change))
    strategy(kind).prepare_update(obj, stored, subresource)
    assert stored == before, "the old object was changed"
    return obj


def merged(target: Any, patch: Any) -> Any:
    """A merge patch, as RFC 7396 defines it."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merged(out.get(name), value)
    return out


def pod_spec(**fields: Any) -> JsonObject:
    """The smallest pod spec, with some fields."""
    return {"containers": [{"name": "c", "image": "i:1"}], **fields}


def template(**fields: Any) -> JsonObject:
    """A pod template with the label ``app=a``."""
    return {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec(**fields)}


def workload(**spec: Any) -> JsonObject:
    """A workload with selector and template."""
    return {
        "metadata": {"name": "x"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec},
    }
