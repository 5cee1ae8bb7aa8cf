"""What tests of several operators share."""

from collections.abc import Iterator

import pytest

from tests.operators.podman import Podman, podman


@pytest.fixture(scope="session")
def _podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    with podman(tmp_path_factory.mktemp("podman")) as made:
        yield made


@pytest.fixture(name="podman")
def _empty_podman(_podman: Podman) -> Iterator[Podman]:
    """A container runtime with an image and nothing else; a test that leaves containers there fails by name."""
    yield _podman
    _podman.clear()
