"""Numbers that no number can hold, wherever a request has room for one: in fields, queries, pointers, rules, tokens.

Python refuses to read more than 4,300 digits, and what reads a number without asking first answers 500.
"""

from __future__ import annotations

import base64
import copy
import json
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.fuzz import attacks
from tests.fuzz.answers import CRD, CRDS, KINDS
from tests.fuzz.attacks import JSON, NAMESPACE, YAML, Attack, named
from tests.fuzz.refusals import is_internal
from tests.fuzz.routed import answered, http, new_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY = 5_000
"""More digits than Python reads."""
BARE = [
    "9" * MANY, "-" + "9" * MANY, "1e" + "9" * 30, "1." + "0" * MANY, str(2**63), str(2**64), str(-(2**63) - 1), "-0", "1e400",
    "1e18", "0." + "0" * MANY + "1",
]  # fmt: skip
"""As JSON has them."""
TEXTS = [*BARE, "0x" + "f" * MANY, "0b" + "1" * MANY, "0o" + "7" * MANY, "0" * MANY + "1", "9" * MANY + "Gi", "9" * MANY + "h",
         "v1", "+1", "1_000", "٣", "²", "²" * 3, "1" * MANY + "%", "0-" + "9" * MANY, "9" * MANY + "/5"]  # fmt: skip
METADATA = {
    "resourceVersion": "1", "generation": 1, "deletionGracePeriodSeconds": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"a": "b"}, "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
}  # fmt: skip
QUERIES = [
    "limit", "resourceVersion", "timeoutSeconds", "timeout", "continue", "gracePeriodSeconds", "sinceSeconds", "tailLines",
    "limitBytes", "sinceTime", "fieldSelector", "labelSelector", "dryRun", "pretty", "force", "watch", "fieldManager",
]  # fmt: skip


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path


def with_leaf(obj: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(obj)
    here = changed
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return changed


def samples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects with every number that they may have, and where they are created."""
    more = {
        "pods": {"spec": {"priority": 1, "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"port": 80, "path": "/"}, "periodSeconds": 1}}],
            "tolerations": [{"key": "a", "operator": "Gt", "value": "1", "effect": "NoExecute", "tolerationSeconds": 1}]}},
        "deployments": {"spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}},
    }  # fmt: skip
    for api, resource, kind, fields in KINDS:
        obj = named(
            kind, "v1" if api == "/api/v1" else api.removeprefix("/apis/"), **{**fields, **more.get(resource, {})}
        )
        obj["metadata"] |= METADATA
        yield f"{api}/namespaces/default/{resource}", obj
    schedule = {"schedule": "1 1 1 1 1", "jobTemplate": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}  # fmt: skip
    yield "/apis/batch/v1/namespaces/default/cronjobs", named("CronJob", "batch/v1", spec=schedule)
    succeeded = {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]}
    job = {"completionMode": "Indexed", "completions": 5, "parallelism": 1, "successPolicy": succeeded,
           "template": schedule["jobTemplate"]["spec"]["template"]}  # type: ignore[index]  # fmt: skip
    yield "/apis/batch/v1/namespaces/default/jobs", named("Job", "batch/v1", spec=job)


def in_fields(path: str, obj: dict[str, Any]) -> Iterator[Attack]:
    for where in leaves(obj):
        if where in {("kind",), ("apiVersion",), ("metadata", "name")}:
            continue
        marked = json.dumps(with_leaf(obj, where, "@@"))
        for number in TEXTS:
            yield Attack("POST", f"{path}?dryRun=All", JSON, marked.replace("@@", number).encode())
        for number in BARE:
            bare = marked.replace('"@@"', number)
            yield Attack("POST", f"{path}?dryRun=All", JSON, bare.encode())
            yield Attack("POST", f"{path}?dryRun=All", YAML, bare.encode())
    for number in ("0x" + "f" * MANY, "0x" + "f" * 17, "0b" + "1" * 70, "0o" + "7" * 30, "0X1F", "1_0"):
        yield Attack(
            "POST", f"{path}?dryRun=All", YAML, json.dumps({**obj, "spec": "@@"}).replace('"@@"', number).encode()
        )


def elsewhere() -> Iterator[Attack]:
    things = "/apis/e.com/v1/namespaces/default/things"
    for number in TEXTS:
        for name in QUERIES:
            for path in (f"{NAMESPACE}/configmaps", f"{NAMESPACE}/configmaps/x", f"{NAMESPACE}/pods/x/log", things):
                for method in ("GET", "DELETE"):
                    yield Attack(method, f"{path}?{name}={quote(number)}")
        for selector in (f"a>{number}", f"a<{number}", f"a in ({number})"):
            yield Attack("GET", f"{NAMESPACE}/configmaps?labelSelector={quote(selector)}")
        token = base64.urlsafe_b64encode(json.dumps({"v": "meta.k8s.io/v1", "rv": "@@", "start": "a"}).encode())
        yield Attack("GET", f"{NAMESPACE}/configmaps?limit=1&continue={token.decode().rstrip('=')}")
        for op in ("add", "remove", "replace", "test", "copy", "move"):
            operation = {
                "op": op,
                "path": f"/metadata/finalizers/{number}",
                "from": f"/metadata/finalizers/{number}",
                "value": 1,
            }
            yield Attack("PATCH", f"{NAMESPACE}/configmaps/x", attacks.JSON_PATCH, attacks.text([operation]))
        rules = [f"self.n > {number}", f"int('{number}') > 1", f"uint('{number}') > 1u", f"double('{number}') > 1.0",
                 f"duration('{number}s') > duration('1s')", f"quantity('{number}').isInteger()", f"'%{number}d'.format([1]) == ''",
                 f"self.l[{number}].v == 1", f"timestamp('{number}') == timestamp('1')", f"semver('{number}.0.0').major() == 1"]  # fmt: skip
        for rule in rules:
            crd = copy.deepcopy(CRD)
            spec: Any = crd["spec"]
            spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [
                {"rule": rule}
            ]
            yield Attack("POST", f"{CRDS}?dryRun=All", JSON, attacks.text(crd))
        yield Attack("GET", f"/api/v1/namespaces/default/services/x:{number}/proxy")
    for number in BARE:
        raw = ('{"v":"meta.k8s.io/v1","rv":' + number + ',"start":"a"}').encode()
        yield Attack(
            "GET", f"{NAMESPACE}/configmaps?limit=1&continue={base64.urlsafe_b64encode(raw).decode().rstrip('=')}"
        )
        for key in ("maximum", "minLength", "maxItems", "multipleOf", "default"):
            body = json.dumps(CRD).replace(
                '"n": {"type": "integer"', '"n": {"type": "integer", "' + key + '": ' + number
            )
            yield Attack("POST", f"{CRDS}?dryRun=All", JSON, body.encode())


@pytest.mark.slow
@pytest.mark.parametrize(("path", "obj"), list(samples()), ids=lambda value: str(value).rpartition("/")[2][:20])
async def test_a_number_in_any_field_is_read_or_refused(path: str, obj: dict[str, Any]) -> None:
    await try_all([Attack("POST", CRDS, JSON, attacks.text(CRD)), *in_fields(path, obj)])


@pytest.mark.slow
async def test_a_number_anywhere_else_is_read_or_refused() -> None:
    prepared = [
        Attack("POST", CRDS, JSON, attacks.text(CRD)),
        Attack("POST", f"{NAMESPACE}/configmaps", JSON, attacks.text({**attacks.config_map(a="b"), "metadata": {"name": "x", "finalizers": ["e.com/f"]}})),
        Attack("POST", f"{NAMESPACE}/pods", JSON, attacks.text(attacks.pod())),
    ]  # fmt: skip
    await try_all([*prepared, *elsewhere()])


async def try_all(tried: list[Attack]) -> None:
    internal = []
    async with new_cluster() as cluster:
        for attack in tried:
            if "watch=" in attack.path:
                continue
            try:
                reply = await answered(cluster, http(attack))
            except Exception as error:  # the listener makes 500 of it
                internal.append((attack.method, attack.path[:120], attack.body[:60], _place(error)))
                continue
            if is_internal(reply.code, reply.body):
                internal.append((attack.method, attack.path[:120], attack.body[:60], str(reply.body[-200:])))
    places = {one[3]: one for one in internal}
    assert places == {}, f"{len(internal)} of {len(tried)} are internal errors"


def _place(error: Exception) -> str:
    """Where an error came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error} in {last.filename}:{last.lineno}"


async def test_an_object_is_created_whatever_version_it_says_that_is_none() -> None:
    """kube-apiserver reads a version that is no number as none, where nothing is compared with it."""
    async with new_cluster() as cluster:
        obj = attacks.config_map(a="b")
        obj["metadata"]["resourceVersion"] = "v1"
        reply = await answered(cluster, http(attacks.created(f"{NAMESPACE}/configmaps", obj)))
        assert reply.code == 201, reply.body
