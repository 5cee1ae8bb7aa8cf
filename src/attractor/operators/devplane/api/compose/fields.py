"""Values of compose files in their short and long forms, as parts of objects; each raises ``ValueError``."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from attractor.operators.devplane.api.compose.document import mapping_of

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOPBACK = "127.0.0.1"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PORT = re.compile(
    r"^(?:(?P<host>\[[0-9a-fA-F:]+\]|\d+(?:\.\d+){3}):)?(?:(?P<published>\d+(?:-\d+)?)?:)?(?P<target>\d+(?:-\d+)?)"
    r"(?:/(?P<protocol>tcp|udp))?$"
)
_RESTART = {"no": "Never", "always": "Always", "unless-stopped": "UnlessStopped", "on-failure": "OnFailure"}
_CONDITIONS = {
    "service_started": "Started",
    "service_healthy": "Healthy",
    "service_completed_successfully": "Completed",
}


def seconds(value: Any) -> float:
    """A duration such as ``1m30s``, in seconds.

    >>> seconds("1m30s"), seconds("500ms"), seconds(2)
    (90.0, 0.5, 2.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(value)
    if not text or _DURATION.sub("", text):
        raise ValueError(f"{text!r} is no duration; write 10s, 1m30s or 500ms")
    return float(sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text)))


def words(value: Any) -> list[str]:
    """A command: a list, or a text as a shell would split it."""
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, list) else shlex.split(str(value))


def variables(value: Any, ambient: Mapping[str, str]) -> list[dict[str, str]]:
    """The environment of a service; a name without a value is taken from ours, if it is there."""
    found = mapping_of(value) or {}
    texts = {name: ambient.get(name) if inner is None else text(inner) for name, inner in found.items()}
    return [{"name": name, "value": inner} for name, inner in texts.items() if inner is not None]


def text(value: Any) -> str:
    """A scalar as programs get it: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def labels(value: Any) -> dict[str, str]:
    """Labels, from a mapping or a list."""
    return {name: "" if inner is None else text(inner) for name, inner in (mapping_of(value) or {}).items()}


def ports(value: Any) -> list[dict[str, Any]]:
    """Published ports: one for each port of a range; on this machine only, unless an address is given.

    >>> ports("8080:80")
    [{'containerPort': 80, 'hostPort': 8080, 'hostAddress': '127.0.0.1', 'protocol': 'TCP'}]
    """
    if isinstance(value, dict):
        if unknown := value.keys() - {"target", "published", "host_ip", "protocol", "mode", "name", "app_protocol"}:
            raise ValueError(f"of a port {', '.join(sorted(unknown))} is not supported")
        published = "" if value.get("published") is None else str(value["published"])
        return _ports(str(value.get("target")), published, value.get("host_ip"), value.get("protocol"))
    if (match := _PORT.match(str(value))) is None:
        raise ValueError(f"{value!r} is no port; write 8080:80, 127.0.0.1:8080:80/udp or 80")
    return _ports(match["target"], match["published"] or "", match["host"], match["protocol"])


def _ports(target: str, published: str, host: Any, protocol: Any) -> list[dict[str, Any]]:
    inside = _range(target)
    outside = _range(published) if published else [0] * len(inside)
    if len(inside) != len(outside):
        raise ValueError(f"{published}:{target} has not as many ports on one side as on the other")
    return [
        {
            "containerPort": port,
            "hostPort": at,
            "hostAddress": str(host).strip("[]") if host else LOOPBACK,
            "protocol": str(protocol or "tcp").upper(),
        }
        for port, at in zip(inside, outside, strict=True)
    ]


def _range(value: str) -> list[int]:
    first, _, last = value.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise ValueError(f"{value!r} is no port")
    return list(range(int(first), int(last or first) + 1))


def mount(value: Any) -> dict[str, Any]:
    """A mount, with ``volume`` or ``hostPath``; neither when it is an anonymous volume."""
    if isinstance(value, dict):
        return _long_mount(value)
    source, colon, rest = str(value).partition(":")
    if not colon:
        return {"target": source}
    target, _, options = rest.partition(":")
    if unknown := set(filter(None, options.split(","))) - {"ro", "rw", "z", "Z"}:
        raise ValueError(f"option {', '.join(sorted(unknown))} of a mount is not supported")
    return _placed(source, {"target": target, "readOnly": "ro" in options.split(",")})


def _long_mount(value: dict[str, Any]) -> dict[str, Any]:
    if (kind := value.get("type", "volume")) not in {"volume", "bind"}:
        raise ValueError(f"a mount of type {kind} is not supported; use a volume or a bind")
    if unknown := value.keys() - {"type", "source", "target", "read_only", "bind", "consistency"}:
        raise ValueError(f"of a mount {', '.join(sorted(unknown))} is not supported")
    made = {"target": str(value.get("target")), "readOnly": bool(value.get("read_only", False))}
    if kind == "bind":
        return {**made, "hostPath": str(value.get("source"))}
    return {**made, "volume": str(value["source"])} if value.get("source") else made


def _placed(source: str, made: dict[str, Any]) -> dict[str, Any]:
    is_path = source.startswith((".", "/", "~"))
    return {**made, "hostPath": source} if is_path else {**made, "volume": source}


def restart_policy(value: Any) -> str:
    """The restart policy of a service."""
    name, _, count = ("no" if value is False else str(value)).partition(":")
    if name not in _RESTART or count:
        raise ValueError(f"restart {value} is not supported; write no, always, on-failure or unless-stopped")
    return _RESTART[name]


def condition(value: Any) -> str:
    """The condition of a dependency."""
    if value not in _CONDITIONS:
        raise ValueError(f"{value} is no condition; write {', '.join(_CONDITIONS)}")
    return _CONDITIONS[value]


def probe(value: dict[str, Any]) -> dict[str, Any] | None:
    """The probe of a health check; None when it is switched off."""
    test = value.get("test")
    if value.get("disable") or test in (["NONE"], "NONE"):
        return None
    match test:
        case str():
            command = ["sh", "-c", test]
        case ["CMD", *rest]:
            command = [str(one) for one in rest]
        case ["CMD-SHELL", str(line)]:
            command = ["sh", "-c", line]
        case _:
            raise ValueError("a health check needs `test`: a text, [CMD, ...] or [CMD-SHELL, text]")
    return {
        "name": "healthcheck",
        "command": {"command": command},
        "intervalSeconds": seconds(value.get("interval", 30)),
        "timeoutSeconds": seconds(value.get("timeout", 30)),
    }
