"""Admission webhooks, called over HTTPS."""

import asyncio
from typing import Any

import pytest

from tests.apiserver.admission.conftest import AdmissionApi
from tests.apiserver.admission.webhookserver import Webhook, allow, deny, patching, webhook
from tests.apiserver.conftest import CONFIGMAPS, WIDGETS

LABEL = {"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}}


async def test_a_mutating_webhook_changes_what_is_stored(api: AdmissionApi) -> None:
    async with webhook(patching(LABEL)) as hook:
        await api.register("Mutating", hook)
        created = await api.create(CONFIGMAPS, "a", data={"x": "1"})
    assert created.metadata["labels"] == {"by": "hook"}
    assert (await api.get(f"{CONFIGMAPS}/a")).metadata["labels"] == {"by": "hook"}


async def test_a_webhook_is_told_everything_about_the_request(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        await api.register("Validating", hook)
        await api.create(f"{CONFIGMAPS}?fieldManager=me", "a", data={"x": "1"})
        await api.merge(f"{CONFIGMAPS}/a", {"data": {"x": "2"}})
        await api.delete(f"{CONFIGMAPS}/a", gracePeriodSeconds=3)
    create, update, delete = hook.requests
    assert hook.paths == ["/?timeout=10s"] * 3
    assert create["kind"] == create["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert create["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (create["operation"], create["name"], create["namespace"]) == ("CREATE", "a", "default")
    assert create["userInfo"] == {"username": "admin"}
    assert create["options"]["fieldManager"] == "me"
    assert (create["object"]["data"], create["oldObject"], create["dryRun"]) == ({"x": "1"}, None, False)
    assert create["object"]["metadata"]["uid"]
    assert (update["operation"], update["object"]["data"], update["oldObject"]["data"]) == (
        "UPDATE",
        {"x": "2"},
        {"x": "1"},
    )
    assert update["oldObject"]["metadata"]["resourceVersion"]
    assert (delete["operation"], delete["object"], delete["oldObject"]["data"]) == ("DELETE", None, {"x": "2"})
    assert delete["options"]["gracePeriodSeconds"] == 3


async def test_what_a_validating_webhook_saw_is_what_is_stored(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        await api.register("Validating", hook)
        created = await api("POST", CONFIGMAPS, {"metadata": {"generateName": "made-"}})
    (request,) = hook.requests
    seen = request["object"]["metadata"]
    assert (seen["uid"], seen["name"]) == (created.metadata["uid"], created.metadata["name"])
    assert request["name"] == created.metadata["name"]


async def test_connections_are_kept_from_call_to_call(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        await api.register("Validating", hook)
        for name in "abc":
            await api.create(CONFIGMAPS, name)
    assert (len(hook.requests), hook.connections) == (3, 1)


async def test_a_webhook_that_hangs_up_between_calls_is_called_anew(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        hook.hangs_up = True
        await api.register("Validating", hook)
        for name in "abc":
            await api.create(CONFIGMAPS, name)
    assert (len(hook.requests), hook.connections) == (3, 3)


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({"message": "too big"}, 400, None, ": too big"),
        ({"message": "", "reason": "NoReason"}, 400, "NoReason", ": NoReason"),
        ({"message": "later", "code": 429, "reason": "TooManyRequests"}, 429, "TooManyRequests", ": later"),
        ({"message": "", "code": 200}, 400, None, " without explanation"),
    ],
)
@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_a_denial_is_worded_as_kubernetes_does(
    api: AdmissionApi, kind: str, status: dict[str, Any], code: int, reason: str | None, message: str
) -> None:
    async with webhook(deny(**status)) as hook:
        await api.register(kind, hook)
        answer = await api.add(CONFIGMAPS, "a")
    assert (answer.code, answer.body.get("reason")) == (code, reason)
    assert answer.body["message"] == f'admission webhook "hook.example.org" denied the request{message}'
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_a_webhook_that_cannot_be_reached_refuses_or_admits_by_its_failure_policy(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        pass
    await api.register("Validating", hook, "closed")
    refused = await api.add(CONFIGMAPS, "a")
    assert (refused.code, refused.body["reason"]) == (500, "InternalError")
    url = f"https://127.0.0.1:{hook.port}/?timeout=10s"
    assert refused.body["message"] == (
        'Internal error occurred: failed calling webhook "closed.example.org": failed to call webhook: '
        f'Post "{url}": dial tcp 127.0.0.1:{hook.port}: connect: connection refused'
    )
    await api.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/closed")
    await api.register("Mutating", hook, "open", failurePolicy="Ignore")
    await api.create(CONFIGMAPS, "a")


async def test_a_silent_webhook_is_given_up_after_its_timeout(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        hook.is_silent = True
        await api.register("Validating", hook, timeoutSeconds=1)
        answer = await api.add(CONFIGMAPS, "a")
    assert answer.code == 500
    assert answer.body["message"].endswith('/?timeout=1s": context deadline exceeded')


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"code": 503}, "an error on the server"),
        ({"code": 404}, "the server could not find the requested resource"),
        ({"wrong_uid": True}, 'received invalid webhook response: expected response.uid="'),
        ({"respond": lambda _: {}}, "received invalid webhook response: response.allowed is not a boolean"),
        (
            {"respond": lambda _: {"allowed": True, "patch": "W10="}},
            "webhook returned response.patch but not patchType",
        ),
    ],
)
async def test_a_broken_answer_is_a_failed_call(api: AdmissionApi, broken: dict[str, Any], why: str) -> None:
    async with webhook(allow) as hook:
        vars(hook).update(broken)
        await api.register("Mutating", hook)
        answer = await api.add(CONFIGMAPS, "a")
    assert answer.code == 500
    assert why in answer.body["message"]


async def test_a_webhook_with_an_unknown_authority_is_not_trusted(api: AdmissionApi) -> None:
    async with webhook(allow) as hook:
        await api.register("Validating", hook, clientConfig={"url": f"https://127.0.0.1:{hook.port}/"})
        answer = await api.add(CONFIGMAPS, "a")
    assert "tls: failed to verify certificate: x509: " in answer.body["message"]
    assert hook.requests == []


async def test_mutating_webhooks_run_in_the_order_of_their_names_each_on_the_result_before(api: AdmissionApi) -> None:
    async with webhook(patching(LABEL)) as first, webhook(allow) as second:
        await api.register("Mutating", second, "b")
        await api.register("Mutating", first, "a")
        await api.create(CONFIGMAPS, "x")
    assert "labels" not in first.requests[0]["object"]["metadata"]
    assert second.requests[0]["object"]["metadata"]["labels"] == {"by": "hook"}


async def test_a_webhook_is_asked_again_only_if_it_wants_to_and_a_later_one_changed_something(
    api: AdmissionApi,
) -> None:
    async with webhook(allow) as again, webhook(allow) as once, webhook(patching(LABEL)) as last:
        await api.register("Mutating", again, "a", reinvocationPolicy="IfNeeded")
        await api.register("Mutating", once, "b")
        await api.register("Mutating", last, "c")
        await api.create(CONFIGMAPS, "x")
        assert [len(hook.requests) for hook in (again, once, last)] == [2, 1, 1]
        assert again.requests[1]["object"]["metadata"]["labels"] == {"by": "hook"}
        await api.delete(f"{CONFIGMAPS}/x")
    assert [len(hook.requests) for hook in (again, once, last)] == [3, 2, 2]


async def test_defaults_and_pruning_apply_to_what_a_webhook_adds(api: AdmissionApi) -> None:
    spec = {"op": "add", "path": "/spec", "value": {"size": 1, "unknown": True}}
    rule = {"operations": ["CREATE"], "apiGroups": ["example.org"], "apiVersions": ["*"], "resources": ["widgets"]}
    async with webhook(patching(spec)) as hook:
        await api.define_widgets()
        await api.register("Mutating", hook, rules=[rule])
        created = await api.create(WIDGETS, "w")
    assert created.body["spec"] == {"size": 1, "color": "red"}


async def test_a_webhook_cannot_move_an_object_to_another_namespace(api: AdmissionApi) -> None:
    move = {"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}
    async with webhook(patching(move)) as hook:
        await api.register("Mutating", hook)
        answer = await api.add(CONFIGMAPS, "a")
    assert answer.code == 400
    assert "namespace of the provided object does not match" in answer.body["message"]


async def test_a_patch_that_does_not_fit_is_an_internal_error(api: AdmissionApi) -> None:
    async with webhook(patching({"op": "remove", "path": "/data/gone"})) as hook:
        await api.register("Mutating", hook)
        answer = await api.add(CONFIGMAPS, "a")
    assert answer.code == 500
    assert 'the patch of admission webhook "hook.example.org" cannot be used' in answer.body["message"]


async def test_warnings_reach_the_caller_whether_or_not_the_request_is_refused(api: AdmissionApi) -> None:
    hook: Webhook
    async with webhook(lambda _: {"allowed": True, "warnings": ["careful"]}) as hook:
        await api.register("Validating", hook)
        assert (await api.add(CONFIGMAPS, "a")).warnings == ("careful",)
        hook.respond = lambda _: {"allowed": False, "warnings": ["told you"]}
        assert (await api.add(CONFIGMAPS, "b")).warnings == ("told you",)


async def test_a_dry_run_asks_webhooks_and_says_so(api: AdmissionApi) -> None:
    async with webhook(patching(LABEL)) as hook:
        await api.register("Mutating", hook, sideEffects="NoneOnDryRun")
        answer = await api.add(f"{CONFIGMAPS}?dryRun=All", "a")
    assert answer.metadata["labels"] == {"by": "hook"}
    assert hook.requests[0]["dryRun"] is True
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_webhook_configurations_are_never_sent_to_webhooks(api: AdmissionApi) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    async with webhook(deny()) as hook:
        await api.register("Validating", hook, rules=[everything])
        assert (await api.add(CONFIGMAPS, "a")).code == 400
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hook"
        assert (await api.delete(path)).code == 200
    await api.create(CONFIGMAPS, "a")


async def test_a_service_is_reached_at_the_address_that_is_configured_for_it(api: AdmissionApi) -> None:
    async with webhook(patching(LABEL)) as hook:
        service = {"namespace": "default", "name": "hook", "path": "/mutate"}
        client = {"service": service, "caBundle": hook.client_config()["caBundle"]}
        await api.register("Mutating", hook, clientConfig=client)
        refused = await api.add(CONFIGMAPS, "a")
        assert refused.body["message"].endswith(
            'Post "https://hook.default.svc:443/mutate?timeout=10s": service "hook" not found'
        )
        await api.create("/api/v1/namespaces/default/services", "hook", spec={"ports": [{"port": 443}]})
        unreachable = await api.add(CONFIGMAPS, "a")
        assert "has no address that this server can reach" in unreachable.body["message"]
        api.addresses.known["default", "hook"] = ("127.0.0.1", hook.port)
        created = await api.create(CONFIGMAPS, "a")
    assert created.metadata["labels"] == {"by": "hook"}
    assert hook.paths == ["/mutate?timeout=10s"]


async def test_a_write_that_others_overtake_is_admitted_again_for_what_it_has_become(api: AdmissionApi) -> None:
    """While the webhook thinks, somebody else changes the object: the webhook must rule on the newer one."""
    await api.create(CONFIGMAPS, "a", data={"x": "0"})
    async with webhook(allow) as slow:
        await api.register("Validating", slow)
        async with asyncio.TaskGroup() as group:
            group.create_task(api.merge(f"{CONFIGMAPS}/a", {"data": {"y": "1"}}))
            group.create_task(api.merge(f"{CONFIGMAPS}/a", {"data": {"z": "1"}}))
    final = await api.get(f"{CONFIGMAPS}/a")
    assert final.body["data"] == {"x": "0", "y": "1", "z": "1"}
    assert slow.requests[-1]["object"]["data"] == final.body["data"]
    assert len(slow.requests) == 3


async def test_a_change_of_scale_is_shown_as_a_scale_and_may_be_limited(api: AdmissionApi) -> None:
    await api.define_widgets()
    await api.create(WIDGETS, "w", spec={"size": 1})
    rule = {"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/scale"]}
    async with webhook(patching({"op": "replace", "path": "/spec/replicas", "value": 3})) as hook:
        await api.register("Mutating", hook, rules=[rule])
        scaled = await api.merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": 9}})
    (request,) = hook.requests
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (request["resource"]["resource"], request["subResource"]) == ("widgets", "scale")
    assert (request["object"]["spec"], request["oldObject"]["spec"]) == ({"replicas": 9}, {"replicas": 1})
    assert scaled.body["spec"] == {"replicas": 3}
    assert (await api.get(f"{WIDGETS}/w")).body["spec"]["size"] == 3


CONNECTING = {"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*", "nodes/*"]}
PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize(
    ("path", "method", "told"),
    [
        (
            f"{PODS}/p/exec?command=ls&command=-l&stdout=true&stdin=0&container=c",
            "POST",
            {"kind": "PodExecOptions", "apiVersion": "v1", "stdout": True, "container": "c", "command": ["ls", "-l"]},
        ),
        (f"{PODS}/p/attach?stdin=true", "GET", {"kind": "PodAttachOptions", "apiVersion": "v1", "stdin": True}),
        (
            f"{PODS}/p/portforward?ports=80",
            "POST",
            {"kind": "PodPortForwardOptions", "apiVersion": "v1", "ports": [80]},
        ),
        (f"{PODS}/p/proxy?path=x", "GET", {"kind": "PodProxyOptions", "apiVersion": "v1", "path": "x"}),
        ("/api/v1/nodes/n/proxy", "DELETE", {"kind": "NodeProxyOptions", "apiVersion": "v1"}),
    ],
)
async def test_a_webhook_hears_of_connections_and_may_refuse_them(
    api: AdmissionApi, path: str, method: str, told: dict[str, Any]
) -> None:
    async with webhook(deny("not here", code=403)) as hook:
        await api.register("Validating", hook, rules=[CONNECTING])
        answer = await api(method, path)
    assert (answer.code, "denied the request: not here" in answer.body["message"]) == (403, True)
    (request,) = hook.requests
    assert (request["operation"], request["object"], request["options"]) == ("CONNECT", told, None)
    assert request["kind"]["kind"] == told["kind"]
    assert request["subResource"] == path.partition("?")[0].rpartition("/")[2]


async def test_a_connection_that_a_mutating_webhook_changes_is_refused_for_want_of_a_kubelet(api: AdmissionApi) -> None:
    async with webhook(patching({"op": "add", "path": "/tty", "value": True})) as hook:
        await api.register("Mutating", hook, rules=[CONNECTING])
        answer = await api("POST", f"{PODS}/p/exec?command=ls")
    assert answer.code == 404
    assert len(hook.requests) == 1


async def test_a_policy_refuses_connections(api: AdmissionApi) -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    policy = {
        "matchConstraints": {"resourceRules": [CONNECTING]},
        "validations": [{"expression": "!has(object.tty)", "message": "no terminals"}],
    }
    await api.create(f"{group}/validatingadmissionpolicies", "p", spec=policy)
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    await api.create(f"{group}/validatingadmissionpolicybindings", "b", spec=bound)
    refused = await api("POST", f"{PODS}/p/exec?command=ls&tty=true")
    assert (refused.code, "no terminals" in refused.body["message"]) == (422, True)
    assert (await api("POST", f"{PODS}/p/exec?command=ls")).code == 404


@pytest.mark.parametrize(
    ("said", "called"), [("//path", "/path"), ("/a//b/../c/", "/a/c"), ("/", "/"), ("", "/"), ("/x", "/x")]
)
async def test_the_path_of_a_webhook_is_cleaned(api: AdmissionApi, said: str, called: str) -> None:
    async with webhook(allow) as hook:
        config = hook.client_config()
        await api.register("Validating", hook, clientConfig={**config, "url": config["url"].rstrip("/") + said})
        await api.create(CONFIGMAPS, "a")
    assert hook.paths == [f"{called}?timeout=10s"]
