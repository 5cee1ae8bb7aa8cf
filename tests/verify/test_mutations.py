"""Every mutated certificate is rejected: damaged ones by their digests, those that were sealed again by the proof."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from attractor.check import check
from attractor.check.specs.irsa import Irsa
from attractor_verify import Rejected, verify
from tests.quality.zoo import recreates_without_waiting
from tests.verify.mutations import MUTATIONS, Opened, damage
from tests.verify.test_verify import Ring

SUBJECTS: dict[str, Any] = {
    "ring": Ring,
    "irsa": lambda: Irsa(workers=2),
    "world": lambda: recreates_without_waiting.world(recreates_without_waiting.fixed),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Opened]]:
    found = {}
    for name in ("ring", "world"):
        path = tmp_path_factory.mktemp(name) / "proof.cert"
        check(SUBJECTS[name](), certificate=path).assert_holds(within=["not_too_long"])
        found[name] = path, Opened.of(path)
    return found


@pytest.mark.parametrize("name", ["ring", "world"])
def test_a_certificate_taken_apart_and_sealed_again_verifies(
    opened: dict[str, tuple[Path, Opened]], name: str, tmp_path: Path
) -> None:
    opened[name][1].seal(tmp_path / "again.cert")
    verify(tmp_path / "again.cert", SUBJECTS[name]())


@pytest.mark.parametrize(
    "seeds", [range(50), pytest.param(range(50, 500), marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_damaged_files_are_rejected(opened: dict[str, tuple[Path, Opened]], tmp_path: Path, seeds: range) -> None:
    original = opened["world"][0].read_bytes()
    for seed in seeds:
        damaged = damage(original, random.Random(seed))
        (tmp_path / "damaged.cert").write_bytes(damaged)
        with pytest.raises(Rejected):
            verify(tmp_path / "damaged.cert", SUBJECTS["world"]())


@pytest.mark.parametrize("name", ["ring", "world"])
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 30), marks=pytest.mark.nightly)], ids=["few", "many"]
)
@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda each: each.__name__)
def test_lies_that_are_sealed_again_are_rejected(
    opened: dict[str, tuple[Path, Opened]], tmp_path: Path, name: str, seeds: range, mutate: Any
) -> None:
    for seed in seeds:
        lie = opened[name][1].copied()
        mutate(lie, random.Random(seed))
        lie.seal(tmp_path / "lie.cert")
        with pytest.raises(Rejected):
            verify(tmp_path / "lie.cert", SUBJECTS[name]())
