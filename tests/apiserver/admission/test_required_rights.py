"""Which rights every write needs: of each verb, on each kind, and of what a write turns out to be."""

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from attractor.apiserver.auth.authorizer import AUTHENTICATED
from attractor.apiserver.kinds.builtin.kind_facts import CREATED_BY_PUT
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.k8s import catalog
from tests.httpd.api import HttpApi

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


class Needs(NamedTuple):
    """A row of the table: a request, and the rights that Kubernetes' authorizer is asked for."""

    method: str
    suffix: str
    """What follows the collection's path."""
    rights: frozenset[str]
    """``VERB RESOURCE``; every one of them is needed."""
    content_type: str = "application/json"
    is_about_a_missing_object: bool = False


def table(resource: str, subresources: tuple[str, ...], *, put_creates: bool) -> list[Needs]:
    """What documentation of request verbs says of one resource, and the handlers of update and patch of creation."""
    rows = [
        Needs("GET", "", frozenset({f"list {resource}"})),
        Needs("GET", "?watch=1&timeoutSeconds=1", frozenset({f"watch {resource}"})),
        Needs("GET", "/x", frozenset({f"get {resource}"})),
        Needs("POST", "", frozenset({f"create {resource}"})),
        Needs("PUT", "/x", frozenset({f"update {resource}"})),
        Needs("PATCH", "/x", frozenset({f"patch {resource}"}), MERGE),
        Needs("PATCH", "/x?fieldManager=m", frozenset({f"patch {resource}"}), APPLY),
        Needs("DELETE", "/x", frozenset({f"delete {resource}"})),
        Needs("DELETE", "?dryRun=All", frozenset({f"deletecollection {resource}"})),
        Needs("PATCH", "/y?fieldManager=m", frozenset({f"patch {resource}", f"create {resource}"}), APPLY, True),
    ]
    if put_creates:
        rows.append(
            Needs("PUT", "/y", frozenset({f"update {resource}", f"create {resource}"}), "application/json", True)
        )
    for name in subresources:
        rows += [
            Needs("GET", f"/x/{name}", frozenset({f"get {resource}/{name}"})),
            Needs("PUT", f"/x/{name}", frozenset({f"update {resource}/{name}"})),
            Needs("PATCH", f"/x/{name}", frozenset({f"patch {resource}/{name}"}), MERGE),
        ]
    return rows


def named(info: Any, name: str) -> dict[str, Any]:
    """Little more than a name: whether it is valid is not asked before the rights are known."""
    return {"apiVersion": info.gvk.api_version, "kind": info.kind, "metadata": {"name": name}}


SAMPLES: dict[str, dict[str, Any]] = {
    "services": {"spec": {"ports": [{"port": 80}]}},
    "limitranges": {"spec": {"limits": []}},
    "leases": {"spec": {"holderIdentity": "a"}},
    "runtimeclasses": {"handler": "h"},
    "roles": {"rules": []},
    "clusterroles": {"rules": []},
    "endpoints": {},
    "configmaps": {"data": {"a": "b"}},
    "serviceaccounts": {},
    "resourcequotas": {"spec": {"hard": {"pods": "1"}}},
    "namespaces": {},
    "priorityclasses": {"value": 1},
}


@pytest.fixture
async def admin() -> AsyncIterator[HttpApi]:
    tokens = {"admin-token": ADMIN, "jane-token": User("jane", "jane", (AUTHENTICATED,))}
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(tokens)) as cluster:
        yield HttpApi((await cluster.listen()).port)


async def allow(admin: HttpApi, rights: frozenset[str], group: str) -> None:
    """Give jane exactly these rights, on everything of a group."""
    rules = [
        {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
        for verb, resource in (right.split(" ") for right in sorted(rights))
    ]
    role = {"metadata": {"name": "jane"}, "rules": rules}
    ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "jane"}
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": "jane"}]
    assert (await admin.call("PUT", f"{RBAC}/clusterroles/jane", role)).code in {200, 201}
    binding = {"metadata": {"name": "jane"}, "roleRef": ref, "subjects": subjects}
    assert (await admin.call("PUT", f"{RBAC}/clusterrolebindings/jane", binding)).code in {200, 201}


def collection(info: Any) -> str:
    base = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
    return f"{base}/namespaces/default/{info.resource}" if info.namespaced else f"{base}/{info.resource}"


KINDS = sorted(
    (
        info
        for info in catalog.resources()
        if info.resource in SAMPLES and info.version == "v1" and info.group != "events.k8s.io"
    ),
    key=lambda info: info.resource,
)


@pytest.mark.parametrize("info", KINDS, ids=lambda info: info.resource)
async def test_a_request_needs_all_the_rights_of_the_table_and_no_others(admin: HttpApi, info: Any) -> None:
    jane = HttpApi(admin.port, "jane-token")
    subresources = ("status",) if "status" in info.subresources else ()
    puts = f"{info.group}/{info.kind}" in CREATED_BY_PUT
    for row in table(info.resource, subresources, put_creates=puts):
        name = "y" if row.is_about_a_missing_object else "x"
        obj = {**named(info, name), **SAMPLES[info.resource]}
        await admin.call("DELETE", f"{collection(info)}/y", {})
        if row.method != "POST":
            await admin.call("POST", collection(info), {**named(info, "x"), **SAMPLES[info.resource]})
        body = obj if row.method not in {"GET", "DELETE"} else None
        path = collection(info) + row.suffix
        for missing in sorted(row.rights):
            await allow(admin, row.rights - {missing} | {"get nothing"}, info.group)
            refused = await jane.call(row.method, path, body, Content_Type=row.content_type)
            assert (refused.code, row) == (403, row), refused.body[:300]
            verb, resource = missing.split(" ")
            assert f'cannot {verb} resource \\"{resource}\\"'.encode() in refused.body, (row, refused.body[:300])
        await allow(admin, row.rights, info.group)
        answer = await jane.call(row.method, path, body, Content_Type=row.content_type)
        assert (answer.code != 403, row) == (True, row), answer.body[:300]


async def test_every_kind_that_put_creates_is_among_those_tried() -> None:
    tried = {f"{info.group}/{info.kind}" for info in KINDS}
    assert CREATED_BY_PUT - tried == {
        "/Event", "events.k8s.io/Event", f"{GROUP}/RoleBinding", f"{GROUP}/ClusterRoleBinding",
    }  # fmt: skip
    # Bindings need more than a verb (test_escalation), events are created like endpoints.


async def csr(admin: HttpApi, signer: str) -> str:
    """The path of a request for a certificate."""
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {
        "request": b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n").decode(),
        "signerName": signer,
        "usages": ["client auth"],
    }
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "x"},
        "spec": spec,
    }
    answer = await admin.call("POST", path, body)
    assert answer.code == 201, answer.body
    return f"{path}/x"


APPROVED = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]}}


@pytest.mark.parametrize("name", ["e.com/s", "e.com/*"])
async def test_an_approval_needs_the_right_to_approve_for_the_signer(admin: HttpApi, name: str) -> None:
    path = await csr(admin, "e.com/s")
    jane = HttpApi(admin.port, "jane-token")
    await allow(admin, frozenset({"patch certificatesigningrequests/approval"}), "certificates.k8s.io")
    refused = await jane.call("PATCH", f"{path}/approval", APPROVED, Content_Type=MERGE)
    assert (refused.code, "not permitted to approve" in refused.json["message"]) == (403, True)
    signer = {
        "verbs": ["approve"],
        "apiGroups": ["certificates.k8s.io"],
        "resources": ["signers"],
        "resourceNames": [name],
    }
    ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "approver"}
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": "jane"}]
    await admin.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "approver"}, "rules": [signer]})
    binding = {"metadata": {"name": "approver"}, "roleRef": ref, "subjects": subjects}
    assert (await admin.call("POST", f"{RBAC}/clusterrolebindings", binding)).code == 201
    assert (await jane.call("PATCH", f"{path}/approval", APPROVED, Content_Type=MERGE)).code == 200


async def test_a_certificate_is_written_only_by_who_may_sign(admin: HttpApi) -> None:
    path = await csr(admin, "e.com/s")
    jane = HttpApi(admin.port, "jane-token")
    await allow(admin, frozenset({"patch certificatesigningrequests/status"}), "certificates.k8s.io")
    failed = {"status": {"conditions": [{"type": "Failed", "status": "True", "reason": "r", "message": "m"}]}}
    refused = await jane.call("PATCH", f"{path}/status", failed, Content_Type=MERGE)
    assert (refused.code, "not permitted to sign" in refused.json["message"]) == (403, True)


async def test_a_policy_reads_only_parameters_that_its_author_may_read(admin: HttpApi) -> None:
    group, jane = "admissionregistration.k8s.io", HttpApi(admin.port, "jane-token")
    path = f"/apis/{group}/v1/validatingadmissionpolicies"
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "Secret"},
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ]
        },
        "validations": [{"expression": "params.data == null"}],
    }
    body = {"apiVersion": f"{group}/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    await allow(admin, frozenset({"create validatingadmissionpolicies"}), group)
    refused = await jane.call("POST", path, body)
    assert (refused.code, 'does not have "get" permission' in refused.json["message"]) == (403, True), refused.body
    await allow(admin, frozenset({"create validatingadmissionpolicies", "get secrets"}), "*")
    assert (await jane.call("POST", path, body)).code == 201
