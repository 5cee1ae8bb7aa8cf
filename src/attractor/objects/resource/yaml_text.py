"""YAML as Kubernetes tools read it: YAML 1.1 without timestamps, so that ``2026-01-31`` is a text.

The keys of objects become texts, as JSON wants them: ``8080`` and ``on`` (which YAML 1.1 takes for true) are the keys
``"8080"`` and ``"true"``. What Go takes for a number is one (``1e3``, ``0o17``), and a text that looks like that is
written with quotes.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
YAMLError = yaml.YAMLError
_GO_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)[eE][-+]?\d+\Z")
_GO_OCTAL = re.compile(r"0o[0-7]+\Z")


class _Loader(_BaseLoader):  # type: ignore[misc]
    """A safe loader that makes no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _BaseLoader.yaml_implicit_resolvers.items()
    }


class _Dumper(_BaseDumper):  # type: ignore[misc]
    """A safe dumper that repeats what is there twice, as people do."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _either in (_Loader, _Dumper):
    _either.add_implicit_resolver("tag:yaml.org,2002:float", _GO_FLOAT, list("-+.0123456789"))
    _either.add_implicit_resolver("tag:yaml.org,2002:int", _GO_OCTAL, ["0"])


def _octal(loader: Any, node: Any) -> Any:
    return int(node.value, 8) if _GO_OCTAL.match(node.value) else loader.construct_yaml_int(node)


def _float(loader: Any, node: Any) -> Any:
    """A number; what is too large for one stays a text, as in Go."""
    made = loader.construct_yaml_float(node)
    return node.value if math.isinf(made) and _GO_FLOAT.match(node.value) else made


_Loader.add_constructor("tag:yaml.org,2002:int", _octal)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def load(text: str | bytes) -> Any:
    """Read one document; ``yaml.YAMLError`` says line and column of what is wrong."""
    return _with_text_keys(yaml.load(text, Loader=_Loader))  # noqa: S506 - a SafeLoader


def load_all(text: str | bytes) -> list[Any]:
    """Read every document of a stream; empty documents are left out."""
    documents = yaml.load_all(text, Loader=_Loader)
    return [_with_text_keys(document) for document in documents if document is not None]


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_text_keys(item) for item in value]
    if isinstance(value, dict):
        return {_key(name): _with_text_keys(item) for name, item in value.items()}
    return value


def _key(name: Any) -> str:
    if isinstance(name, bool):
        return "true" if name else "false"
    if isinstance(name, str | int | float):
        return str(name)
    raise yaml.YAMLError(f"{name!r} cannot be the key of a JSON object")


def dump(value: Any) -> str:
    """Write one document, fields in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def dump_all(values: Iterable[Any]) -> str:
    """Write a stream of documents, each after its ``---``."""
    text: str = yaml.dump_all(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, explicit_start=True)
    return text
