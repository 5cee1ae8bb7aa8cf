"""One server for each module of the tour, one namespace for each test."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.kubectl.tool import Kubectl
from tests.serving import Serving, serving

_numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where kubectl keeps its cache of discovery."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(server: Serving, home: Path) -> Kubectl:
    namespace = f"tour-{next(_numbers)}"
    assert Kubectl(server, home)("create", "namespace", namespace) == f"namespace/{namespace} created\n"
    return Kubectl(server, home, namespace)
