"""``attractor serve``: a Kubernetes API server in one process."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import secrets
import signal
import socket
import ssl
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.commands.access_flags import add_access_flags, admission_plugins, authorizer_of, without_admission
from attractor.cli.log_flags import add_log_flags, begin_log
from attractor.cli.terminal import UsageError, say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from attractor.apiserver.admission.plugin import Plugin
    from attractor.apiserver.audit.policy import Policy
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.apiserver.request.caller import User
    from attractor.embedded import Address, EmbeddedCluster
    from attractor.httpd.audit.trail import AuditSink
    from attractor.store import Store

DEFAULT_LISTEN = "127.0.0.1:6443"
KUBECONFIG = "kubeconfig"
"""The kubeconfig's name in the state directory."""
SWITCH_S = 0.0005
"""How long the event loop may keep the store's thread from going on; Python's default is ten times as long."""
_FIRST_REVISION = 2**20
_EXAMPLES = """\
examples:
  attractor serve
      a cluster in memory on https://127.0.0.1:6443, gone when it stops
  attractor serve --store sqlite:cluster.db --kubeconfig ./kubeconfig
      a cluster that survives restarts; use it with `kubectl --kubeconfig ./kubeconfig get namespaces`
  attractor serve --store etcd:10.0.0.1:2379,10.0.0.2:2379 --listen 0.0.0.0:6443
      one of several servers of one cluster
  attractor serve --token-file tokens.csv --crds ./crds --controllers garbage-collector,namespaces
      users of your own, custom kinds from the start, and only some controllers
  attractor serve --nodes 3
      a cluster in which Deployments roll out and Pods become ready, simulated; try `kubectl create deployment`
  attractor serve --audit-log audit.log --audit-policy policy.yaml
      who did what, one JSON line a request, chosen by a Kubernetes audit policy
"""


class ServeError(Exception):
    """The server cannot start; the text says why, ``hint`` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor serve`` takes."""
    parser.description = "Serve a Kubernetes API from this process, until it is told to stop."
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--store",
        default="memory",
        metavar="STORE",
        help="where state is kept: memory, sqlite:PATH or etcd:HOST:PORT[,HOST:PORT] (default: memory)",
    )
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        metavar="HOST:PORT",
        help=f"address to serve on; port 0 takes a free one (default: {DEFAULT_LISTEN})",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="PATH",
        help="write a kubeconfig for the administrator here once ready, and remove it at exit "
        "(default: kubeconfig in the state directory, or kubeconfig-PORT where another server has that)",
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help="where generated certificates are kept (default: $XDG_STATE_HOME/attractor)",
    )
    parser.add_argument(
        "--service-address",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME=HOST:PORT",
        help="where webhooks behind a Service are reached, for cluster IPs are not routed; may be repeated",
    )
    _add_security(parser)
    _add_audit(parser)
    parser.add_argument(
        "--crds", type=Path, metavar="DIR", help="create or update the CustomResourceDefinitions in DIR"
    )
    parser.add_argument(
        "--controllers",
        default="all",
        metavar="NAMES",
        help="controllers to run: all, none, or names with commas (default: all)",
    )
    parser.add_argument(
        "--nodes",
        type=_whole_number,
        default=0,
        metavar="N",
        help="simulate N nodes, and run the workload controllers and a scheduler: Deployments become ready, without "
        "running anything (default: 0, nothing of that)",
    )
    add_access_flags(parser)
    parser.add_argument(
        "--allow-privileged", action="store_true", help="let pods have privileged containers (default: no)"
    )
    add_log_flags(parser)
    parser.set_defaults(run=run)


def _add_security(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("security")
    group.add_argument(
        "--tls",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="serve HTTPS; without --tls-cert, from a certificate authority made on first start (default: yes)",
    )
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain to show, PEM")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key, PEM")
    group.add_argument("--tls-ca", type=Path, metavar="FILE", help="authority to name in the kubeconfig, PEM")
    group.add_argument(
        "--client-ca",
        type=Path,
        metavar="FILE",
        help="accept client certificates of this authority: the common name is the user, organizations are groups",
    )
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help='static tokens, one a line: token,user,uid,"group1,group2"',
    )
    group.add_argument(
        "--anonymous-read",
        action="store_true",
        help="let anyone read everything without credentials (default: no)",
    )


def _add_audit(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("audit")
    group.add_argument(
        "--audit-log",
        type=Path,
        metavar="FILE",
        help="append one JSON line (audit.k8s.io/v1 Event) for each request; - for standard output (default: no log)",
    )
    group.add_argument(
        "--audit-policy",
        type=Path,
        metavar="FILE",
        help="which requests, and how much of them: a Kubernetes audit Policy (default: all, at level Metadata)",
    )
    group.add_argument(
        "--audit-log-maxsize",
        type=_whole_number,
        default=100,
        metavar="MB",
        help="set the file aside before it grows beyond this; 0 lets it grow (default: 100)",
    )
    group.add_argument(
        "--audit-log-maxbackup",
        type=_whole_number,
        default=10,
        metavar="N",
        help="how many files that were set aside are kept; 0 keeps all (default: 10)",
    )


def _whole_number(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


@dataclass(frozen=True, slots=True)
class Settings:
    """The command line, checked."""

    store: str = field(repr=False)  # its address may hold a password
    host: str
    port: int
    kubeconfig: Path
    state_dir: Path
    tls: bool
    tls_cert: Path | None
    tls_key: Path | None
    tls_ca: Path | None
    client_ca: Path | None
    tokens: Mapping[str, User]
    anonymous_read: bool
    crds: Path | None
    controllers: tuple[str, ...]
    admission_plugins: tuple[str, ...]
    without_admission: tuple[str, ...]
    authorizer: Authorizer | None
    allow_privileged: bool
    service_addresses: Mapping[tuple[str, str], tuple[str, int]]
    audit_log: Path | None
    audit_policy: Policy
    audit_max_bytes: int
    audit_backups: int
    nodes: int
    flags: Mapping[str, str]
    """Every flag and its value, as ``/flagz`` shows them."""

    @classmethod
    def parse(cls, words: Sequence[str]) -> Settings:
        """Read the flags of ``attractor serve``; raises ``ServeError``."""
        parser = argparse.ArgumentParser()
        configure(parser)
        return cls.of(parser.parse_args(words))

    @classmethod
    def of(cls, args: argparse.Namespace) -> Settings:
        """Check what was given; raises ``ServeError``."""
        from attractor.embedded.controllers import UnknownController, chosen

        host, port = parse_address(args.listen)
        state_dir = args.state_dir or _state_dir()
        if bool(args.tls_cert) != bool(args.tls_key):
            raise ServeError("--tls-cert and --tls-key belong together", "give both, or neither to have them made")
        if not args.tls and (args.tls_cert or args.client_ca):
            raise ServeError("--no-tls and certificates exclude each other", "drop --no-tls")
        if args.crds is not None and not args.crds.is_dir():
            raise ServeError(f"--crds {args.crds} is not a directory", "give a directory with YAML or JSON files")
        try:
            controllers = chosen(args.controllers)
        except UnknownController as error:
            raise ServeError(str(error), "see `attractor serve --help`") from error
        return cls(
            store=args.store,
            host=host,
            port=port,
            kubeconfig=args.kubeconfig or state_dir / KUBECONFIG,
            state_dir=state_dir,
            tls=args.tls,
            tls_cert=args.tls_cert,
            tls_key=args.tls_key,
            tls_ca=args.tls_ca,
            client_ca=args.client_ca,
            tokens=_tokens(args.token_file),
            anonymous_read=args.anonymous_read,
            crds=args.crds,
            controllers=controllers,
            admission_plugins=admission_plugins(args.disable_admission_plugins),
            without_admission=without_admission(args.disable_admission_plugins),
            authorizer=authorizer_of(args.authorization_mode),
            allow_privileged=args.allow_privileged,
            service_addresses=dict(map(parse_service_address, args.service_address)),
            audit_log=args.audit_log,
            audit_policy=_audit_policy(args.audit_policy, args.audit_log),
            audit_max_bytes=args.audit_log_maxsize * 1024 * 1024,
            audit_backups=args.audit_log_maxbackup,
            nodes=args.nodes,
            flags=_flags(args),
        )


def _flags(args: argparse.Namespace) -> dict[str, str]:
    """The command line as text; what is no flag, such as the command itself, is left out."""
    from attractor.store.factory import shown_address

    given = {name.replace("_", "-"): value for name, value in vars(args).items() if not callable(value)}
    flags = {name: "" if value is None else str(value) for name, value in given.items() if name != "command"}
    return {**flags, "store": shown_address(flags["store"])}


def parse_address(text: str, option: str = "--listen") -> tuple[str, int]:
    """``HOST:PORT``, ``:PORT`` or ``[V6]:PORT``, as an option had it; raises ``ServeError``.

    >>> parse_address("[::1]:6443")
    ('::1', 6443)
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ServeError(f"{option} {text!r} is not an address", f"write HOST:PORT, such as {DEFAULT_LISTEN}")
    return host or "127.0.0.1", int(port)


def parse_service_address(text: str) -> tuple[tuple[str, str], tuple[str, int]]:
    """``NAMESPACE/NAME=HOST:PORT``; raises ``ServeError``.

    >>> parse_service_address("default/hook=127.0.0.1:9443")
    (('default', 'hook'), ('127.0.0.1', 9443))
    """
    service, _, address = text.partition("=")
    namespace, _, name = service.partition("/")
    host, _, port = address.rpartition(":")
    if not (namespace and name and host and port.isdigit() and int(port) <= 65535):
        raise ServeError(
            f"--service-address {text!r} is not understood",
            "write NAMESPACE/NAME=HOST:PORT, such as default/hook=127.0.0.1:9443",
        )
    return (namespace, name), (host.removeprefix("[").removesuffix("]"), int(port))


def _client_ca(settings: Settings, ca: bytes | None) -> str:
    """The authority whose client certificates are accepted, PEM; empty when none are."""
    if settings.client_ca is not None:
        return settings.client_ca.read_text(encoding="ascii")
    return ca.decode("ascii") if ca and settings.tls_cert is None else ""


def _state_dir() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "attractor"


def _tokens(path: Path | None) -> Mapping[str, User]:
    from attractor.httpd.auth.authentication import TokenFileError, parse_token_file

    if path is None:
        return {}
    try:
        return parse_token_file(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ServeError(f"--token-file {path} cannot be read: {error.strerror}", "check the path") from error
    except (TokenFileError, UnicodeDecodeError) as error:
        raise ServeError(
            f"--token-file {path}: {error}", 'write one `token,user,uid,"group1,group2"` a line'
        ) from error


def _audit_policy(path: Path | None, audit_log: Path | None) -> Policy:
    from attractor.apiserver.audit.policy import METADATA_ONLY, Policy, PolicyError

    if path is None:
        return METADATA_ONLY
    if audit_log is None:
        raise ServeError("--audit-policy chooses what is logged, but there is no log", "give --audit-log FILE as well")
    try:
        return Policy.parse(path.read_bytes())
    except OSError as error:
        raise ServeError(f"--audit-policy {path} cannot be read: {error.strerror}", "check the path") from error
    except PolicyError as error:
        hint = "write a Kubernetes audit Policy; see docs/how-to/audit-requests.md"
        raise ServeError(f"--audit-policy {path}: {error}", hint) from error


def _audit_sink(settings: Settings) -> AuditSink | None:
    from attractor.httpd.audit.file import AuditFile

    path = settings.audit_log
    if path is None:
        return None
    try:
        return AuditFile.at(path, max_bytes=settings.audit_max_bytes, backups=settings.audit_backups)
    except OSError as error:
        raise ServeError(
            f"--audit-log {path} cannot be written: {error.strerror}", "choose a file in a directory that exists"
        ) from error


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop; 0 after an orderly end, 2 when the server cannot start."""

    begin_log(args)
    sys.setswitchinterval(SWITCH_S)
    try:
        settings = Settings.of(args)
        asyncio.run(serve(settings))
    except ServeError as error:
        print(f"error: {error}\n\nhint: {error.hint}", file=sys.stderr)
        return 2
    return 0


async def serve(settings: Settings, admission: Sequence[Plugin] = ()) -> None:
    """Serve until SIGTERM or SIGINT, with more admission if given; raises ``ServeError``."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(settings, admission):
        gc.freeze()  # what a server begins with stays; to look through all of it again is a pause of 50 ms
        _tell("ready")
        await stop.wait()
        _tell("stopping")


@contextlib.asynccontextmanager
async def serving(
    settings: Settings, admission: Sequence[Plugin] = (), *, is_announced: bool = True
) -> AsyncIterator[EmbeddedCluster]:
    """A cluster that listens, announced on standard output, with a kubeconfig meanwhile. Raises ``ServeError``."""
    from attractor.embedded.cluster import EmbeddedCluster
    from attractor.httpd.auth.authentication import ADMIN, Authenticator
    from attractor.store.contract import StoreFull, StoreUnavailable, StoreUnusable
    from attractor.store.factory import shown_address

    token = secrets.token_urlsafe(32)
    tls, ca = _tls(settings)
    cluster = EmbeddedCluster(
        _fresh_memory() if settings.store == "memory" else settings.store,
        controllers=settings.controllers,
        authenticator=Authenticator({**settings.tokens, token: ADMIN}),
        authorizer=settings.authorizer,
        anonymous_read=settings.anonymous_read,
        service_addresses=settings.service_addresses,
        root_ca=ca.decode("ascii") if ca else "",
        client_ca=_client_ca(settings, ca),
        admission=admission,
        admission_plugins=settings.admission_plugins,
        without_admission=settings.without_admission,
        allow_privileged=settings.allow_privileged,
        audit=_audit_sink(settings),
        audit_policy=settings.audit_policy,
        flags=settings.flags,
        nodes=settings.nodes,
    )
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(cluster)
        except (StoreUnusable, StoreUnavailable, StoreFull) as error:
            hint = "give memory, sqlite:PATH or etcd:HOST:PORT, and see that the path can be written or etcd answers"
            raise ServeError(f"--store {shown_address(settings.store)}: {error}", hint) from error
        if settings.crds is not None:
            await _load_definitions(cluster, settings.crds)
        address = await _listen(cluster, settings, tls)
        with _kubeconfig_at(settings, address, token, ca) as kubeconfig:
            if is_announced:
                _announce(settings, address, kubeconfig)
            yield cluster


def _fresh_memory() -> Store:
    """An empty store whose revisions begin anywhere, so that no client takes it for the one before a restart.

    They stay below a thousand million for long: clients, and tests, take such a version for one that is yet to come.
    """
    from attractor.store import MemoryStore

    return MemoryStore(after=_FIRST_REVISION + secrets.randbelow(_FIRST_REVISION << 9))


def _tls(settings: Settings) -> tuple[ssl.SSLContext | None, bytes | None]:
    """The TLS context, and the authority for the kubeconfig."""
    if not settings.tls:
        return None, None
    from attractor.httpd.auth.certificates import ensure_certificates
    from attractor.httpd.tls import server_context

    try:
        if settings.tls_cert is not None and settings.tls_key is not None:
            ca_file = settings.tls_ca or settings.tls_cert
            context = server_context(settings.tls_cert, settings.tls_key, settings.client_ca)
            return context, ca_file.read_bytes()
        files = ensure_certificates(settings.state_dir / "tls", _hosts(settings.host))
        return server_context(files.cert, files.key, settings.client_ca or files.ca), files.ca.read_bytes()
    except (OSError, ssl.SSLError) as error:
        where = getattr(error, "filename", None) or settings.tls_cert or settings.state_dir / "tls"
        raise ServeError(
            f"the certificate cannot be used: {where}: {error.strerror or error}",
            "check --tls-cert, --tls-key and --client-ca, or give a writable --state-dir",
        ) from error


def _hosts(host: str) -> list[str]:
    """The names that a client may know this server by."""
    names = {"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
    names.add(socket.gethostname())
    if host not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        names.add(host)
    return sorted(names)


async def _listen(cluster: EmbeddedCluster, settings: Settings, tls: ssl.SSLContext | None) -> Address:
    try:
        return await cluster.listen(settings.host, settings.port, tls=tls)
    except OSError as error:
        raise ServeError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}",
            "choose another address with --listen HOST:PORT; port 0 takes a free one",
        ) from error


@contextlib.contextmanager
def _kubeconfig_at(settings: Settings, address: Address, token: str, ca: bytes | None) -> Iterator[Path]:
    """Write the kubeconfig now, remove it in the end; answers where it is.

    Where another server has its own in the usual place, this one's is beside it, named by the port.
    """
    from attractor.embedded.kubeconfig import KubeconfigFile, KubeconfigTaken, kubeconfig

    host = "127.0.0.1" if address.host in {"0.0.0.0", "::"} else address.host  # noqa: S104 - compared, not bound
    content = kubeconfig(address._replace(host=host).url, token, ca)
    file = KubeconfigFile(settings.kubeconfig, content)
    try:
        try:
            file.write()
        except KubeconfigTaken as error:
            if settings.kubeconfig != settings.state_dir / KUBECONFIG:
                raise ServeError(
                    f"the kubeconfig {settings.kubeconfig} belongs to a server that runs",
                    "stop that server first, or choose another path with --kubeconfig",
                ) from error
            file = KubeconfigFile(settings.state_dir / f"{KUBECONFIG}-{address.port}", content)
            file.write()
    except (OSError, KubeconfigTaken) as error:
        raise ServeError(
            f"the kubeconfig {file.path} cannot be written: {getattr(error, 'strerror', None) or error}",
            "choose another path with --kubeconfig",
        ) from error
    try:
        yield file.path
    finally:
        file.remove()


def _tell(line: str) -> None:
    """Say something to whoever started the server; it serves and stops in good order although nobody reads it."""
    with contextlib.suppress(UsageError):
        say([line])


def _announce(settings: Settings, address: Address, kubeconfig: Path) -> None:
    """One line for each fact that a person needs."""
    from attractor.store.factory import shown_address

    _tell(f"address:     {address.url}")
    _tell(f"store:       {shown_address(settings.store).removesuffix('?…')}")
    _tell(f"kubeconfig:  {kubeconfig}")
    _tell(f"controllers: {', '.join(settings.controllers) or 'none'}")
    if settings.nodes:
        _tell(f"nodes:       {settings.nodes}, simulated, with workload controllers and a scheduler")
    if settings.audit_log is not None:
        _tell(f"audit log:   {settings.audit_log}")
    if settings.anonymous_read:
        _tell("anonymous:   may read everything")
    if not address.is_tls:
        _tell("note:        kubectl sends no token over plain HTTP; use --tls for kubectl")


async def _load_definitions(cluster: EmbeddedCluster, directory: Path) -> None:
    from attractor.embedded.definitions import DefinitionFileError, load_definitions

    try:
        names = await load_definitions(cluster.server, directory)
    except DefinitionFileError as error:
        raise ServeError(str(error), "fix the file, or leave it out of --crds") from error
    _tell(f"crds:        {', '.join(names) or 'none'}")
