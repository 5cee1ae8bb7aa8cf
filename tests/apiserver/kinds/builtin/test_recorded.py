"""Creations that a real API server answered, put through the strategies: same objects, same causes, same refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from attractor.apiserver.kinds.builtin import strategy_for
from attractor.apiserver.kinds.custom.definition import DefinitionStrategy
from attractor.apiserver.request.decode_errors import DecodeError
from attractor.apiserver.request.error_values import as_given
from attractor.k8s.catalog import ResourceInfo, find

NOT_THE_KINDS_OWN = (
    *("csrs", "dry-run", "eviction", "foreground", "ipaddresses", "limits", "nodes", "owners"),
    *(
        "pod-",
        "pods-",
        "policies-authorizer",
        "priority-runtime",
        "privileged",
        "quota",
        "reaching",
        "selectors-pods",
        "services-order",
        "storage",
        "strategic-kinds",
        "strategic-orders",
        "tables",
        "updates-statuses",
        "updates-volumes",
        "watch-deprecated",
        "watch-pods",
    ),
)
"""How conversations begin that are also about what admission or the requester's name make of objects."""
RECORDINGS = Path(__file__).parents[3] / "golden" / "kube-apiserver-1.36"


def resource_of(path: str) -> tuple[ResourceInfo | None, str]:
    """The resource that a collection's path names, and the namespace."""
    parts = path.partition("?")[0].strip("/").split("/")
    group, rest = ("", parts[1:]) if parts[0] == "api" else (parts[1], parts[2:])
    version, *place = rest
    namespace = place[1] if place[0] == "namespaces" and len(place) > 2 else ""
    name = place[2:] if namespace else place
    return (find(group, version, name[0]) if len(name) == 1 else None), namespace


def creations() -> list[Any]:
    """Every recorded creation of a built-in object that the kind itself decides."""
    found = []
    for path in sorted(RECORDINGS.glob("*.json")):
        if path.stem.startswith(("errors-", "verbs-", "updates-and-preconditions")):
            continue  # about what all kinds share: options, bodies and metadata
        text = path.read_text().replace("{ns}", "ns")
        steps = [] if path.stem.startswith(NOT_THE_KINDS_OWN) else json.loads(text)["steps"]
        for index, step in enumerate(steps):
            request, answer = step["request"], step["response"]
            if request["method"] != "POST" or "body" not in request or "contentType" in request or not answer:
                continue
            info, namespace = resource_of(request["path"])
            decided = (
                answer["code"] in {201, 422}
                or "cannot unmarshal" in answer.get("body", {}).get("message", "")
                or "base64" in answer.get("body", {}).get("message", "")
            )
            if (
                info is not None
                and "list" in info.verbs
                and decided
                and request["body"].get("kind") == info.kind
                and "dryRun" not in request["path"]
            ):
                found.append(pytest.param(info, namespace, request["body"], answer, id=f"{path.stem}-{index}"))
    return found


@pytest.mark.parametrize(("info", "namespace", "body", "answer"), creations())
def test_creation_is_answered_as_recorded(info: ResourceInfo, namespace: str, body: Any, answer: Any) -> None:
    strategy, expected = strategy_for(info), json.loads(json.dumps(answer["body"]).replace("<uid>", "the-uid"))
    if info.kind == "CustomResourceDefinition":
        strategy = DefinitionStrategy(strategy)
    if answer["code"] == 400:
        with pytest.raises(DecodeError) as refused:
            strategy.decode(body)
        assert expected["message"].endswith(f": {refused.value}")
        return
    obj = strategy.decode(json.loads(json.dumps(body))).obj
    if namespace:
        obj["metadata"]["namespace"] = namespace
    obj["metadata"]["uid"] = "the-uid"
    strategy.default(obj)
    strategy.prepare_create(obj)
    errors = [error for error in as_given(strategy.validate(obj), body) if not error.path.startswith("metadata")]
    if answer["code"] == 422:
        causes = [cause for cause in expected["details"]["causes"] if not cause["field"].startswith("metadata")]
        broken = [error.cause() for error in errors if not error.path.startswith("metadata")]
        assert sorted(map(json.dumps, broken)) == sorted(map(json.dumps, causes))
        return
    assert errors == []
    strategy.canonicalize(obj)
    assert {**obj, "metadata": None} == {**expected, "metadata": None}
    assert obj["metadata"].get("labels") == expected["metadata"].get("labels")
    is_counted = strategy.has_generation or "generation" in obj["metadata"]
    assert is_counted is ("generation" in expected["metadata"])


def test_the_recordings_cover_successes_and_refusals() -> None:
    codes = {parameter.values[3]["code"] for parameter in creations()}
    assert codes == {201, 400, 422}
