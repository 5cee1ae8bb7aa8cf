"""Flags of kube-apiserver: honoured, accepted with a warning where it matters, or refused."""

import re
from pathlib import Path

import pytest

from attractor.cli.commands.serve import Settings
from attractor.cli.envtest.apiserver_flags import FlagError, help_text, translate

ENVTEST = [
    "--allow-privileged=true",
    "--authorization-mode=RBAC",
    "--bind-address=127.0.0.1",
    "--disable-admission-plugins=ServiceAccount",
    "--etcd-servers=http://127.0.0.1:41234",
    "--secure-port=43210",
    "--service-account-issuer=https://127.0.0.1:43210/",
    "--service-account-key-file=/nowhere/sa-signer.crt",
    "--service-account-signing-key-file=/nowhere/sa-signer.key",
    "--service-cluster-ip-range=10.0.0.0/24",
]
"""What controller-runtime's envtest passes, but for directories."""


def test_what_envtest_passes_is_taken_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "apiserver.crt").touch()
    made = translate([*ENVTEST, f"--cert-dir={tmp_path}", f"--client-ca-file={tmp_path}/client-cert-auth-ca.crt"])
    assert made.warnings == []
    assert made.etcd == "http://127.0.0.1:41234"
    settings = Settings.parse(made.words)
    assert (settings.host, settings.port, settings.allow_privileged) == ("127.0.0.1", 43210, True)
    assert settings.tls_cert == tmp_path / "apiserver.crt"
    assert settings.tls_key == tmp_path / "apiserver.key"
    assert settings.client_ca == tmp_path / "client-cert-auth-ca.crt"
    assert settings.state_dir == tmp_path
    assert "ServiceAccount" not in settings.admission_plugins


def test_a_directory_without_certificates_gets_some() -> None:
    assert translate(["--cert-dir=/certs"]).words == ["--state-dir", "/certs"]
    named = translate(["--cert-dir=/certs", "--tls-cert-file=a.crt", "--tls-private-key-file=a.key"]).words
    assert named == ["--tls-cert", "a.crt", "--tls-key", "a.key", "--state-dir", "/certs"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--secure-port", "6443"], ["--listen", "127.0.0.1:6443"]),
        (["--bind-address=::1", "--secure-port=1"], ["--listen", "[::1]:1"]),
        (["--bind-address=127.0.0.1"], ["--listen", "127.0.0.1:6443"]),
        (["--token-auth-file=t.csv"], ["--token-file", "t.csv"]),
        (["--audit-log-path=-", "--audit-log-maxsize=5"], ["--audit-log", "-", "--audit-log-maxsize", "5"]),
        (["--allow-privileged"], ["--allow-privileged"]),
        (["--allow-privileged=false"], []),
        (["-v=6"], ["--log-level", "debug"]),
        (["--authorization-mode=Node,RBAC"], ["--authorization-mode", "RBAC"]),
        (["--disable-admission-plugins=NoSuchPlugin"], []),
        (["--secure-port=1", "--secure-port=2"], ["--listen", "127.0.0.1:2"]),
    ],
)
def test_honoured_flags_become_ours(words: list[str], expected: list[str]) -> None:
    assert translate(words).words == expected


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("--feature-gates=A=true", "every feature is as in the release"),
        ("--runtime-config=api/all=true", "the served versions are those"),
        ("--service-cluster-ip-range=172.16.0.0/16", "10.0.0.0/16"),
        ("--anonymous-auth=false", "health and version"),
        ("--authorization-mode=Node,RBAC", "RBAC gives them"),
        ("--enable-admission-plugins=ImagePolicyWebhook", "what it refuses is accepted here"),
    ],
)
def test_a_flag_that_has_no_effect_is_told_where_a_test_could_see_it(word: str, instead: str) -> None:
    (warning,) = translate([word]).warnings
    assert warning.startswith(word.partition(",")[0].partition("=")[0])
    assert "has no effect: " in warning
    assert instead in warning


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--encryption-provider-config=x"], "--encryption-provider-config is not supported: what it protects"),
        (["--oidc-issuer-url=x"], "--oidc-issuer-url is not supported"),
        (["--authorization-mode=Webhook"], "--authorization-mode=Webhook is not supported"),
        (["--no-such-flag"], "unknown flag: --no-such-flag"),
        (["serve"], "unknown command 'serve'"),
        (["--secure-port"], "flag needs an argument: --secure-port"),
        (["--secure-port=many"], 'invalid argument "many" for "--secure-port"'),
    ],
)
def test_what_would_mislead_is_refused(words: list[str], complaint: str) -> None:
    with pytest.raises(FlagError, match=re.escape(complaint)):
        translate(words)


def test_help_lists_flags_so_that_envtest_finds_them() -> None:
    listed = re.findall(r"(?m)^\s*--([\w-]+)\b", help_text())
    assert {"secure-port", "cert-dir", "etcd-servers", "feature-gates"} <= set(listed)
    assert "insecure-port" not in listed, "envtest would pass it"
