"""``ClientConfig``: where a server is, how to be sure that it is the right one, and who to be there."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.client.configuration.credentials import Credentials, StaticCredentials, TokenFile, bearer
from attractor.client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.client.configuration.credentials import ClientCertificate

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Act as somebody else, if the server lets this user."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """All that a transport needs to know."""

    server: str
    """The server's URL; a path in it comes before every request's."""
    credentials: Credentials = field(default_factory=StaticCredentials)
    namespace: str = "default"
    """The namespace that the context names, for callers that ask for none."""
    ca: bytes | None = field(default=None, repr=False)
    """Authorities that the server's certificate must come from, PEM; None means the system's."""
    verify: bool = True
    tls_server_name: str = ""
    """The name that the server's certificate must have, if not the host's."""
    proxy_url: str = ""
    compression: bool | None = None
    """Whether to ask for gzip; None asks every server but those on this machine."""
    impersonate: Impersonation | None = None
    user_agent: str = "attractor"

    @classmethod
    def of(cls, server: str, *, token: str = "", ca: bytes | None = None) -> ClientConfig:
        """A server's URL and a token."""
        credentials = StaticCredentials(bearer(token)) if token else StaticCredentials()
        return cls(server, credentials, ca=ca)

    def as_user(self, user: str, *groups: str) -> ClientConfig:
        """The same, acting as somebody else."""
        return replace(self, impersonate=Impersonation(user, groups=groups))


def tls_context(config: ClientConfig, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """The TLS context for a server; raises ``ConfigError`` when a certificate or a key cannot be used.

    It believes what Go's clients believe, whatever Python's own defaults are: a certificate in the bundle is trusted by
    being there, and need not say by which of its authority's keys it was signed; those of many clusters do not.
    """
    try:
        # An explicit authority replaces the system's, as in Kubernetes' own clients.
        given = config.ca.decode("ascii") if config.ca is not None else None
        context = ssl.create_default_context(cadata=given)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ConfigError(f"the certificate authority for {config.server} is no PEM certificate: {error}") from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # nor do Go's clients; so what is written never waits for what is read
    context.set_alpn_protocols(["http/1.1"])
    if not config.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_pair(context, certificate, config.server)
    return context


def _load_pair(context: ssl.SSLContext, pair: ClientCertificate, server: str) -> None:
    """OpenSSL's Python binding reads keys from files only: a private one, gone at once."""
    with tempfile.TemporaryDirectory(prefix="attractor-") as directory:
        path = Path(directory) / "pair.pem"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(pair.key.rstrip() + b"\n" + pair.certificate)
        try:
            context.load_cert_chain(path)
        except ssl.SSLError as error:
            raise ConfigError(f"the client certificate for {server} and its key cannot be used: {error}") from error


def in_cluster_config(environ: Mapping[str, str] | None = None, directory: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """The configuration of a process in a pod: its service account; raises ``ConfigError`` outside of one."""
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; use a kubeconfig"
        )
    try:
        ca = (directory / "ca.crt").read_bytes()
        namespace_file = directory / "namespace"
        namespace = namespace_file.read_text(encoding="utf-8").strip() if namespace_file.exists() else "default"
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the service account in {directory} cannot be read: {error}") from error
    if not (directory / "token").exists():
        raise ConfigError(f"the service account in {directory} has no token; is automountServiceAccountToken off?")
    shown = f"[{host}]" if ":" in host else host
    return ClientConfig(f"https://{shown}:{port}", TokenFile(directory / "token"), namespace or "default", ca)
