"""YAML as Kubernetes tools read it: YAML 1.1 without timestamps, so that ``2026-01-31`` is a text."""

from __future__ import annotations

from typing import Any

import yaml

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Loader(_BaseLoader):  # type: ignore[misc]
    """A safe loader that makes no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _BaseLoader.yaml_implicit_resolvers.items()
    }


def load(text: str | bytes) -> Any:
    """Read one document; ``yaml.YAMLError`` says line and column of what is wrong."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader


def load_all(text: str | bytes) -> list[Any]:
    """Read every document of a stream; empty documents are left out."""
    return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]


def dump(value: Any) -> str:
    """Write one document, fields in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text
