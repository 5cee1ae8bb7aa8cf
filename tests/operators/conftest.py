"""What tests of several operators share."""

from collections.abc import Iterator

import pytest

from tests.operators.podman import Podman, podman


@pytest.fixture(scope="session")
def _podman() -> Iterator[Podman]:
    with podman() as made:
        yield made


@pytest.fixture(name="podman")
def _empty_podman(_podman: Podman) -> Iterator[Podman]:
    """A container runtime with an image and nothing else; what a test leaves there is removed."""
    yield _podman
    _podman.clear()
