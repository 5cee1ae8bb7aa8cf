"""CustomResourceDefinitions from files, created or brought up to date when a server starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from attractor.apiserver.request.operation import APPLY_PATCH, Operation, WriteOptions
from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attractor.apiserver.server import Server

_SUFFIXES = {".yaml", ".yml", ".json"}
_KIND = "CustomResourceDefinition"


class DefinitionFileError(Exception):
    """A file cannot be used; the text names it and says why."""


def read_definitions(directory: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every CustomResourceDefinition in a directory's files, in order of name; other kinds are left alone."""
    for path in sorted(directory.iterdir()):
        if path.suffix not in _SUFFIXES:
            continue
        try:
            documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise DefinitionFileError(f"{path} cannot be read: {error}") from error
        for document in documents:
            if isinstance(document, dict) and document.get("kind") == _KIND:
                yield path, document


async def load_definitions(server: Server, directory: Path) -> list[str]:
    """Apply a directory's definitions; answers their names. Raises ``DefinitionFileError``."""
    names: list[str] = []
    for path, definition in read_definitions(directory):
        name = str((definition.get("metadata") or {}).get("name") or "")
        op = Operation(
            verb="patch",
            group="apiextensions.k8s.io",
            version="v1",
            resource="customresourcedefinitions",
            name=name,
            body=definition,
            patch_type=APPLY_PATCH,
            write=WriteOptions(field_manager="attractor-serve", force=True),
        )
        try:
            await server.perform(op)
        except ApiError as error:
            raise DefinitionFileError(f"{path}: {error.message}") from error
        names.append(name)
    return names
