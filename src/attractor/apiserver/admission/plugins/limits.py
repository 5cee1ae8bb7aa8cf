"""LimitRanger: a namespace's LimitRanges fill in what containers leave out, and bound what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import CLAIMS, PODS, every, forbidden, is_about
from attractor.apiserver.kinds.builtin.pod_resources import amounts_of, pod_amounts
from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject

ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = (("containers", "container"), ("initContainers", "init container"))


class LimitRanger(Plugin):
    """Applies the LimitRanges of the namespace to new pods and to claims."""

    concerns = frozenset({PODS, CLAIMS})

    def admit(self, attributes: Attributes) -> None:
        """Give a new pod's containers the defaults."""
        if attributes.obj is None or attributes.old is not None or not is_about(attributes, "", "pods"):
            return
        for limit_range in _ranges(attributes):
            _fill(attributes.obj, limit_range)

    def validate(self, attributes: Attributes) -> None:
        """Refuse what is out of bounds."""
        obj = attributes.obj
        if obj is None or not _is_bounded(attributes):
            return
        for limit_range in _ranges(attributes):
            wrong = list(_violations(obj, limit_range, is_pod=attributes.kind.resource == "pods"))
            if wrong:
                raise forbidden(attributes, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")


def _is_bounded(attributes: Attributes) -> bool:
    if attributes.old is not None and attributes.old["metadata"].get("deletionTimestamp"):
        return False
    if attributes.kind.gvk.group or attributes.kind.resource not in {"pods", "persistentvolumeclaims"}:
        return False
    if attributes.kind.resource == "pods" and attributes.old is not None:
        return attributes.op.subresource == "resize"
    return not attributes.op.subresource


def _ranges(attributes: Attributes) -> Iterator[JsonObject]:
    yield from every(attributes.txn, "", "limitranges", attributes.op.namespace)


def _fill(pod: JsonObject, limit_range: JsonObject) -> None:
    """Add the defaults that are missing, and say in an annotation which."""
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limit_range["spec"].get("limits") or ():
        if limit.get("type") == "Container":
            defaults["requests"].update(limit.get("defaultRequest") or {})
            defaults["limits"].update(limit.get("default") or {})
    said = []
    for field, what in _LISTS:
        for container in pod["spec"].get(field) or ():
            resources = {**(container.get("resources") or {})}
            for amounts in ("requests", "limits"):
                missing = {k: v for k, v in defaults[amounts].items() if k not in (resources.get(amounts) or {})}
                if missing:
                    resources[amounts] = {**(resources.get(amounts) or {}), **missing}
                    said.append(f"{', '.join(sorted(missing))} {amounts[:-1]} for {what} {container.get('name', '')}")
            container["resources"] = resources
    if said:
        annotations = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(said)}"}


def _violations(obj: JsonObject, limit_range: JsonObject, *, is_pod: bool) -> Iterator[str]:
    spec = obj["spec"]
    for limit in limit_range["spec"].get("limits") or ():
        kind = limit.get("type")
        if is_pod and kind == "Container":
            for field, _ in _LISTS:
                for container in spec.get(field) or ():
                    yield from _compared(limit, amounts_of(container, "requests"), amounts_of(container, "limits"))
        elif is_pod and kind == "Pod":
            yield from _compared(limit, pod_amounts(spec, "requests"), pod_amounts(spec, "limits"))
        elif not is_pod and kind == "PersistentVolumeClaim":
            yield from _compared_claim(limit, amounts_of(spec, "requests"))


def _compared(limit: JsonObject, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Iterator[str]:
    kind = limit["type"]
    for name, text in sorted((limit.get("min") or {}).items()):
        yield from _below(kind, name, text, requests.get(name), limits.get(name))
    for name, text in sorted((limit.get("max") or {}).items()):
        bound, request, top = Quantity.parse(text), requests.get(name), limits.get(name)
        begin = f"maximum {name} usage per {kind} is {text}"
        if top is None:
            yield f"{begin}.  No limit is specified"
        elif top > bound:
            yield f"{begin}, but limit is {top}"
        elif request is not None and request > bound:
            yield f"{begin}, but request is {request}"
    for name, text in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio(kind, name, text, requests.get(name), limits.get(name))


def _below(kind: str, name: str, text: str, request: Quantity | None, top: Quantity | None) -> Iterator[str]:
    bound, begin = Quantity.parse(text), f"minimum {name} usage per {kind} is {text}"
    if request is None:
        yield f"{begin}.  No request is specified"
    elif request < bound:
        yield f"{begin}, but request is {request}"
    elif top is not None and top < bound:
        yield f"{begin}, but limit is {top}"


def _ratio(kind: str, name: str, text: str, request: Quantity | None, top: Quantity | None) -> Iterator[str]:
    begin = f"{name} max limit to request ratio per {kind} is {text}"
    if request is None or not request.sign:
        yield f"{begin}, but no request is specified or request is 0"
    elif top is None or not top.sign:
        yield f"{begin}, but no limit is specified or limit is 0"
    elif top.nanos / request.nanos > Quantity.parse(text).nanos / 10**9:
        yield f"{begin}, but provided ratio is {top.nanos / request.nanos:f}"


def _compared_claim(limit: JsonObject, requests: Mapping[str, Quantity]) -> Iterator[str]:
    kind = limit["type"]
    for name, text in sorted((limit.get("min") or {}).items()):
        yield from _below(kind, name, text, requests.get(name), None)
    for name, text in sorted((limit.get("max") or {}).items()):
        bound, request, begin = Quantity.parse(text), requests.get(name), f"maximum {name} usage per {kind} is {text}"
        if request is None:
            yield f"{begin}.  No request is specified"
        elif request > bound:
            yield f"{begin}, but request is {request}"
