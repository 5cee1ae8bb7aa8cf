"""YAML as Kubernetes tools read it: YAML 1.1 without timestamps, so that ``2026-01-31`` is a text.

The keys of objects become texts, as JSON wants them: ``8080`` and ``on`` (which YAML 1.1 takes for true) are the keys
``"8080"`` and ``"true"``.
"""

from __future__ import annotations

from typing import Any

import yaml

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
YAMLError = yaml.YAMLError


class _Loader(_BaseLoader):  # type: ignore[misc]
    """A safe loader that makes no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _BaseLoader.yaml_implicit_resolvers.items()
    }


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
