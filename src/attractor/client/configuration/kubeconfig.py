"""kubeconfig files: which cluster, as whom, in which namespace.

``KUBECONFIG`` may name several files; the first that says something wins, name by name, as for kubectl. Files that are
named inside a file are relative to it. Data in the file goes before a file that is named beside it, and a token file
before a token.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.client.configuration.config import SERVICE_ACCOUNT, ClientConfig, Impersonation, in_cluster_config
from attractor.client.configuration.credentials import (
    CertificateFiles,
    ClientCertificate,
    Credential,
    Credentials,
    ExecConfig,
    ExecPlugin,
    Rewritten,
    StaticCredentials,
    TokenFile,
    basic,
)
from attractor.client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def load_kubeconfig(
    path: Path | str | None = None, *, context: str = "", environ: Mapping[str, str] | None = None
) -> ClientConfig:
    """Read how to reach a cluster from a kubeconfig file.

    Credentials are read again when the server rejects them, so a file that is written anew (by ``attractor serve``, or
    by logging in) takes effect; another server in it does not.

    Args:
        path: The file; by default what ``KUBECONFIG`` names, or ``~/.kube/config``.
        context: The context; by default the current one.
        environ: Environment variables, for tests.

    Raises:
        ConfigError: There is no such file or context, or it cannot be used.
    """
    read = Kubeconfig.load(path, environ=environ)
    config = read.config(context)
    if not isinstance(config.credentials, StaticCredentials):
        return config
    chosen = context or read.current_context

    def read_again() -> Credential | None:
        now = Kubeconfig.load(path, environ=environ).config(chosen)
        is_same = (now.server, now.ca, now.verify) == (config.server, config.ca, config.verify)
        return now.credentials.credential if is_same and isinstance(now.credentials, StaticCredentials) else None

    return replace(config, credentials=Rewritten(config.credentials.credential, read_again))


def find_config(
    *, context: str = "", environ: Mapping[str, str] | None = None, service_account: Path = SERVICE_ACCOUNT
) -> ClientConfig:
    """Return the config for this process: ``KUBECONFIG``, else the pod's service account, else ``~/.kube/config``."""
    environ = os.environ if environ is None else environ
    if not environ.get("KUBECONFIG") and environ.get("KUBERNETES_SERVICE_HOST") and not context:
        return in_cluster_config(environ, service_account)
    return load_kubeconfig(context=context, environ=environ)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A cluster, user or context, and the file it stands in."""

    value: Mapping[str, Any]
    file: Path

    def text(self, name: str) -> str:
        """A field that holds text; empty when it is not set."""
        value = self.value.get(name)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{self.file}: {name} should be text, not {value!r}")
        return value or ""

    def path(self, name: str) -> Path | None:
        """A field that names a file."""
        value = self.text(name)
        return self.file.parent / value if value else None

    def data(self, name: str) -> bytes | None:
        """Return what a field's ``-data`` twin holds, else what is in the file that it names."""
        inline = self.text(f"{name}-data")
        if inline:
            try:
                return base64.b64decode(inline, validate=True)
            except (binascii.Error, ValueError) as error:
                raise ConfigError(f"{self.file}: {name}-data is not base64: {error}") from error
        path = self.path(name)
        return None if path is None else _read(path, f"{self.file}: {name}")


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{what} {path} cannot be read: {error.strerror}") from error


@dataclass
class Kubeconfig:
    """Clusters, users and contexts from one or several files."""

    clusters: dict[str, _Entry] = field(default_factory=dict)
    users: dict[str, _Entry] = field(default_factory=dict)
    contexts: dict[str, _Entry] = field(default_factory=dict)
    current_context: str = ""
    files: tuple[Path, ...] = ()

    @classmethod
    def load(cls, path: Path | str | None = None, *, environ: Mapping[str, str] | None = None) -> Kubeconfig:
        """Read a file, or those that the environment names; raises ``ConfigError``."""
        environ = os.environ if environ is None else environ
        named = environ.get("KUBECONFIG") or ""
        if path is not None:
            paths: Sequence[Path] = [Path(path)]
        elif named:
            paths = [Path(part) for part in named.split(os.pathsep) if part]
        else:
            paths = [Path(environ.get("HOME") or Path.home()) / ".kube" / "config"]
        existing = [one for one in paths if one.exists()]
        if not existing:
            listed = ", ".join(map(str, paths))
            raise ConfigError(f"there is no kubeconfig at {listed}; give a path, or set KUBECONFIG")
        made = cls(files=tuple(existing))
        for one in existing:
            made._merge(one)
        return made

    def _merge(self, path: Path) -> None:
        import yaml

        try:
            document = yaml.safe_load(_read(path, "kubeconfig"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"kubeconfig {path} is no YAML: {error}") from error
        if document is None:
            return
        if not isinstance(document, dict):
            raise ConfigError(f"kubeconfig {path} is no mapping")
        self.current_context = self.current_context or str(document.get("current-context") or "")
        for plural, singular, into in (
            ("clusters", "cluster", self.clusters),
            ("users", "user", self.users),
            ("contexts", "context", self.contexts),
        ):
            for row in document.get(plural) or ():
                if not isinstance(row, dict) or not isinstance(row.get("name"), str):
                    raise ConfigError(f"kubeconfig {path}: an entry of {plural} has no name")
                value = row.get(singular) or {}
                if not isinstance(value, dict):
                    raise ConfigError(f"kubeconfig {path}: {singular} {row['name']!r} is no mapping")
                into.setdefault(row["name"], _Entry(value, path))

    def config(self, context: str = "") -> ClientConfig:
        """The configuration of a context; raises ``ConfigError``."""
        name = context or self.current_context
        if not name:
            if not self.contexts:
                raise ConfigError(f"{self._where} has no contexts, so it names no cluster; is it the file you meant?")
            raise ConfigError(f"{self._where} has no current-context; name one of: {', '.join(self.contexts)}")
        chosen = self._entry(self.contexts, "context", name)
        cluster_name = chosen.text("cluster")
        cluster = self._entry(self.clusters, "cluster", cluster_name)
        user = self.users.get(chosen.text("user")) if chosen.text("user") else None
        if user is None and chosen.text("user"):
            user = self._entry(self.users, "user", chosen.text("user"))
        server = cluster.text("server")
        if not server:
            raise ConfigError(f"{cluster.file}: cluster {cluster_name!r} has no server")
        verify = not cluster.value.get("insecure-skip-tls-verify")
        ca = cluster.data("certificate-authority")
        if ca is not None and not verify:
            raise ConfigError(
                f"{cluster.file}: cluster {cluster_name!r} has a certificate authority and insecure-skip-tls-verify; "
                "remove one of them"
            )
        return ClientConfig(
            server=server,
            credentials=_credentials(user, cluster, ca) if user is not None else StaticCredentials(),
            namespace=chosen.text("namespace") or "default",
            ca=ca,
            verify=verify,
            tls_server_name=cluster.text("tls-server-name"),
            proxy_url=cluster.text("proxy-url"),
            compression=False if cluster.value.get("disable-compression") else None,
            impersonate=_impersonation(user) if user is not None else None,
        )

    @property
    def _where(self) -> str:
        return f"kubeconfig {', '.join(map(str, self.files))}"

    def _entry(self, entries: Mapping[str, _Entry], what: str, name: str) -> _Entry:
        found = entries.get(name)
        if found is None:
            raise ConfigError(f"{self._where} has no {what} {name!r}; there are: {', '.join(entries) or 'none'}")
        return found


def _credentials(user: _Entry, cluster: _Entry, ca: bytes | None) -> Credentials:
    if user.value.get("auth-provider"):
        raise ConfigError(f"{user.file}: auth-provider is no longer supported by Kubernetes; use an exec plugin")
    plugin = user.value.get("exec")
    if plugin:
        try:
            return ExecPlugin(_exec_config(user.file, plugin, cluster, ca))
        except ConfigError as error:
            raise ConfigError(f"{user.file}: {error}") from error
    pair = _pair(user)
    token_file = user.path("tokenFile")
    if token_file is not None:
        return TokenFile(token_file, pair)
    token, name = user.text("token"), user.text("username")
    authorization = ""
    if token:
        authorization = f"Bearer {token}"
    elif name:
        authorization = basic(name, user.text("password")).authorization
    certificate, key = user.path("client-certificate"), user.path("client-key")
    if certificate and key and not user.text("client-certificate-data") and not user.text("client-key-data"):
        return CertificateFiles(certificate, key, authorization)
    return StaticCredentials(Credential(authorization, pair))


def _pair(user: _Entry) -> ClientCertificate | None:
    certificate, key = user.data("client-certificate"), user.data("client-key")
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "client-certificate" if certificate is None else "client-key"
        raise ConfigError(f"{user.file}: a client certificate and its key belong together; {missing} is missing")
    return ClientCertificate(certificate, key)


def _exec_config(file: Path, plugin: Any, cluster: _Entry, ca: bytes | None) -> ExecConfig:
    entry = _Entry(plugin, file)
    command = entry.text("command")
    if not command:
        raise ConfigError("an exec plugin has no command")
    if "/" in command:
        command = str((file.parent / command).absolute())  # or a plain name would be looked for in PATH
    try:
        environment = {item["name"]: item["value"] for item in plugin.get("env") or ()}
    except (KeyError, TypeError) as error:
        raise ConfigError("the exec plugin's env should be a list of names and values") from error
    return ExecConfig(
        command=command,
        args=tuple(map(str, plugin.get("args") or ())),
        env=environment,
        api_version=entry.text("apiVersion"),
        install_hint=entry.text("installHint"),
        cluster_info=_cluster_info(cluster, ca) if plugin.get("provideClusterInfo") else None,
    )


def _cluster_info(cluster: _Entry, ca: bytes | None) -> dict[str, Any]:
    info: dict[str, Any] = {
        "server": cluster.text("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": bool(cluster.value.get("insecure-skip-tls-verify")),
        "certificate-authority-data": base64.b64encode(ca).decode() if ca is not None else "",
        "proxy-url": cluster.text("proxy-url"),
        "config": next(
            (
                row.get("extension")
                for row in cluster.value.get("extensions") or ()
                if row.get("name") == _EXEC_EXTENSION
            ),
            None,
        ),
    }
    return {name: value for name, value in info.items() if value}


def _impersonation(user: _Entry) -> Impersonation | None:
    name = user.text("as")
    if not name:
        if given := [one for one in ("as-uid", "as-groups", "as-user-extra") if user.value.get(one)]:
            raise ConfigError(f"{user.file}: {given[0]} says more about somebody who is not named; add `as`")
        return None
    extra = {key: tuple(values) for key, values in (user.value.get("as-user-extra") or {}).items()}
    return Impersonation(name, user.text("as-uid"), tuple(user.value.get("as-groups") or ()), extra)
