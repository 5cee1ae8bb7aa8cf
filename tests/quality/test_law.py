"""The law, for the zoo: the worlds of its controllers, wrong and right ones, admit what they do on the runtime."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from attractor.testing.random_runs import wander
from tests.quality.test_zoo import ANIMALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.quality.test_zoo import Animal


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda each: each.name)
def test_an_animals_world_admits_what_it_does(animal: Animal) -> None:
    for seed, which in enumerate(("buggy", "fixed")):
        found = asyncio.run(wander(animal.world(which), seed=seed, steps=30))
        assert found.is_admitted, str(found)


@pytest.mark.nightly
@pytest.mark.parametrize("animal", ANIMALS, ids=lambda each: each.name)
def test_an_animals_world_admits_many_runs(animal: Animal) -> None:
    for seed in range(2, 60):
        for which in ("buggy", "fixed"):
            found = asyncio.run(wander(animal.world(which), seed=seed, steps=50))
            assert found.is_admitted, str(found)
