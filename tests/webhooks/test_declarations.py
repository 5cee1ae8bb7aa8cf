"""Declarations of webhooks: what they become, and what is refused with a hint when a module is imported."""

from typing import Any

import pytest

from attractor import AdmissionRequest, mutate, validate
from attractor.k8s import ConfigMap, Pod
from attractor.webhooks import WebhookError, WebhookSet
from attractor.webhooks.registration import in_process
from tests.webhooks.services import WebService, fits, service, sized


def judge(obj: Any, request: Any) -> None:
    """Allows everything."""


def test_a_declared_webhook_is_called_like_its_function() -> None:
    request: AdmissionRequest[WebService] = AdmissionRequest(operation="UPDATE", old=service(tier="large"))
    fits(service(replicas=11), request)
    assert request.refusals == [("spec.tier", "cannot be changed"), ("spec.replicas", "10 at most")]
    assert request.warnings == ["more than 5 replicas are untested"]


def test_webhooks_that_change_and_those_that_judge_have_configurations_of_their_own() -> None:
    mutating, validating = WebhookSet([sized, fits]).configurations("web", in_process)
    (hook,) = validating["webhooks"]
    assert (mutating["kind"], validating["kind"]) == ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    assert hook["name"] == "fits.webservices.web.example.org"
    assert hook["clientConfig"]["service"]["path"] == "/validate/fits"
    assert hook["rules"][0]["operations"] == ["CREATE", "UPDATE", "DELETE"]
    assert (hook["failurePolicy"], hook["sideEffects"]) == ("Fail", "None")


def test_what_a_webhook_is_asked_about_can_be_narrowed() -> None:
    narrow = validate(
        Pod, subresource="ephemeralcontainers", fails_open=True, timeout_s=3, object_labels={"a": "b"},
        namespace_labels={"team": "web"}, conditions={"not-mine": "request.userInfo.username != 'me'"},
    )(judge)  # fmt: skip
    ((hook,),) = [one["webhooks"] for one in WebhookSet([narrow]).configurations("n", in_process, spared=["ops"])]
    assert hook["rules"][0]["resources"] == ["pods/ephemeralcontainers"]
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Ignore", 3)
    assert hook["objectSelector"] == {"matchLabels": {"a": "b"}}
    spared = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["ops"]}
    assert hook["namespaceSelector"] == {"matchLabels": {"team": "web"}, "matchExpressions": [spared]}
    assert hook["matchConditions"] == [{"name": "not-mine", "expression": "request.userInfo.username != 'me'"}]


async def waits(obj: Any, request: Any) -> None:
    """Is async."""


@pytest.mark.parametrize(
    ("declare", "hint"),
    [
        (lambda: validate(ConfigMap, name="My Rule")(judge), "no DNS label"),
        (lambda: validate("ConfigMap")(judge), "needs the class of a kind"),  # type: ignore[arg-type]
        (lambda: validate(ConfigMap, on=("DESTROY",))(judge), "CREATE"),  # type: ignore[arg-type]
        (lambda: validate(ConfigMap, on=())(judge), "nothing"),
        (lambda: mutate(ConfigMap, on=("DELETE",))(judge), "use @validate"),
        (lambda: validate(ConfigMap, timeout_s=60)(judge), "1 to 30"),
        (lambda: validate(ConfigMap, fail_open=True)(judge), "did you mean `fails_open=`"),  # type: ignore[call-arg]
        (lambda: validate(ConfigMap)(waits), "write `def`"),  # type: ignore[arg-type]
        (lambda: validate(ConfigMap, name="one")(lambda obj: None), "an object and a request"),  # type: ignore[arg-type, misc]
        (lambda: WebhookSet([judge]), "declare it with @validate"),  # type: ignore[list-item]
        (lambda: WebhookSet([validate(ConfigMap)(judge), validate(Pod)(judge)]), "give one of them another"),
    ],
)
def test_a_mistake_in_a_declaration_is_told_with_its_fix(declare: Any, hint: str) -> None:
    with pytest.raises(WebhookError, match=hint):
        declare()
