"""Small things by which clients tell this server from kube-apiserver, or cannot."""

import pytest

from attractor.apiserver.admission.chain import CHAIN_NAMES, chain_with
from attractor.apiserver.admission.webhooks.plugins import MutatingWebhooks, ValidatingWebhooks
from attractor.apiserver.auth.authorizer import AlwaysAllow, AlwaysDeny
from attractor.cli.commands.access_flags import admission_plugins, authorizer_of, without_admission
from attractor.cli.commands.serve import ServeError
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.store.memory import MemoryStore
from tests.httpd.api import CONFIGMAPS, HttpApi
from tests.httpd.conftest import TOKENS

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
}


@pytest.mark.parametrize(
    "path",
    [CONFIGMAPS, f"{CONFIGMAPS}/missing", "/api", "/apis", "/api/v1", "/apis/apps", "/api/v1/namespaces/default"],
)
@pytest.mark.parametrize("accept", ["application/json", TABLE, "application/yaml"])
async def test_bodies_end_with_a_line(api: HttpApi, path: str, accept: str) -> None:
    answer = await api.get(path, Accept=accept)
    assert answer.body.endswith(b"\n")
    assert not answer.body.endswith(b"\n\n")


async def test_what_is_written_is_answered_with_a_line_and_refusals_too(api: HttpApi) -> None:
    made = await api.create("a")
    assert made.body.endswith(b"}\n")
    refused = await HttpApi(api.port, "reader-token").get("/api/v1/secrets")
    assert (refused.code, refused.body[-2:]) == (403, b"}\n")


async def test_a_table_of_a_review_is_not_acceptable(api: HttpApi) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    refused = await api.call("POST", path, REVIEW, Accept=TABLE)
    assert (refused.code, refused.json["reason"]) == (406, "NotAcceptable")
    either = await api.call("POST", path, REVIEW, Accept=f"{TABLE},application/json")
    assert (either.code, either.json["kind"]) == (201, "SelfSubjectAccessReview")


async def test_a_server_that_allows_everything_asks_no_roles() -> None:
    async with EmbeddedCluster(
        controllers=(), authenticator=Authenticator(TOKENS), authorizer=authorizer_of("RBAC,AlwaysAllow")
    ) as cluster:
        reader = HttpApi((await cluster.listen()).port, "reader-token")
        assert (await reader.create("a")).code == 201


def test_authorization_modes_are_those_of_kube_apiserver_that_there_are() -> None:
    assert authorizer_of("RBAC") is None
    assert isinstance(authorizer_of("AlwaysAllow"), AlwaysAllow)
    assert isinstance(authorizer_of("AlwaysDeny"), AlwaysDeny)
    with pytest.raises(ServeError, match="there is no mode Webhook"):
        authorizer_of("Webhook")


def test_webhooks_can_be_switched_off_like_any_other_admission() -> None:
    disabled = "MutatingAdmissionWebhook, ValidatingAdmissionWebhook"
    assert without_admission(disabled) == ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    assert "ServiceAccount" in admission_plugins(disabled)
    kept = chain_with((), without=without_admission(disabled))
    assert not any(isinstance(one, (MutatingWebhooks, ValidatingWebhooks)) for one in kept)
    assert len(chain_with(())) - len(chain_with((), without=CHAIN_NAMES)) == len(CHAIN_NAMES)
    with pytest.raises(ServeError, match="there is no admission plug-in Nonsense"):
        admission_plugins("Nonsense")


async def test_the_authority_of_client_certificates_is_published_and_kept_up_to_date() -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    store = MemoryStore()
    said = []
    for authority in ("first", "second", ""):
        fork = store.fork()
        cluster = EmbeddedCluster(
            fork, controllers=(), admission_plugins=("ServiceAccount",), client_ca=authority,
            authenticator=Authenticator(TOKENS),
        )  # fmt: skip
        async with cluster:
            answer = await HttpApi((await cluster.listen()).port).get(path)
            said.append((answer.code, answer.json.get("data")))
            store = fork.fork()
    assert said == [(200, {"client-ca-file": "first"}), (200, {"client-ca-file": "second"}), (200, None)]
