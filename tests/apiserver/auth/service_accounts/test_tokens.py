"""Tokens of service accounts: issued, used, and no longer good."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from attractor.apiserver.auth.service_accounts.token_keys import ISSUER, STORE_KEY, TokenKey
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.deterministic import CountingSource
from tests.httpd.api import HttpApi

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Accounts(HttpApi):
    """An administrator who hands out tokens."""

    source: CountingSource

    async def token_for(self, name: str = "robot", **spec: Any) -> str:
        answer = await self.request_token(name, **spec)
        assert answer.code == 201, answer.json
        return str(answer.json["status"]["token"])

    async def request_token(self, name: str = "robot", **spec: Any) -> Any:
        return await self.call("POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})

    async def who(self, token: str) -> Any:
        """Who the server thinks the owner of a token is; None when it does not know it."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await HttpApi(self.port, token).call("POST", SELF, body)
        return answer.json["status"]["userInfo"] if answer.code == 201 else None

    async def review(self, token: str, *audiences: str) -> Any:
        answer = await self.call("POST", REVIEWS, {"spec": {"token": token, "audiences": list(audiences)}})
        return answer.json["status"]


@pytest.fixture
async def api() -> AsyncIterator[Accounts]:
    source = CountingSource()
    authenticator = Authenticator({"admin-token": ADMIN})
    async with EmbeddedCluster(controllers=(), authenticator=authenticator, source=source) as cluster:
        made = Accounts((await cluster.listen()).port)
        made.source = source
        assert (await made.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})).code == 201
        yield made


def parts(token: str) -> list[dict[str, Any]]:
    decoded = [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")[:2]]
    return [json.loads(part) for part in decoded]


async def test_a_token_makes_its_bearer_the_service_account(api: Accounts) -> None:
    account = (await api.get(f"{ACCOUNTS}/robot")).json
    user = await api.who(await api.token_for())
    assert user["username"] == "system:serviceaccount:default:robot"
    assert user["uid"] == account["metadata"]["uid"]
    assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert user["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


async def test_the_answer_says_what_was_issued_and_until_when(api: Accounts) -> None:
    answer = (await api.request_token(expirationSeconds=900)).json
    assert (answer["kind"], answer["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
    assert answer["spec"] == {"audiences": [ISSUER], "expirationSeconds": 900, "boundObjectRef": None}
    assert answer["status"]["expirationTimestamp"] == "2026-11-01T00:15:00Z"
    head, claims = parts(answer["status"]["token"])
    assert head["alg"] == "ES256"
    assert claims["exp"] - claims["iat"] == 900
    assert (claims["iss"], claims["aud"], claims["sub"]) == (ISSUER, [ISSUER], "system:serviceaccount:default:robot")


async def test_a_token_is_good_until_it_expires(api: Accounts) -> None:
    token = await api.token_for(expirationSeconds=600)
    api.source.advance(599)
    assert await api.who(token)
    api.source.advance(1)
    assert await api.who(token) is None


async def test_a_token_ends_with_its_service_account_even_if_another_takes_the_name(api: Accounts) -> None:
    token = await api.token_for()
    await api.call("DELETE", f"{ACCOUNTS}/robot")
    assert await api.who(token) is None
    await api.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    assert await api.who(token) is None
    assert await api.who(await api.token_for())


async def test_a_token_for_others_is_good_there_and_not_here(api: Accounts) -> None:
    token = await api.token_for(audiences=["vault", "spare"])
    assert await api.who(token) is None
    assert (await api.review(token))["error"] == "invalid bearer token"
    good = await api.review(token, "vault", "elsewhere")
    assert (good["authenticated"], good["audiences"]) == (True, ["vault"])
    assert good["user"]["username"] == "system:serviceaccount:default:robot"


async def test_a_token_review_knows_tokens_for_this_server(api: Accounts) -> None:
    good = await api.review(await api.token_for())
    assert (good["authenticated"], good["audiences"]) == (True, [ISSUER])
    assert not (await api.review("nonsense")).get("authenticated")


async def test_a_bound_token_ends_with_its_pod(api: Accounts) -> None:
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    pod = (await api.call("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})).json
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    token = await api.token_for(boundObjectRef=ref)
    user = await api.who(token)
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["p"]
    assert user["extra"]["authentication.kubernetes.io/pod-uid"] == [pod["metadata"]["uid"]]
    await api.call("DELETE", f"{PODS}/p")
    assert await api.who(token) is None


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 2**32 + 1}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"boundObjectRef": {"kind": "Pod", "name": "none"}}, 404, 'pods "none" not found'),
        ({"boundObjectRef": {"kind": "ConfigMap", "name": "x"}}, 400, "to object of type /, Kind=ConfigMap"),
        ({"boundObjectRef": {"kind": "Secret", "name": "s", "uid": "other"}}, 409, "does not match the UID in record"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(
    api: Accounts, spec: dict[str, Any], code: int, message: str
) -> None:
    await api.call("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})
    answer = await api.request_token(**spec)
    assert (answer.code, message in answer.json["message"]) == (code, True)


async def test_a_token_cannot_be_bound_to_a_pod_of_another_account(api: Accounts) -> None:
    spec = {"serviceAccountName": "other", "containers": [{"name": "c", "image": "i"}]}
    await api.call("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    answer = await api.request_token(boundObjectRef={"kind": "Pod", "name": "p"})
    assert answer.code == 400
    assert answer.json["message"] == (
        'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name "other"'
    )


async def test_there_are_no_tokens_for_accounts_that_do_not_exist(api: Accounts) -> None:
    answer = await api.request_token("nobody")
    assert (answer.code, answer.json["message"]) == (404, 'serviceaccounts "nobody" not found')


async def test_a_token_that_was_tampered_with_is_not_known(api: Accounts) -> None:
    head, claims, signature = (await api.token_for()).split(".")
    changed = json.loads(base64.urlsafe_b64decode(claims + "=="))
    changed["sub"] = "system:serviceaccount:kube-system:admin"
    forged = base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("=")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    for token in (f"{head}.{forged}.{signature}", f"{unsigned}.{claims}.", f"{head}.{claims}.", f"{head}.{claims}"):
        assert await api.who(token) is None


async def test_others_can_check_tokens_with_the_published_key(api: Accounts) -> None:
    token = await api.token_for()
    robot = HttpApi(api.port, token)
    configuration = (await robot.get("/.well-known/openid-configuration")).json
    assert configuration["issuer"] == ISSUER
    assert configuration["jwks_uri"].endswith("/openid/v1/jwks")
    answer = await robot.get("/openid/v1/jwks")
    assert answer.headers["content-type"] == "application/jwk-set+json"
    (key,) = answer.json["keys"]
    assert key["kid"] == parts(token)[0]["kid"]

    def number(text: str) -> int:
        return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big")

    public = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1()).public_key()
    signed, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))


async def test_rbac_speaks_of_service_accounts(api: Accounts) -> None:
    robot = HttpApi(api.port, await api.token_for())
    refused = await robot.get(PODS)
    assert refused.code == 403
    assert 'User "system:serviceaccount:default:robot" cannot list resource "pods"' in refused.json["message"]
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]
    await api.call("POST", f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": rules})
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot"}],
    }
    assert (await api.call("POST", f"{rbac}/rolebindings", binding)).code == 201
    assert (await robot.get(PODS)).code == 200


async def test_the_key_survives_a_restart_and_is_not_in_the_api(tmp_path: Any) -> None:
    where = f"sqlite:{tmp_path}/cluster.db"
    authenticator = Authenticator({"admin-token": ADMIN})
    async with EmbeddedCluster(where, controllers=(), authenticator=authenticator) as cluster:
        first = Accounts((await cluster.listen()).port)
        await first.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        token = await first.token_for()
    async with EmbeddedCluster(where, controllers=(), authenticator=authenticator) as cluster:
        again = Accounts((await cluster.listen()).port)
        assert await again.who(token)
        assert (await again.get("/apis/internal/v1/tokenkeys")).code == 404
    assert authenticator.others == []


def spellings(part: str) -> set[str]:
    """Other texts that a careless reader takes for the same bytes."""
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spare = {part[:-1] + letter for letter in last} if len(part) % 4 else set()
    same = {one for one in spare if _bytes(one) == _bytes(part)}
    standard = part.replace("-", "+").replace("_", "/")
    padded = part + "=" * (-len(part) % 4)
    broken = {part[:4] + separator + part[4:] for separator in (" ", "\n", "!", "=")}
    return ({standard, padded, *broken} | same) - {part}


def _bytes(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


async def test_a_token_has_one_spelling(api: Accounts) -> None:
    """Whoever logs, revokes or compares tokens by their text must not be fooled by another one."""
    found = 0
    for _ in range(4):  # each has other letters
        token = await api.token_for()
        assert await api.who(token)
        for place, part in enumerate(token.split(".")):
            for other in spellings(part):
                changed = token.split(".")
                changed[place] = other
                found += 1
                assert not (await api.review(".".join(changed))).get("authenticated"), (part, other)
    assert found > 20


async def test_a_token_of_the_issuers_former_name_is_still_good(tmp_path: Path) -> None:
    """Until 544e649 the issuer was called after the cluster's domain; the key is the same, and so are its promises."""
    former = "https://kubernetes.default.svc.cluster.local"
    source = CountingSource()
    given = Authenticator({"admin-token": ADMIN})
    async with EmbeddedCluster(f"sqlite:{tmp_path}/db", controllers=(), authenticator=given, source=source) as cluster:
        api = Accounts((await cluster.listen()).port)
        assert (await api.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})).code == 201
        claims = parts(await api.token_for())[1]
        entry = cluster.server.store.snapshot_nowait().get(STORE_KEY)
        assert entry is not None
        key = TokenKey(entry.value)
        old = key.sign({**claims, "iss": former, "aud": [former]})
        who = await api.who(old)
        assert who is not None
        assert who["username"] == claims["sub"]
        assert (await api.review(old))["audiences"] == [ISSUER]
        for wrong in ({"iss": former, "aud": ["elsewhere"]}, {"iss": f"{former}x"}, {"iss": former, "exp": 1}):
            assert await api.who(key.sign({**claims, **wrong})) is None
