"""Tokens of service accounts: issued on request, good for a while, and only while the account is the same."""

import base64
import json
import time

import pytest

from attractor.embedded import EmbeddedCluster
from attractor.httpd.accounttokens import ISSUER, AccountTokens
from attractor.objects.jsontypes import JsonObject
from attractor.store.memory import MemoryStore
from tests.httpd.api import CONFIGMAPS, HttpApi

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def request(**spec: object) -> dict[str, object]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


async def token_of(api: HttpApi, name: str, **spec: object) -> str:
    await api.call("POST", ACCOUNTS, {"metadata": {"name": name}})
    answer = await api.call("POST", f"{ACCOUNTS}/{name}/token", request(**spec))
    assert answer.code == 201, answer.json
    token: str = answer.json["status"]["token"]
    return token


async def test_a_token_speaks_for_its_account_until_the_account_is_another(api: HttpApi) -> None:
    robot = HttpApi(api.port, await token_of(api, "robot"))
    who = (await robot.call("POST", WHOAMI, REVIEW)).json["status"]["userInfo"]
    assert who["username"] == "system:serviceaccount:default:robot"
    assert who["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert (await robot.get(CONFIGMAPS)).code == 403
    await api.call("DELETE", f"{ACCOUNTS}/robot")
    assert (await robot.get(CONFIGMAPS)).code == 401
    await api.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    assert (await robot.get(CONFIGMAPS)).code == 401


async def test_a_token_for_others_is_not_good_here(api: HttpApi) -> None:
    robot = HttpApi(api.port, await token_of(api, "robot", audiences=["vault"]))
    assert (await robot.get(CONFIGMAPS)).code == 401


async def test_a_forged_token_is_refused(api: HttpApi) -> None:
    token = await token_of(api, "robot")
    header, payload, signature = token.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    for forged in (
        f"{none}.{payload}.",
        f"{header}.{payload}.",
        f"{header}.{payload}x.{signature}",
        f"..{signature}",
        "a.b.c",
        "..",
    ):
        assert (await HttpApi(api.port, forged).get(CONFIGMAPS)).code == 401


async def test_a_request_for_too_short_a_token_or_for_nobody_is_refused(api: HttpApi) -> None:
    await api.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    refused = await api.call("POST", f"{ACCOUNTS}/robot/token", request(expirationSeconds=60))
    assert refused.json["message"] == (
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: '
        "may not specify a duration less than 10 minutes"
    )
    assert (await api.call("POST", f"{ACCOUNTS}/nobody/token", request())).code == 404
    for spec in ({"audiences": "x"}, {"audiences": [1]}, {"expirationSeconds": "1"}):
        assert (await api.call("POST", f"{ACCOUNTS}/robot/token", request(**spec))).code == 400
    reader = HttpApi(api.port, "reader-token")
    assert (await reader.call("POST", f"{ACCOUNTS}/robot/token", request())).code == 403


@pytest.mark.parametrize(("after_s", "counts"), [(0, True), (599, True), (600, False), (-1, False)])
def test_a_token_counts_from_its_issue_to_its_expiry(after_s: int, counts: bool) -> None:
    account: JsonObject = {"metadata": {"name": "robot", "namespace": "a", "uid": "u"}}
    store = MemoryStore()
    store.commit_nowait({}, puts={"core/serviceaccounts/a/robot": json.dumps(account).encode()})
    tokens = AccountTokens(b"k" * 32)
    token = tokens.issue(account, [ISSUER], 600, 1000).encode()
    assert (tokens.user_of(token, store.snapshot_nowait(), 1000 + after_s) is not None) is counts
    assert AccountTokens(b"o" * 32).user_of(token, store.snapshot_nowait(), 1000) is None


async def test_servers_with_the_same_key_believe_each_others_tokens() -> None:
    store = MemoryStore()
    account: JsonObject = {"metadata": {"name": "robot", "namespace": "default", "uid": "u"}}
    await store.commit({}, puts={"core/serviceaccounts/default/robot": json.dumps(account).encode()})
    token = AccountTokens(b"k" * 32).issue(account, [ISSUER], 600, int(time.time())).encode()
    async with EmbeddedCluster(store, controllers=(), account_key=b"k" * 32) as cluster:
        user = cluster.authenticator.user_of(token)
        assert user is not None
        assert user.name == "system:serviceaccount:default:robot"
