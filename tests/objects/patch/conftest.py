"""The published schema of a kind with nested merging lists."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from attractor.objects.schema.node import Schema


@pytest.fixture(scope="session")
def deployment() -> Schema:
    package = importlib.util.find_spec("kubernetes_validate")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "kubernetes-json-schema/v1.36.0-local/_definitions.json"
    definitions: dict[str, Any] = json.loads(path.read_text())["$defs"]

    @cache
    def resolve(ref: str) -> Schema:
        return Schema(definitions[ref.rpartition("/")[2]], resolve)

    return resolve("io.k8s.api.apps.v1.Deployment")
