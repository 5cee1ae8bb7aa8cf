"""Real kinds, and what a real kube-apiserver answered about them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from attractor.k8s import catalog
from attractor.schema.node import Schema

RECORDINGS = Path(__file__).parents[1] / "golden/kube-apiserver-1.36"
BUILTIN = {
    "ConfigMap": ("", "v1", "configmaps"),
    "Secret": ("", "v1", "secrets"),
    "Service": ("", "v1", "services"),
    "Deployment": ("apps", "v1", "deployments"),
}


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((RECORDINGS / f"{name}.json").read_text())["steps"]
    return steps


class Kinds:
    """Built-in kinds, and the custom kind of the recordings, by name."""

    def __contains__(self, kind: str) -> bool:
        return kind in BUILTIN or kind == "Widget"

    def schema(self, kind: str) -> Schema:
        if kind == "Widget":
            crd = recorded("crd-lifecycle")[0]["request"]["body"]
            return Schema(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        found = catalog.find(*BUILTIN[kind])
        assert found is not None
        return found.schema

    def empty(self, kind: str) -> dict[str, Any]:
        """What the kind's Go type encodes to when nothing is set."""
        if kind == "Widget":
            return {"apiVersion": "golden.example.org/v1", "kind": "Widget"}
        found = catalog.find(*BUILTIN[kind])
        assert found is not None
        return {"apiVersion": found.gvk.api_version, "kind": kind, **catalog.zero_object(found.definition)}

    def recorded(self, name: str) -> list[dict[str, Any]]:
        return recorded(name)


@pytest.fixture(scope="session")
def kinds() -> Kinds:
    return Kinds()
