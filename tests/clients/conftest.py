"""One server for each module, one namespace for each test, and a kind of our own for clients that make kinds up."""

import gc
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from kubernetes import client, config

from tests.serving import Serving, serving

_numbers = count(1)
LEAKY = (
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("collected"),
)
"""For clients that leave sockets to the garbage collector: that is their affair, not a fault of the server's."""

GROUP, VERSION, PLURAL = "example.org", "v1", "gadgets"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0},
                                    "colour": {"type": "string", "default": "blue"},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def collected() -> Iterator[None]:
    """What a client leaves behind is collected while its test still counts, not in somebody else's."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for ``--crds``."""
    directory = tmp_path_factory.mktemp("crds")
    (directory / "gadgets.json").write_text(json.dumps(DEFINITION))
    return directory


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, definitions: Path) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server"), "--crds", str(definitions)) as running:
        yield running


@pytest.fixture(scope="module")
def official(server: Serving) -> Iterator[client.ApiClient]:
    """The official client, configured from the kubeconfig as its users do it."""
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        yield api


@pytest.fixture
def namespace(official: client.ApiClient) -> str:
    name = f"guest-{next(_numbers)}"
    client.CoreV1Api(official).create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    return name
