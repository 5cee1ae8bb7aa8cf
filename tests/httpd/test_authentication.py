"""Who is asking: tokens, certificates, nobody."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import (
    ANONYMOUS,
    Authenticator,
    TokenFileError,
    certificate_user,
    parse_token_file,
)
from attractor.httpd.auth.certificates import ensure_certificates, issue_client_certificate
from attractor.httpd.tls import server_context
from attractor.objects.json_types import JsonObject
from tests.httpd.api import CONFIGMAPS, HttpApi
from tests.httpd.wire import connected

WHOAMI_403 = 'User "{}" cannot list resource "configmaps" in API group "" in the namespace "default"'


async def test_a_request_without_credentials_is_anonymous_and_refused(api: HttpApi) -> None:
    answer = await HttpApi(api.port, token="").get(CONFIGMAPS)
    assert answer.code == 403
    assert answer.json["message"] == "configmaps is forbidden: " + WHOAMI_403.format("system:anonymous")


@pytest.mark.parametrize("token", ["wrong", "admin-toke", "admin-tokenn", "ADMIN-TOKEN", "\xe4"])
async def test_a_token_that_is_not_known_is_refused(api: HttpApi, token: str) -> None:
    answer = await HttpApi(api.port, token=token).get(CONFIGMAPS)
    expected: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    assert (answer.code, answer.json) == (401, expected)


async def test_the_word_bearer_may_be_written_in_any_case(api: HttpApi) -> None:
    answer = await HttpApi(api.port, token="").get(CONFIGMAPS, Authorization="bEaReR admin-token")
    assert answer.code == 200


async def test_another_kind_of_credentials_is_as_good_as_none(api: HttpApi) -> None:
    answer = await HttpApi(api.port, token="").get(CONFIGMAPS, Authorization="Basic YWRtaW46eA==")
    assert answer.code == 403


async def test_anonymous_may_ask_for_health_but_not_for_metrics(api: HttpApi) -> None:
    nobody = HttpApi(api.port, token="")
    assert (await nobody.get("/healthz")).body == b"ok"
    assert (await nobody.get("/version")).code == 200
    answer = await nobody.get("/metrics")
    assert answer.json["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'


async def test_anonymous_read_lets_anybody_read_and_nobody_write() -> None:
    async with EmbeddedCluster(controllers=(), anonymous_read=True) as cluster:
        nobody = HttpApi((await cluster.listen()).port, token="")
        assert (await nobody.get(CONFIGMAPS)).code == 200
        assert (await nobody.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}})).code == 403


def test_a_token_file_has_tokens_users_uids_and_groups() -> None:
    users = parse_token_file('# people\nt1,jane,u1,"dev, ops"\n\nt2,joe,u2\nt3,"a,b",u3,one\n')
    assert users["t1"].groups == ("dev", "ops", "system:authenticated")
    assert (users["t2"].name, users["t2"].uid, users["t2"].groups) == ("joe", "u2", ("system:authenticated",))
    assert (users["t3"].name, users["t3"].groups) == ("a,b", ("one", "system:authenticated"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,b", "line 1 has 2 columns"),
        (",b,c", "line 1 has an empty token"),
        ("a,b,c\na,d,e", "line 2 repeats"),
        ('#\na,b,c,"g\nd,e,f,"system:masters"', "line 2 has a quote that is not closed"),
    ],
)
def test_a_token_file_with_a_mistake_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(TokenFileError, match=complaint):
        parse_token_file(text)


def test_no_token_is_kept_in_the_clear() -> None:
    authenticator = Authenticator({"sesame": ANONYMOUS})
    assert "sesame" not in repr(vars(authenticator))


def test_a_certificate_without_a_common_name_is_nobodys() -> None:
    assert certificate_user({"subject": ((("organizationName", "dev"),),)}) is None


async def test_a_client_certificate_names_its_user_and_groups(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path / "ours", ["localhost", "127.0.0.1"])
    async with EmbeddedCluster(controllers=()) as cluster:
        port = (await cluster.listen(tls=server_context(files.cert, files.key, files.ca))).port
        for user, groups, code in (("root", ["system:masters"], 200), ("jane", ["dev"], 403)):
            cert, key = issue_client_certificate(tmp_path / "ours", user, groups, timedelta(hours=1))
            (tmp_path / "both.pem").write_bytes(cert + key)
            context = ssl.create_default_context(cafile=str(files.ca))
            context.load_cert_chain(tmp_path / "both.pem")
            async with connected(port, context, server_hostname="localhost") as wire:
                wire.request("GET", CONFIGMAPS)
                answer = await wire.answer()
                assert answer.code == code
                assert code == 200 or answer.json["message"].endswith(WHOAMI_403.format(user))


async def test_a_client_certificate_of_another_authority_is_no_entry(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path / "ours", ["localhost"])
    theirs = ensure_certificates(tmp_path / "theirs", ["localhost"])
    cert, key = issue_client_certificate(tmp_path / "theirs", "root", ["system:masters"], timedelta(hours=1))
    (tmp_path / "both.pem").write_bytes(cert + key)
    assert theirs.ca != files.ca
    async with EmbeddedCluster(controllers=()) as cluster:
        port = (await cluster.listen(tls=server_context(files.cert, files.key, files.ca))).port
        context = ssl.create_default_context(cafile=str(files.ca))
        context.load_cert_chain(tmp_path / "both.pem")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await first_bytes(port, context)


async def first_bytes(port: int, context: ssl.SSLContext) -> bytes:
    """What the server says; nothing at all is an error too."""
    async with connected(port, context, server_hostname="localhost") as wire:
        wire.request("GET", CONFIGMAPS)
        said = await wire.line()
        if not said:
            raise ConnectionError("closed without an answer")
        return said
