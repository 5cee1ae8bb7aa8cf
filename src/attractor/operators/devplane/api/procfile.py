"""A Procfile as objects: each line ``name: command`` is an Executable, and one that listens has a Service.

A process listens if its command names ``$PORT``, or if it is called ``web``; it finds a free port there, so that two
instances of an application do not meet. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attractor.operators.devplane.api.application import API_VERSION, ApplicationError, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

WEB = "web"
_LINE = re.compile(r"^(?P<name>[A-Za-z0-9_-]+):\s*(?P<command>\S.*)$")
_PORT = re.compile(r"\$(?:PORT\b|\{PORT\b)")


def is_procfile(name: str) -> bool:
    """Return whether a file is one, by its name: ``Procfile``, or ``Procfile.dev``."""
    return name.rpartition("/")[2].split(".")[0] == "Procfile"


def parts(name: str, text: str, namespace: str = "default", env_files: Sequence[str] = ()) -> list[Part]:
    """The objects of a Procfile; raises ``ApplicationError`` with the line that is none."""
    found: dict[str, Part] = {}
    services: list[Part] = []
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{name}:{number}"
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (match := _LINE.match(line)) is None:
            raise ApplicationError(f"{place}: this is no line of a Procfile", "write `name: command`")
        process = match["name"].lower().replace("_", "-").strip("-")
        if process in found:
            raise ApplicationError(f"{place}: {process} is at {found[process].place} too", "give one another name")
        spec: dict[str, Any] = {"command": ["sh", "-c", match["command"].strip()], "envFiles": list(env_files)}
        if process == WEB or _PORT.search(match["command"]):
            spec["serves"] = [{"service": process}]
            spec["env"] = [{"name": "PORT", "value": f'{{{{portForServing "{process}"}}}}'}]
            services.append(_part(place, "Service", process, namespace, {}))
        found[process] = _part(place, "Executable", process, namespace, spec)
    if not found:
        raise ApplicationError(f"{name}: there is no process in it", "write lines `name: command`")
    return [*services, *found.values()]


def _part(place: str, kind: str, name: str, namespace: str, spec: dict[str, Any]) -> Part:
    metadata = {"name": name, "namespace": namespace}
    return Part(place, {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec})
