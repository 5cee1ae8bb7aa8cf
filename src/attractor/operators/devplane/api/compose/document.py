"""Compose files read as the Compose Specification says: one mapping of all, and the line of everything in it."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml
from yaml.constructor import SafeConstructor

from attractor.operators.devplane.api.application import ApplicationError
from attractor.operators.devplane.api.compose.interpolation import BadInterpolation, interpolate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Path: TypeAlias = "tuple[str | int, ...]"
REPLACED = frozenset({"command", "entrypoint", "test"})
"""Sequences that a later file replaces; others it adds to."""
KEYED = frozenset({"environment", "labels", "args", "extra_hosts", "sysctls", "annotations"})
"""What may be a list of ``NAME=value``, and is a mapping in truth."""
RELATIVE = frozenset({"build", "env_file", "volumes", "configs", "secrets"})


class ComposeError(ApplicationError):
    """A compose file that cannot be used; the text says where and why."""


@dataclass(frozen=True)
class Source:
    """Where compose files and their variables are taken from."""

    read: Callable[[str], str]
    """A file's text, by its path; raises ``OSError``."""
    variables: Mapping[str, str]
    """For interpolation: the environment, and what ``.env`` says."""


@dataclass
class Document:
    """Compose files, merged: their content, and where each part of it stands."""

    content: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, str] = field(default_factory=dict)
    """File and line, such as ``compose.yaml:12``, by the way to the value."""

    def place(self, *path: str | int) -> str:
        """Return where a value stands; where what it is in stands, if that is not known."""
        for end in range(len(path), -1, -1):
            if (found := self.places.get(path[:end])) is not None:
                return found
        return ""


def load(name: str, source: Source, seen: tuple[str, ...] = ()) -> Document:
    """A compose file with all that it includes and extends; raises ``ComposeError``."""
    if name in seen:
        raise ComposeError(f"{name} includes itself, by way of {' and '.join(seen)}", "leave one `include` out")
    document = parse(name, _text(name, source), source.variables)
    for entry in _includes(document):
        other = load(posixpath.normpath(posixpath.join(posixpath.dirname(name), entry)), source, (*seen, name))
        document = merged(other, document)
    document.content.pop("include", None)
    services = document.content.get("services") or {}
    for service in services:
        _extend(document, service, name, source, (service,))
    return document


def _text(name: str, source: Source) -> str:
    try:
        return source.read(name)
    except OSError as error:
        raise ComposeError(
            f"{name} cannot be read: {error.strerror}", "look at the path of the compose file"
        ) from error


def is_compose(text: str) -> bool:
    """Return whether a YAML text is a compose file: it has services, and is no object."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return False
    if not isinstance(node, yaml.MappingNode):
        return False
    keys = {key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}
    return bool(keys & {"services", "include"}) and "kind" not in keys


def parse(name: str, text: str, variables: Mapping[str, str]) -> Document:
    """One file, interpolated, with its lines; raises ``ComposeError``."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = name if mark is None else f"{name}:{mark.line + 1}"
        raise ComposeError(f"{where}: this is no YAML: {error}", "look at indentation and quotes there") from error
    document = Document()
    content = _Reader(name, variables, document.places).value(node, ()) if node is not None else None
    if not isinstance(content, dict):
        raise ComposeError(f"{name}:1: this is no compose file", "begin with `services:`")
    document.content = content
    return document


class _Reader:
    """Turns the nodes of a YAML file into values."""

    def __init__(self, name: str, variables: Mapping[str, str], places: dict[Path, str]) -> None:
        self._name, self._variables, self._places = name, variables, places
        self._constructor = SafeConstructor()

    def value(self, node: yaml.Node, path: Path) -> Any:
        place = f"{self._name}:{node.start_mark.line + 1}"
        self._places.setdefault(path, place)
        if isinstance(node, yaml.MappingNode):
            self._constructor.flatten_mapping(node)
            found = {}
            for key_node, inner in node.value:
                key = str(key_node.value)
                self._places[*path, key] = f"{self._name}:{key_node.start_mark.line + 1}"
                found[key] = self.value(inner, (*path, key))
            return found
        if isinstance(node, yaml.SequenceNode):
            return [self.value(inner, (*path, number)) for number, inner in enumerate(node.value)]
        value = self._constructor.construct_object(node)
        if not isinstance(value, str):
            return value if value is None or isinstance(value, bool | int | float) else str(node.value)
        try:
            return interpolate(value, self._variables)
        except BadInterpolation as error:
            raise ComposeError(f"{place}: {error}", "set the variable, or mend the text") from None


def _includes(document: Document) -> list[str]:
    found: list[str] = []
    for number, entry in enumerate(document.content.get("include") or []):
        paths = entry.get("path") if isinstance(entry, dict) else entry
        if isinstance(entry, dict) and entry.keys() - {"path"}:
            raise ComposeError(
                f"{document.place('include', number)}: of an include only `path` is supported", "leave the rest out"
            )
        found += paths if isinstance(paths, list) else [str(paths)]
    return found


def _extend(document: Document, service: str, name: str, source: Source, seen: tuple[str, ...]) -> None:
    """Put what a service extends under it."""
    spec = document.content["services"][service]
    if not isinstance(spec, dict) or (asked := spec.pop("extends", None)) is None:
        return
    place = document.place("services", service, "extends")
    wanted = asked if isinstance(asked, dict) else {"service": asked}
    other_name = str(wanted.get("service", ""))
    other_file = wanted.get("file")
    if other_file is None:
        other, file = replace(document), name
    else:
        file = posixpath.normpath(posixpath.join(posixpath.dirname(name), str(other_file)))
        other = parse(file, _text(file, source), source.variables)
    if other_name not in (other.content.get("services") or {}):
        raise ComposeError(f"{place}: there is no service {other_name} in {file} to extend", "look at its name")
    if other_name in seen and other_file is None:
        raise ComposeError(f"{place}: service {service} extends itself", "leave one `extends` out")
    _extend(other, other_name, file, source, (*seen, other_name))
    below = _rebased(other.content["services"][other_name], posixpath.dirname(file), posixpath.dirname(name))
    for path, where in list(other.places.items()):
        if path[:2] == ("services", other_name):
            document.places.setdefault(("services", service, *path[2:]), where)
    document.content["services"][service] = _merged(below, spec, "")


def _rebased(spec: Any, directory: str, onto: str) -> Any:
    """A service of another directory, with its relative paths seen from this one."""
    way = posixpath.relpath(directory or ".", onto or ".")
    if way == ".":
        return spec

    def moved(text: Any) -> Any:
        return posixpath.normpath(posixpath.join(way, text)) if isinstance(text, str) and text.startswith(".") else text

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        return [walk(inner) for inner in value] if isinstance(value, list) else moved(value)

    return {key: walk(value) if key in RELATIVE else value for key, value in spec.items()}


def merged(below: Document, above: Document) -> Document:
    """Two documents: what ``above`` says wins, as the Specification's rules of merging have it."""
    return Document(_merged(below.content, above.content, ""), {**below.places, **above.places})


def _merged(below: Any, above: Any, key: str) -> Any:
    if key in KEYED:
        below, above = mapping_of(below), mapping_of(above)
    if isinstance(below, dict) and isinstance(above, dict):
        both = {name: _merged(below[name], above[name], name) for name in below if name in above}
        return {**below, **above, **both}
    if isinstance(below, list) and isinstance(above, list) and key not in REPLACED:
        return [*below, *(one for one in above if one not in below)]
    return below if above is None else above


def mapping_of(value: Any) -> Any:
    """A list of ``NAME=value`` as the mapping that it means; a name without a value is taken from the environment."""
    if not isinstance(value, list):
        return value
    pairs = (str(one).partition("=") for one in value)
    return {name: inner if equals else None for name, equals, inner in pairs}


def active(document: Document, profiles: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The services that are to run: those without profiles, and those of the profiles that are active."""
    services: dict[str, dict[str, Any]] = document.content.get("services") or {}
    wanted = set(profiles)
    return {
        name: spec
        for name, spec in services.items()
        if not (spec or {}).get("profiles") or wanted & set(spec["profiles"]) or "*" in wanted
    }
