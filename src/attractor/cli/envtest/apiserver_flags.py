"""Flags of kube-apiserver, as flags of ``attractor serve``: what each means here, decided in one table.

A flag is *honoured*; or *accepted*, with a warning where its value would change something that does not exist here; or
*refused*, where ignoring it would let a test pass that must not (encryption, webhooks for authentication, and so on).

>>> translate(["--secure-port=6443", "--bind-address=127.0.0.1"]).words
['--listen', '127.0.0.1:6443']
>>> translate(["--feature-gates=SomeGate=true"]).warnings
['--feature-gates=SomeGate=true has no effect: every feature is as in the release that the server imitates']
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

HONOURED = {
    "allow-privileged": "let pods have privileged containers",
    "audit-log-maxbackup": "how many audit logs that were set aside are kept",
    "audit-log-maxsize": "megabytes after which the audit log is set aside",
    "audit-log-path": "file to which requests are written; - for standard output",
    "audit-policy-file": "which requests are audited",
    "authorization-mode": "RBAC, AlwaysAllow or AlwaysDeny; Node is left out",
    "bind-address": "address to listen on (default 127.0.0.1)",
    "cert-dir": "directory with apiserver.crt and apiserver.key; they are made where they are missing",
    "client-ca-file": "authority of client certificates",
    "disable-admission-plugins": "admission plug-ins to leave out",
    "enable-admission-plugins": "admission plug-ins; those that exist are on",
    "etcd-servers": "a real etcd is used as the store; the stand-in means memory",
    "secure-port": "port to listen on",
    "tls-cert-file": "certificate to show",
    "tls-private-key-file": "its key",
    "token-auth-file": "static tokens",
    "v": "log level; 4 and more for debug",
}
_NO_EFFECT = {
    "advertise-address": "the address of the default Service is the one that is listened on",
    "anonymous-auth": "who has no credentials may see health and version, and nothing else",
    "api-audiences": "tokens are for the server's own audience",
    "default-not-ready-toleration-seconds": "",
    "default-unreachable-toleration-seconds": "",
    "enable-aggregator-routing": "",
    "enable-bootstrap-token-auth": "bootstrap tokens are not accepted",
    "enable-priority-and-fairness": "it is always on",
    "endpoint-reconciler-type": "",
    "etcd-prefix": "",
    "event-ttl": "Events live for an hour",
    "external-hostname": "",
    "feature-gates": "every feature is as in the release that the server imitates",
    "goaway-chance": "",
    "insecure-port": "there is no port without TLS",
    "kubelet-certificate-authority": "",
    "kubelet-client-certificate": "",
    "kubelet-client-key": "",
    "kubelet-preferred-address-types": "",
    "logging-format": "",
    "max-mutating-requests-inflight": "",
    "max-requests-inflight": "",
    "min-request-timeout": "",
    "profiling": "",
    "proxy-client-cert-file": "",
    "proxy-client-key-file": "",
    "request-timeout": "",
    "requestheader-allowed-names": "",
    "requestheader-client-ca-file": "no proxy vouches for its callers here",
    "requestheader-extra-headers-prefix": "",
    "requestheader-group-headers": "",
    "requestheader-username-headers": "",
    "runtime-config": "the served versions are those of the release that the server imitates",
    "service-account-issuer": "the issuer is https://kubernetes.default.svc",
    "service-account-jwks-uri": "",
    "service-account-key-file": "tokens are signed with a key of the server's own",
    "service-account-lookup": "",
    "service-account-signing-key-file": "tokens are signed with a key of the server's own",
    "service-cluster-ip-range": "addresses of Services are from 10.0.0.0/16",
    "service-node-port-range": "node ports are from 30000-32767",
    "shutdown-delay-duration": "",
    "storage-backend": "",
    "storage-media-type": "",
    "vmodule": "",
    "watch-cache": "",
}
"""What is accepted; the text says what is so instead, where a test could see the difference."""
REFUSED = (
    "admission-control-config-file",
    "audit-webhook-config-file",
    "authentication-config",
    "authentication-token-webhook-config-file",
    "authorization-config",
    "authorization-policy-file",
    "authorization-webhook-config-file",
    "egress-selector-config-file",
    "encryption-provider-config",
    "oidc-ca-file",
    "oidc-client-id",
    "oidc-issuer-url",
)
"""What would protect something, and does not exist here."""
BOOLEAN = frozenset({"allow-privileged", "anonymous-auth", "profiling", "watch-cache", "service-account-lookup"})
"""Flags that may stand without a value."""
_SAME = {
    "audit-log-path": "--audit-log",
    "audit-policy-file": "--audit-policy",
    "audit-log-maxsize": "--audit-log-maxsize",
    "audit-log-maxbackup": "--audit-log-maxbackup",
    "client-ca-file": "--client-ca",
    "token-auth-file": "--token-file",
    "tls-cert-file": "--tls-cert",
    "tls-private-key-file": "--tls-key",
}
"""Flags that only have another name."""
_EVERYBODY_SETS = {"service-cluster-ip-range": ("10.0.0.0/24", "10.0.0.0/16"), "insecure-port": ("0",)}
"""Values that need no warning, for what is so here keeps them."""
_SILENT = frozenset({"service-account-issuer", "service-account-key-file", "service-account-signing-key-file"})
"""Flags that envtest sets by itself, and that no test of its users is about."""
_DEBUG = 4


class FlagError(Exception):
    """A flag that cannot be taken, in the words of kube-apiserver where it has some."""


@dataclass
class Translated:
    """A command line of ``attractor serve``."""

    words: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    etcd: str = ""
    """The first etcd that was named, as an URL; whoever starts the server asks it what it is."""


def parse(words: list[str]) -> dict[str, str]:
    """The flags with their values; a flag that stands twice has its last value. Raises ``FlagError``."""
    found: dict[str, str] = {}
    waiting = ""
    for word in words:
        if waiting:
            found[waiting], waiting = word, ""
            continue
        if not word.startswith("-") or word in {"-", "--"}:
            raise FlagError(f"unknown command {word!r} for kube-apiserver")
        name, has_value, value = word.lstrip("-").partition("=")
        if name in REFUSED:
            raise FlagError(
                f"--{name} is not supported: what it protects would stay unprotected; run the original kube-apiserver"
            )
        if name not in HONOURED and name not in _NO_EFFECT:
            raise FlagError(f"unknown flag: --{name}")
        if has_value:
            found[name] = value
        elif name in BOOLEAN:
            found[name] = "true"
        else:
            waiting = name
    if waiting:
        raise FlagError(f"flag needs an argument: --{waiting}")
    return found


def translate(words: list[str]) -> Translated:
    """What ``attractor serve`` is to be told; raises ``FlagError``."""
    flags = parse(words)
    made = Translated(etcd=flags.get("etcd-servers", "").split(",")[0])
    if "secure-port" in flags or "bind-address" in flags:
        made.words += ["--listen", _address(flags)]
    for name, ours in _SAME.items():
        if flags.get(name):
            made.words += [ours, flags[name]]
    if flags.get("cert-dir"):
        made.words += _from_directory(Path(flags["cert-dir"]), has_certificate="tls-cert-file" in flags)
    if flags.get("allow-privileged") == "true":
        made.words.append("--allow-privileged")
    if _number(flags, "v") >= _DEBUG:
        made.words += ["--log-level", "debug"]
    _authorize(flags, made)
    _admit(flags, made)
    _warn(flags, made)
    return made


def _address(flags: dict[str, str]) -> str:
    port = _number(flags, "secure-port", 6443)
    host = flags.get("bind-address") or "127.0.0.1"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _number(flags: dict[str, str], name: str, default: int = 0) -> int:
    text = flags.get(name, "") or str(default)
    if not text.isdigit():
        raise FlagError(f'invalid argument "{text}" for "--{name}" flag: it is no number')
    return int(text)


def _from_directory(directory: Path, *, has_certificate: bool) -> list[str]:
    """Certificates that are there are used; whatever else the server keeps goes there, too, and not to one's home."""
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    shown = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    return ["--state-dir", str(directory), *(shown if certificate.exists() and not has_certificate else [])]


def _authorize(flags: dict[str, str], made: Translated) -> None:
    modes = [mode for mode in flags.get("authorization-mode", "").split(",") if mode]
    if unknown := sorted(set(modes) - {"RBAC", "AlwaysAllow", "AlwaysDeny", "Node"}):
        raise FlagError(f"--authorization-mode={unknown[0]} is not supported; there are RBAC, AlwaysAllow, AlwaysDeny")
    kept = [mode for mode in modes if mode != "Node"]
    if "Node" in modes:
        made.warnings.append("--authorization-mode=Node has no effect: nodes have the rights that RBAC gives them")
    if modes:
        made.words += ["--authorization-mode", ",".join(kept) or "AlwaysDeny"]


def _admit(flags: dict[str, str], made: Translated) -> None:
    from attractor.apiserver.admission.chain import CHAIN_NAMES
    from attractor.apiserver.admission.plugins import PLUGIN_NAMES

    every = {*CHAIN_NAMES, *PLUGIN_NAMES}
    unwanted = [name for name in flags.get("disable-admission-plugins", "").split(",") if name]
    if known := [name for name in unwanted if name in every]:  # the others are off in any case
        made.words += ["--disable-admission-plugins", ",".join(known)]
    for name in flags.get("enable-admission-plugins", "").split(","):
        if name and name not in every:
            made.warnings.append(f"--enable-admission-plugins={name} has no effect: what it refuses is accepted here")


def _warn(flags: dict[str, str], made: Translated) -> None:
    for name, value in flags.items():
        instead = _NO_EFFECT.get(name, "")
        if instead and name not in _SILENT and value not in _EVERYBODY_SETS.get(name, ()):
            made.warnings.append(f"--{name}={value} has no effect: {instead}")


def help_text() -> str:
    """All flags, one a line as kube-apiserver prints them, for those who look whether there is one."""
    lines = ["The Kubernetes API server of Attractor, by the flags of kube-apiserver.", "", "Honoured flags:", ""]
    lines += [f"      --{name:<34} {text}" for name, text in sorted(HONOURED.items())]
    lines += ["", "Accepted flags, which have no effect:", ""]
    lines += [
        f"      --{name:<34} {text}".rstrip() for name, text in sorted(_NO_EFFECT.items()) if name != "insecure-port"
    ]
    return "\n".join(lines)
