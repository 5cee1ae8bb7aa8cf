"""TLC, run on the export of random specifications, counts the same states and gives the same verdicts."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from attractor.check import Spec, check
from attractor.check.tla import export
from tests.check.tla import tlc
from tests.check.tla.random_sources import sources

if TYPE_CHECKING:
    from attractor.check import Verdict

pytestmark = pytest.mark.slow

FEW = settings(
    max_examples=8,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
MANY = settings(FEW, max_examples=400)


def loaded(text: str, folder: Path) -> Spec:
    path = folder / "random_spec.py"
    path.write_text(text)
    found = importlib.util.spec_from_file_location("random_spec", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    made: Spec = module.Random()
    return made


def assert_tlc_agrees(text: str) -> None:
    """Distinct states and depth where safety holds, and the verdicts on safety and on the promise, are the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = loaded(text, folder)
        ours = check(spec, deadlock=False)
        exported = export(spec)
        assert not exported.left_out, (exported.left_out, text)
        for file, content in exported.files.items():
            (folder / file).write_text(content)
        shown = text[text.index("    @action") :] + exported.files["Random.tla"]
        assert_safety_agrees(ours, tlc.run(folder / "Random.tla", folder / "Random.cfg", "-deadlock"), shown)
        promise = tlc.run(folder / "Random.tla", folder / "RandomLiveness.cfg", "-deadlock")
        assert promise.is_fine == (ours["promise"].verdict == "holds"), f"{ours}\n{shown}{promise.text}"
        assert promise.is_fine or "Temporal properties were violated" in promise.text, shown + promise.text


def assert_safety_agrees(ours: Verdict, answer: tlc.Answer, shown: str) -> None:
    holds = all(ours[name].verdict == "holds" for name in ("invariant", "judged"))
    assert answer.is_fine == holds, f"{ours}\n{shown}{answer.text}"
    if holds:
        assert (answer.distinct, answer.depth) == (ours.distinct, ours.depth), f"{ours}\n{shown}{answer.text}"
    else:
        assert "is violated" in answer.text, shown + answer.text


@FEW
@given(text=sources())
def test_tlc_agrees_on_random_specifications(text: str) -> None:
    assert_tlc_agrees(text)


@pytest.mark.nightly
@MANY
@given(text=sources())
def test_tlc_agrees_on_many_random_specifications(text: str) -> None:
    assert_tlc_agrees(text)
