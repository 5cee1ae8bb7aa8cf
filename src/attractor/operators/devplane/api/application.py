"""An application as its author writes it: YAML files with Executables, Containers, Services and the like.

``read`` answers the objects of some files, each with the place where it stands, or says what is wrong with the first
that cannot be right: no YAML, a kind or a field that there is not, two objects of one name. ``doubts`` names what may
be meant but looks like a slip: a Service that nobody serves, or one that somebody waits for and that is not there.
Pure: no server is asked, and what only a server knows (whether values are valid) is not looked at here.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from yaml.constructor import SafeConstructor

from attractor.operators.devplane.api.container_networks import (
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerVolume,
)
from attractor.operators.devplane.api.containers import Container, ContainerExec
from attractor.operators.devplane.api.executables import GROUP, VERSION, Executable, ExecutableReplicaSet
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.api.templates import references

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from attractor.objects.resource import Resource

CONTAINER_KINDS: tuple[type[Resource], ...] = (
    Container,
    ContainerExec,
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerVolume,
)
"""What a container runtime has, or runs."""
PROCESS_KINDS: tuple[type[Resource], ...] = (Service, Executable, ExecutableReplicaSet)
KINDS: Mapping[str, type[Resource]] = {kind.__name__: kind for kind in (*PROCESS_KINDS, *CONTAINER_KINDS)}
"""What an application consists of, by name. Endpoints are not among them: they are made for whoever serves."""
API_VERSION = f"{GROUP}/{VERSION}"


class ApplicationError(Exception):
    """The files cannot be used; the text says where and why, ``hint`` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Part:
    """One object of an application, and where it stands."""

    place: str
    """File and line, such as ``app.yaml:12``."""
    object: dict[str, Any]

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return str(self.object["kind"])

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The object's namespace."""
        return str(self.object["metadata"]["namespace"])

    @property
    def about(self) -> tuple[str, str, str]:
        """Return the kind and key, which no two parts share."""
        return self.kind, self.namespace, self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def read(files: Iterable[tuple[str, str]], namespace: str = "default") -> list[Part]:
    """The objects of some files, given by name and content; raises ``ApplicationError``."""
    parts: list[Part] = []
    known: dict[tuple[str, str, str], Part] = {}
    for name, text in files:
        for place, document in _documents(name, text):
            part = _part(place, document, namespace)
            if (other := known.get(part.about)) is not None:
                raise ApplicationError(f"{place}: {part} is at {other.place} too", "give one of them another name")
            known[part.about] = part
            parts.append(part)
    if not parts:
        raise ApplicationError(
            "there is no object in what was given", f"write objects of {API_VERSION}: {', '.join(KINDS)}"
        )
    return parts


def _documents(name: str, text: str) -> Iterator[tuple[str, Any]]:
    """The documents of a file that are not empty, each with its place."""
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            if node is not None:
                place = f"{name}:{node.start_mark.line + 1}"
                document = SafeConstructor().construct_document(node)
                if document is not None:
                    yield place, document
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = name if mark is None else f"{name}:{mark.line + 1}:{mark.column + 1}"
        why = getattr(error, "problem", None) or str(error)
        raise ApplicationError(f"{where}: this is no YAML: {why}", "look at indentation and quotes there") from error


def _part(place: str, document: Any, namespace: str) -> Part:
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise ApplicationError(
            f"{place}: this is no object: it has no kind",
            f"begin with `apiVersion: {API_VERSION}` and `kind: Executable`",
        )
    kind = document["kind"]
    if document.get("apiVersion") != API_VERSION or kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        meant = (
            f"did you mean {near[0]} of {API_VERSION}?" if near else f"there are: {', '.join(KINDS)} of {API_VERSION}"
        )
        raise ApplicationError(
            f"{place}: {kind} of {document.get('apiVersion')} is no kind of the developer control plane", meant
        )
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise ApplicationError(f"{place}: this {kind} has no name", "write `metadata: {name: ...}`")
    part = Part(place, {**document, "metadata": {"namespace": namespace, **metadata}})
    check_fields(part)
    return part


def check_fields(part: Part) -> None:
    """Raise ``ApplicationError`` for a field that the kind of a part does not have."""
    schema = KINDS[part.kind].crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, fields in _unknown(part.object, schema, ""):
        name = path.rpartition(".")[2]
        near = difflib.get_close_matches(name, fields, n=1)
        meant = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(fields))}"
        raise ApplicationError(f"{part.place}: {part} has no field {path.lstrip('.')}", meant)


def _unknown(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, list[str]]]:
    """The fields that a schema does not have, each with those that it has in that place."""
    if isinstance(value, dict) and "properties" in schema:
        fields = schema["properties"]
        for name, inner in value.items():
            if name in fields:
                yield from _unknown(inner, fields[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}", list(fields)
    elif isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from _unknown(inner, schema["items"], f"{path}[{number}]")


def doubts(parts: Sequence[Part]) -> list[str]:
    """Return warnings about what looks like a slip; nothing of it is an error, for objects may be added later."""
    services = {(part.namespace, part.name): part for part in parts if part.kind == "Service"}
    served: dict[tuple[str, str], Part] = {}
    asked: dict[tuple[str, str], Part] = {}
    for part in parts:
        spec = _process(part)
        for one in spec.get("serves") or []:
            if isinstance(one, dict):
                served.setdefault((part.namespace, str(one.get("service"))), part)
        for reference in references(_texts(spec)):
            asked.setdefault((part.namespace, reference.service), part)
    found = [
        f"nobody serves {part} ({part.place}): no Executable or Container has `serves: [{{service: {part.name}}}]`"
        for key, part in services.items()
        if key not in served
    ]
    found += [
        f"{part} ({part.place}) serves Service {key[1]}, which is not there; nobody finds it"
        for key, part in served.items()
        if key not in services
    ]
    found += [
        f"{part} ({part.place}) waits for Service {key[1]}, which is not there; it starts when there is one"
        for key, part in asked.items()
        if key not in services and key not in served
    ]
    return found


def _process(part: Part) -> dict[str, Any]:
    """Return the process template of a part; nothing for a Service."""
    spec = part.object.get("spec") or {}
    if part.kind == "ExecutableReplicaSet":
        spec = (spec.get("template") or {}).get("spec") or {}
    return spec if part.kind != "Service" and isinstance(spec, dict) else {}


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
