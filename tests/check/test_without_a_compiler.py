"""Installed where no C compiler was: the Python engine explores, and says what would be faster."""

from __future__ import annotations

import pytest

from attractor.check import SpecError, check
from attractor.check.engine import selection
from attractor.check.specs.peterson import Peterson


@pytest.fixture(autouse=True)
def _nothing_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "HAS_KERNEL", False)


def test_the_python_engine_explores_in_one_thread_and_tells_why() -> None:
    verdict = check(Peterson(), threads=4).assert_holds()
    assert (verdict.engine, verdict.threads) == ("python", 1)
    assert [each.split(";")[0] for each in verdict.advice] == ["the native engine was not built"]


def test_who_asks_for_the_python_engine_is_not_told() -> None:
    assert check(Peterson(), engine="python").advice == ()


def test_who_insists_on_the_native_engine_is_told_how_to_get_it() -> None:
    with pytest.raises(SpecError, match="install a C compiler"):
        check(Peterson(), engine="native")
