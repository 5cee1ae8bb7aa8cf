"""Answers to admission reviews: what a function says, as a server reads it."""

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor import AdmissionRequest, mutate, validate
from attractor.k8s import ConfigMap
from attractor.patch.json_patch import apply_json_patch
from attractor.webhooks.review import answer_admission
from tests.webhooks.services import WebService, fits, service, sized


def asked(obj: Any, old: Any = None, operation: str = "CREATE", **more: Any) -> dict[str, Any]:
    return {"operation": operation, "object": obj, "oldObject": old, **more}


def patch_of(response: dict[str, Any]) -> Any:
    return orjson.loads(base64.b64decode(response["patch"])) if "patch" in response else []


def test_several_fields_are_refused_together() -> None:
    response = answer_admission(fits, asked(service(replicas=11).to_dict(), service(tier="large").to_dict(), "UPDATE"))
    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    assert response["status"]["message"] == "[spec.tier: cannot be changed, spec.replicas: 10 at most]"
    assert [cause["field"] for cause in response["status"]["details"]["causes"]] == ["spec.tier", "spec.replicas"]
    assert response["warnings"] == ["more than 5 replicas are untested"]


def test_what_is_deleted_is_judged_as_it_is_stored() -> None:
    kept = service(labels={"keep": ""}).to_dict()
    response = answer_admission(fits, asked(None, kept, "DELETE"))
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert answer_admission(fits, asked(None, service().to_dict(), "DELETE")) == {"allowed": True}


def test_a_patch_says_only_what_the_function_changed() -> None:
    sent = {
        "apiVersion": "web.example.org/v1", "kind": "WebService", "metadata": {"name": "a", "later": 1},
        "spec": {"tier": "large", "addedLater": {"x": [1]}},
    }  # fmt: skip
    assert patch_of(answer_admission(sized, asked(sent))) == [{"op": "add", "path": "/spec/replicas", "value": 3}]
    sent["spec"]["replicas"] = 3  # type: ignore[index]
    assert answer_admission(sized, asked(sent)) == {"allowed": True}


def test_a_function_may_return_another_object() -> None:
    @mutate(ConfigMap)
    def emptied(obj: ConfigMap, request: AdmissionRequest[ConfigMap]) -> ConfigMap:
        return ConfigMap(metadata=obj.metadata)

    sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a/b": "1"}}
    assert patch_of(answer_admission(emptied, asked(sent))) == [{"op": "remove", "path": "/data"}]


def test_a_function_that_returns_something_else_is_named() -> None:
    @mutate(ConfigMap)
    def wrong(obj: ConfigMap, request: AdmissionRequest[ConfigMap]) -> Any:
        return True

    with pytest.raises(TypeError, match=r"webhook 'wrong' returned True; return a ConfigMap"):
        answer_admission(wrong, asked({"apiVersion": "v1", "kind": "ConfigMap"}))


def test_who_writes_and_whether_it_is_kept_is_known() -> None:
    seen: list[AdmissionRequest[WebService]] = []

    @validate(WebService)
    def notes(obj: WebService, request: AdmissionRequest[WebService]) -> None:
        seen.append(request)

    user = {"username": "ann", "groups": ["staff"], "extra": {"scope": ["a"]}}
    answer_admission(notes, asked(service().to_dict(), userInfo=user, dryRun=True, name="a", namespace="default"))
    (request,) = seen
    assert (request.user.name, request.user.groups, request.user.extra) == ("ann", ("staff",), {"scope": ("a",)})
    assert (request.dry_run, request.name, request.namespace) == (True, "a", "default")


def test_what_does_not_fit_the_class_is_refused_by_those_who_judge_and_left_alone_by_those_who_change() -> None:
    sent = {"apiVersion": "web.example.org/v1", "kind": "WebService", "metadata": {}, "spec": {"tier": "huge"}}
    refused, left = answer_admission(fits, asked(sent)), answer_admission(sized, asked(sent))
    assert (refused["allowed"], refused["status"]["code"]) == (False, 422)
    assert left["allowed"] is True
    assert "tier" in left["warnings"][0]


names = st.sampled_from(["a", "b", "x/y", "m~n"])
data = st.dictionaries(names, st.text(max_size=2), max_size=4)


@given(before=data, after=data, unknown=st.dictionaries(names, st.integers(), max_size=2))
def test_the_patch_of_any_change_leads_to_it_and_keeps_what_the_class_does_not_know(
    before: dict[str, str], after: dict[str, str], unknown: dict[str, int]
) -> None:
    @mutate(ConfigMap)
    def change(obj: ConfigMap, request: AdmissionRequest[ConfigMap]) -> None:
        obj.data = dict(after)

    sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "more": unknown, "data": before}
    patched = apply_json_patch(sent, patch_of(answer_admission(change, asked(sent))))
    assert isinstance(patched, dict)
    assert patched.get("data", {}) == after
    assert {**patched, "data": {}} == {**sent, "data": {}}
