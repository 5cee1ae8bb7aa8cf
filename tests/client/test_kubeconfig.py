"""kubeconfig files: what wins, what is refused, and what comes out."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from attractor.client import ConfigError, find_config, in_cluster_config, load_kubeconfig
from attractor.client.configuration.config import Impersonation
from attractor.client.configuration.credentials import CertificateFiles, ExecPlugin, Rewritten, TokenFile
from attractor.client.configuration.kubeconfig import Kubeconfig


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write(path: Path, *, user: Any = None, cluster: Any = None, context: Any = None, **top: Any) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://h:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "current-context": "x",
        **top,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def authorization(path: Path) -> str:
    return asyncio.run(load_kubeconfig(path).credentials.current()).authorization


USERS = [
    ({}, ""),
    ({"token": "t"}, "Bearer t"),
    ({"username": "jane", "password": "pw"}, f"Basic {encoded('jane:pw')}"),
    ({"token": "t", "username": "jane", "password": "pw"}, "Bearer t"),
    ({"token": "t", "tokenFile": "token"}, "Bearer from-file"),
]


@pytest.mark.parametrize(("user", "expected"), USERS)
def test_what_a_user_sends(tmp_path: Path, user: dict[str, str], expected: str) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert authorization(write(tmp_path / "config", user=user)) == expected


def test_a_cluster_says_how_to_reach_it(tmp_path: Path) -> None:
    cluster = {
        "certificate-authority-data": encoded("CA"),
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
    }
    config = load_kubeconfig(write(tmp_path / "config", cluster=cluster, context={"namespace": "team"}))
    assert (config.server, config.namespace, config.ca) == ("https://h:6443", "team", b"CA")
    assert (config.tls_server_name, config.proxy_url, config.compression) == ("kubernetes", "http://proxy:3128", False)
    assert config.verify
    insecure = load_kubeconfig(write(tmp_path / "insecure", cluster={"insecure-skip-tls-verify": True}))
    assert not insecure.verify


def test_files_are_relative_to_the_kubeconfig_and_data_goes_first(tmp_path: Path) -> None:
    write(tmp_path / "dir" / "config", cluster={"certificate-authority": "ca.pem"})
    (tmp_path / "dir" / "ca.pem").write_text("CA-FILE")
    assert load_kubeconfig(tmp_path / "dir" / "config").ca == b"CA-FILE"
    both = {"certificate-authority": "ca.pem", "certificate-authority-data": encoded("CA-DATA")}
    assert load_kubeconfig(write(tmp_path / "dir" / "both", cluster=both)).ca == b"CA-DATA"


def test_client_certificates_come_from_data_or_files(tmp_path: Path) -> None:
    data = {"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")}
    found = asyncio.run(load_kubeconfig(write(tmp_path / "data", user=data)).credentials.current()).certificate
    assert found is not None
    assert (found.certificate, found.key) == (b"CERT", b"KEY")
    assert "KEY" not in repr(found)
    (tmp_path / "cert").write_text("C1")
    (tmp_path / "key").write_text("K1")
    config = load_kubeconfig(write(tmp_path / "files", user={"client-certificate": "cert", "client-key": "key"}))
    assert isinstance(config.credentials, CertificateFiles)
    first = asyncio.run(config.credentials.current())
    (tmp_path / "cert").write_text("C2")
    assert config.credentials.rejected(first)
    second = asyncio.run(config.credentials.current()).certificate
    assert second is not None
    assert (first.certificate.certificate if first.certificate else b"", second.certificate) == (b"C1", b"C2")


def test_several_files_are_merged_and_the_first_wins_name_by_name(tmp_path: Path) -> None:
    write(tmp_path / "one", user={"token": "one"}, **{"current-context": ""})
    write(
        tmp_path / "two",
        user={"token": "two"},
        contexts=[{"name": "y", "context": {"cluster": "c", "user": "u", "namespace": "why"}}],
        **{"current-context": "y"},
    )
    environ = {"KUBECONFIG": f"{tmp_path / 'missing'}:{tmp_path / 'one'}:{tmp_path / 'two'}"}
    merged = Kubeconfig.load(environ=environ)
    assert (merged.current_context, list(merged.contexts)) == ("y", ["x", "y"])
    config = load_kubeconfig(environ=environ)
    assert config.namespace == "why"
    assert asyncio.run(config.credentials.current()).authorization == "Bearer one"
    assert load_kubeconfig(context="x", environ=environ).namespace == "default"


async def test_a_plugin_beside_a_kubeconfig_that_is_named_without_a_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    credential = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"one"}}'
    (tmp_path / "plugin").write_text(f"#!/bin/sh\necho '{credential}'\n")
    (tmp_path / "plugin").chmod(0o700)
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin"}
    write(tmp_path / "config", user={"exec": plugin})
    assert (await load_kubeconfig("config").credentials.current()).authorization == "Bearer one"


def test_impersonation(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"scopes": ["view"]}}
    config = load_kubeconfig(write(tmp_path / "config", user=user))
    assert config.impersonate == Impersonation("jane", "7", ("dev",), {"scopes": ("view",)})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"current-context": ""}, "no current-context; name one of: x"),
    ({"current-context": "", "contexts": []}, "has no contexts, so it names no cluster"),
    ({"current-context": "z"}, "no context 'z'; there are: x"),
    ({"context": {"cluster": "d"}}, "no cluster 'd'; there are: c"),
    ({"context": {"user": "v"}}, "no user 'v'; there are: u"),
    ({"cluster": {"server": ""}}, "has no server"),
    ({"user": {"as-groups": ["dev"]}}, "as-groups says more about somebody who is not named; add `as`"),
    ({"cluster": {"certificate-authority-data": "%"}}, "certificate-authority-data is not base64"),
    ({"cluster": {"certificate-authority": "nowhere"}}, "nowhere cannot be read"),
    ({"cluster": {"certificate-authority-data": "Q0E=", "insecure-skip-tls-verify": True}}, "remove one of them"),
    ({"user": {"client-certificate-data": "Q0E="}}, "client-key is missing"),
    ({"user": {"auth-provider": {"name": "gcp"}}}, "use an exec plugin"),
    ({"user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}}, "has no command"),
    ({"user": {"exec": {"command": "x", "apiVersion": "v0"}}}, "'v0' is not"),
    ({"user": {"token": 17}}, "token should be text"),
    ({"users": [{"user": {}}]}, "an entry of users has no name"),
    ({"users": [{"name": "u", "user": "jane"}]}, "user 'u' is no mapping"),
]


@pytest.mark.parametrize(("parts", "text"), WRONG)
def test_what_cannot_be_used_is_refused_with_the_file_and_the_reason(
    tmp_path: Path, parts: dict[str, Any], text: str
) -> None:
    path = write(tmp_path / "config", **parts)
    with pytest.raises(ConfigError, match=str(tmp_path)) as refused:
        load_kubeconfig(path)
    assert text in str(refused.value)


@pytest.mark.parametrize("text", ["[", "- a", "\x00"])
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(ConfigError, match="is no"):
        load_kubeconfig(tmp_path / "config")


def test_no_file_at_all_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set KUBECONFIG"):
        load_kubeconfig(environ={"HOME": str(tmp_path)})


def service_account(directory: Path) -> Path:
    directory.mkdir()
    for name, text in (("ca.crt", "CA"), ("token", "pod-token"), ("namespace", "team\n")):
        (directory / name).write_text(text)
    return directory


def test_a_pod_uses_its_service_account_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    account = service_account(tmp_path / "account")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    config = find_config(environ=environ, service_account=account)
    assert (config.server, config.namespace, config.ca) == ("https://[fd00::1]:443", "team", b"CA")
    assert isinstance(config.credentials, TokenFile)
    environ["KUBECONFIG"] = str(write(tmp_path / "config"))
    told = find_config(environ=environ, service_account=account)
    assert isinstance(told.credentials, Rewritten)
    (account / "token").unlink()
    with pytest.raises(ConfigError, match="has no token"):
        in_cluster_config(environ, account)
    with pytest.raises(ConfigError, match="not in a cluster"):
        in_cluster_config({}, account)


def test_an_exec_plugin_is_found_beside_the_file_and_told_about_the_cluster(tmp_path: Path) -> None:
    extension = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}]
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./plugin",
        "args": ["--x"],
        "env": [{"name": "N", "value": "V"}],
        "provideClusterInfo": True,
    }
    config = load_kubeconfig(write(tmp_path / "config", user={"exec": plugin}, cluster={"extensions": extension}))
    assert isinstance(config.credentials, ExecPlugin)
    asked = config.credentials._config
    assert (asked.command, asked.args, asked.env) == (str(tmp_path / "plugin"), ("--x",), {"N": "V"})
    assert asked.cluster_info == {"server": "https://h:6443", "config": {"audience": "a"}}


def test_a_rejected_token_is_read_again_from_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "config", user={"token": "first"})
    credentials = load_kubeconfig(path).credentials
    first = asyncio.run(credentials.current())
    assert not credentials.rejected(first), "the file has no other"
    write(path, user={"token": "second"})
    assert asyncio.run(credentials.current()) == first, "it was not rejected since"
    assert credentials.rejected(first)
    assert asyncio.run(credentials.current()).authorization == "Bearer second"
    path.unlink()
    assert not credentials.rejected(asyncio.run(credentials.current())), "there is nothing to read"
    assert credentials.rejected(first), "another request was on its way with the old one"


def test_a_token_for_another_server_is_not_given_to_this_one(tmp_path: Path) -> None:
    path = write(tmp_path / "config", user={"token": "first"})
    credentials = load_kubeconfig(path).credentials
    first = asyncio.run(credentials.current())
    write(path, user={"token": "second"}, cluster={"server": "https://elsewhere:6443"})
    assert not credentials.rejected(first)
    assert asyncio.run(credentials.current()) == first
