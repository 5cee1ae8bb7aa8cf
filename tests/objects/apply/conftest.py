"""Schemas of real kinds, and what a real kube-apiserver answered."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from attractor.objects.schema.node import Schema

RECORDINGS = Path(__file__).parent / "recordings"


@cache
def definitions() -> dict[str, Any]:
    package = importlib.util.find_spec("kubernetes_validate")
    assert package is not None
    assert package.origin is not None
    published = Path(package.origin).parent / "kubernetes-json-schema/v1.36.0-local/_definitions.json"
    defs: dict[str, Any] = json.loads(published.read_text())["$defs"]
    return defs


@cache
def published(ref: str) -> Schema:
    return Schema(definitions()[ref.rpartition("/")[2]], published)


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((RECORDINGS / f"{name}.json").read_text())["steps"]
    return steps


class Kinds:
    """Kinds by name: schema, and the object that their Go type encodes to when nothing is set."""

    CORE = "io.k8s.api.core.v1"
    EMPTY: ClassVar[dict[str, dict[str, Any]]] = {
        "ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}},
        "Secret": {"apiVersion": "v1", "kind": "Secret", "metadata": {}},
        "Service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {},
            "spec": {},
            "status": {"loadBalancer": {}},
        },
        "Deployment": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {},
            "spec": {
                "selector": None,
                "template": {"metadata": {}, "spec": {"containers": None}},
                "strategy": {},
            },
            "status": {},
        },
        "Widget": {"apiVersion": "golden.example.org/v1", "kind": "Widget"},
    }

    def schema(self, kind: str) -> Schema:
        if kind == "Widget":
            crd = recorded("crd-lifecycle")[0]["request"]["body"]
            return Schema(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        package = "io.k8s.api.apps.v1" if kind == "Deployment" else self.CORE
        return published(f"{package}.{kind}")

    def empty(self, kind: str) -> dict[str, Any]:
        return self.EMPTY[kind]

    def recorded(self, name: str) -> list[dict[str, Any]]:
        return recorded(name)


@pytest.fixture(scope="session")
def kinds() -> Kinds:
    return Kinds()
