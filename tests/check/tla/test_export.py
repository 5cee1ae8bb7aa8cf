"""What the exporter writes, and what it refuses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from attractor.check import Bag, Composition, Spec, action, always, require, until, var
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.peterson import Peterson
from attractor.check.tla import OutsideSubset, export
from tests.check.tla.every_construct import EveryConstruct


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip() == text)


class Looping(Spec):
    n: int = var(0)

    @action
    def spin(self) -> None:
        while self.n < 3:
            self.n += 1


class Random(Spec):
    n: int = var(0)

    @action
    def roll(self) -> None:
        self.n = random.randint(1, self.n)


class Sorting(Spec):
    n: tuple[int, ...] = var((2, 1))

    @action
    def sort(self) -> None:
        self.n = tuple(sorted(self.n))

    @action
    def drop(self) -> None:
        for each in self.n:
            require(each > 0)


class Bagged(Spec):
    n: Bag[int] = var(Bag())


class Promising(Spec):
    n: int = var(0)

    @action
    def up(self) -> None:
        require(self.n < 2)
        self.n += 1

    @always
    def printed(self) -> bool:
        return f"{self.n}" != "3"

    waits = until(lambda self: self.n < 2, lambda self: self.n == 2)


def test_an_action_reads_like_hand_written_tla() -> None:
    module = export(Peterson()).module
    assert '\nEnter(p) ==\n  /\\ at[p] = "waiting"\n' in module
    assert '  /\\ at\' = [at EXCEPT ![p] = "critical"]\n' in module
    assert "  /\\ UNCHANGED <<flag, turn>>\n" in module


def test_constants_are_set_by_the_configuration() -> None:
    exported = export(Irsa(workers=3))
    assert "CONSTANTS NULL, workers\n" in exported.module
    assert "  workers = 3\n" in exported.safety


def test_a_constant_that_the_export_has_used_is_fixed_in_the_module() -> None:
    exported = export(EveryConstruct(limit=3))
    assert "\nlimit == 3\n" in exported.module
    assert "limit" not in exported.safety


def test_liveness_has_a_configuration_of_its_own() -> None:
    exported = export(Irsa(workers=2))
    assert "SPECIFICATION Safe" in exported.safety
    assert "PROPERTIES" not in exported.safety
    assert exported.liveness is not None
    assert "  Terminates\n" in exported.liveness


def test_every_helper_becomes_one_operator() -> None:
    module = export(Irsa(workers=2)).module
    assert module.count("\nReconciles(w, request) ==") == 1
    assert '/\\ Reconciles(w, "irsa")' in module


@pytest.mark.parametrize(
    ("spec", "line", "reason"),
    [
        (Looping(), "while self.n < 3:", "`while self.n < 3:` has no translation"),
        (Random(), "self.n = random.randint(1, self.n)", "`random.randint(1, self.n)` has no translation"),
        (Sorting(), "self.n = tuple(sorted(self.n))", "`sorted(self.n)` has no translation"),
        (Sorting(), "for each in self.n:", "goes through what depends on the state"),
    ],
    ids=str,
)
def test_what_is_outside_the_subset_is_refused_with_line_and_reason(spec: Spec, line: str, reason: str) -> None:
    with pytest.raises(OutsideSubset) as refused:
        export(spec)
    assert f"test_export.py:{line_of(line)}: " in str(refused.value)
    assert reason in str(refused.value)


def test_values_without_a_form_are_refused_by_name() -> None:
    with pytest.raises(OutsideSubset, match=r"Bagged\.n: its initial value Bag\(\[\]\) has no form in TLA\+"):
        export(Bagged())


def test_a_composition_is_refused() -> None:
    with pytest.raises(OutsideSubset, match="export its parts"):
        export(Composition(Looping(), Random()))


def test_properties_outside_the_subset_are_left_out_and_named() -> None:
    exported = export(Promising())
    assert [each.partition(":")[0] for each in exported.left_out] == ["printed", "waits"]
    assert "\\* Left out: waits: TLA+ has no `until`" in exported.module
    assert "Printed" not in exported.module
