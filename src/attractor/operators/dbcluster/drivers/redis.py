"""The engine ``redis``: how one pod of it is configured and started.

The pod whose number is 0 is the primary; the others copy it. Every write is on disk before it is acknowledged
(``appendfsync always``), so what was acknowledged survives any crash. There is no failover: while the primary restarts,
writes are refused, and nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.operators.dbcluster.api.types import Component

IMAGE = "redis"
PORT = 6379
CONFIG_FILE = "redis.conf"

_DEFAULTS = {
    "appendfsync": "always",
    "appendonly": "yes",
    "protected-mode": "no",
    "repl-diskless-sync-delay": "0",
    "save": '""',
}
RESERVED = frozenset(
    {"aclfile", "bind", "daemonize", "dir", "include", "masterauth", "port", "replicaof", "requirepass", "slaveof",
     "tls-port", "unixsocket", "user"}
)  # fmt: skip
"""Settings that are the operator's own."""

_SCRIPT = """\
set -- "$CONFIG_DIR/redis.conf" --include "$CREDENTIALS_DIR/auth.conf" --dir "$DATA_DIR" --bind "$POD_IP"
if [ -n "$TLS_DIR" ]; then
  set -- "$@" --port 0 --tls-port 6379 --tls-cert-file "$TLS_DIR/tls.crt" --tls-key-file "$TLS_DIR/tls.key"
  set -- "$@" --tls-ca-cert-file "$TLS_DIR/tls.crt" --tls-auth-clients no --tls-replication yes
fi
[ "$POD_NAME" = "$PRIMARY_NAME" ] || set -- "$@" --replicaof "$PRIMARY_HOST" 6379
exec redis-server "$@"
"""
_PROBE = """\
set -- -h "$POD_IP" -p 6379
[ -z "$TLS_DIR" ] || set -- "$@" --tls --insecure
[ "$(redis-cli "$@" ping)" = PONG ]
"""


def problems(component: Component) -> list[str]:
    """Return the mistakes in a component's settings."""
    reserved = sorted(RESERVED & {name.lower() for name in component.config})
    lines = sorted(name for name, value in component.config.items() if "\n" in name + value or " " in name)
    said = [f"component {component.name} sets {name}, which the operator sets itself" for name in reserved]
    return said + [f"component {component.name} has a setting {name!r} that is not one line" for name in lines]


def config_text(component: Component) -> str:
    """The configuration file."""
    settings = {**_DEFAULTS, **component.config}
    return "".join(f"{name} {value}\n" for name, value in sorted(settings.items()))


def credentials(password: str) -> Mapping[str, bytes]:
    """Return the data of the credentials Secret."""
    auth = f"requirepass {password}\nmasterauth {password}\n"
    return {"username": b"default", "password": password.encode(), "auth.conf": auth.encode()}


def command() -> list[str]:
    """Starts the database; directories and addresses come from the environment."""
    return ["sh", "-ec", _SCRIPT]


def probe() -> list[str]:
    """Succeeds when the database answers."""
    return ["sh", "-ec", _PROBE]
