"""Certificates verify, by C and by plain Python alike, and say what they show."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from attractor.check import (
    Spec,
    action,
    always_eventually,
    check,
    constraint,
    eventually,
    eventually_always,
    henceforth,
    leads_to,
    refines,
    require,
    sometimes,
    until,
    var,
)
from attractor.check.errors import SpecError
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.philosophers import Philosophers
from attractor.check.specs.transaction_commit import CommitProtocol
from attractor.check.specs.twophase import TwoPhaseCommit
from attractor_verify import Rejected, proof, verify
from attractor_verify.closure import Closure
from attractor_verify.replay import alike
from tests.check.random_specs import make_spec, programs
from tests.quality.zoo import counter_in_memory, two_owners_of_one_child
from tests.verify.plain import Plain

if TYPE_CHECKING:
    from attractor.check.api import Checkable

SOURCES = Path(__file__).parents[2] / "src" / "attractor_verify"


class Ring(Spec):
    """A token that goes round, and a light that somebody may switch off, once."""

    at: int = var(0)
    lit: bool = var(True)
    seen: int = var(0)

    @action(fair="weak")
    def pass_on(self) -> None:
        """The token goes on."""
        self.at = (self.at + 1) % 3
        self.seen = self.seen + 1

    @action
    def put_out(self) -> None:
        """Somebody switches the light off."""
        require(self.lit)
        self.lit = False

    @action(fair="weak")
    def light(self) -> None:
        """It is switched on again."""
        require(not self.lit)
        self.lit = True

    @constraint
    def not_too_long(self) -> bool:
        """It is looked at for so long."""
        return self.seen < 9

    comes_round = always_eventually(lambda self: self.at == 0)
    is_lit_again = leads_to(lambda self: not self.lit, lambda self: self.lit)
    is_passed_on = leads_to(henceforth(lambda self: self.at == 1), lambda self: self.at == 2)
    gets_to_two = eventually(lambda self: self.at == 2)
    stays_low_until_two = until(lambda self: self.at < 2, lambda self: self.at == 2)
    has_begun = eventually_always(lambda self: self.seen >= 0)

    @sometimes
    def is_dark(self) -> bool:
        """The light is out."""
        return not self.lit


def certified(path: Path, spec: Checkable) -> Path:
    """The certificate of what holds."""
    check(spec, certificate=path).assert_holds(within=["not_too_long"])
    return path


@pytest.mark.parametrize(
    "spec",
    [
        Ring(),
        TwoPhaseCommit(),
        Irsa(workers=2),
        CommitProtocol(),
        counter_in_memory.world(counter_in_memory.fixed),
        two_owners_of_one_child.world(two_owners_of_one_child.fixed),
    ],
    ids=["ring", "two-phase commit", "irsa", "refinement", "world", "world with background work"],
)
def test_what_holds_has_a_certificate_that_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: Checkable
) -> None:
    path = tmp_path / "proof.cert"
    verdict = check(spec, certificate=path).assert_holds(within=["not_too_long"])
    for closure in (Closure, Plain):
        monkeypatch.setattr(proof, "Closure", closure)
        shown = verify(path, spec)
        assert shown.states == verdict.distinct
        assert set(shown.properties) == {each.name for each in verdict.properties}
        assert shown.bounds == tuple(each.text for each in verdict.binding)
        assert shown.within[: len(verdict.within)] == verdict.within


@settings(max_examples=40)
@given(programs)
def test_certificates_of_random_specifications_verify(
    tmp_path_factory: pytest.TempPathFactory, program: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.cert"
    spec = make_spec(program)
    names = [each.name for each in check(spec, deadlock=False).properties if each.verdict.startswith("holds")]
    verdict = check(spec, properties=names, deadlock=False, certificate=path)
    if not path.exists():
        assert any("strong fairness" in each or "outside the constraint" in each for each in verdict.warnings)
        return
    assert set(verify(path, spec).properties) == set(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "Closure", Plain)
        assert set(verify(path, spec).properties) == set(names)


def test_a_certificate_names_its_subject(tmp_path: Path) -> None:
    path = certified(tmp_path / "irsa.cert", Irsa(workers=2))
    assert verify(path).title == "Irsa(workers=2)"


class Nowhere(Spec):
    """A specification that begins outside its constraint, so that there is no state to look at."""

    at: int = var(0)

    @action
    def go_on(self) -> None:
        """It goes on."""
        self.at = self.at + 1

    @constraint
    def is_far(self) -> bool:
        """Only later states are looked at."""
        return self.at > 0


def test_a_certificate_without_states_verifies(tmp_path: Path) -> None:
    path = tmp_path / "proof.cert"
    check(Nowhere(), certificate=path)
    assert verify(path, Nowhere()).states == 0


def test_what_is_violated_has_no_certificate_and_an_older_one_goes(tmp_path: Path) -> None:
    path = tmp_path / "proof.cert"
    path.write_text("an older one")
    verdict = check(Irsa(workers=1), certificate=path)
    assert "no certificate was written: the verdict is violated" in verdict.warnings
    assert not path.exists()


def test_what_rests_on_strong_fairness_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "proof.cert"
    verdict = check(Philosophers(), certificate=path).assert_holds()
    (told,) = [each for each in verdict.warnings if "certificate" in each]
    assert "`none_starves` holds, but it rests on strong fairness" in told
    assert not path.exists()


class Alternating(Spec):
    """A lamp that goes on and off for ever."""

    on: bool = var(False)

    @action(fair="weak")
    def switch(self) -> None:
        """It is switched."""
        self.on = not self.on


class Counted(Spec):
    """The same lamp, made of a counter."""

    at: int = var(0)

    @action(fair="weak")
    def go_on(self) -> None:
        """It goes on."""
        self.at = (self.at + 1) % 4

    @refines(Alternating())
    def is_a_lamp(self) -> dict[str, bool]:
        """Odd numbers are on."""
        return {"on": self.at % 2 == 1}


def test_what_refines_a_specification_with_fairness_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "proof.cert"
    verdict = check(Counted(), certificate=path).assert_holds()
    (told,) = [each for each in verdict.warnings if "certificate" in each]
    assert "`is_a_lamp` refines a specification with fairness, for which there is no rank" in told
    assert not path.exists()


def test_searches_that_leave_states_out_cannot_be_certified(tmp_path: Path) -> None:
    path = tmp_path / "proof.cert"
    with pytest.raises(SpecError, match="needs every state"):
        check(Irsa(workers=2), symmetry=True, certificate=path)
    with pytest.raises(SpecError, match="native engine"):
        check(Irsa(workers=2), engine="python", certificate=path)


def test_a_certificate_of_another_version_of_the_source_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    source = tmp_path / "lamp_of_yesterday.py"
    text = "from attractor.check import Spec, action, var\n\n\nclass Lamp(Spec):\n    on: bool = var(False)\n\n"
    text += "    @action\n    def switch(self) -> None:\n        self.on = not self.on\n"
    source.write_text(text)
    from lamp_of_yesterday import Lamp  # type: ignore[import-not-found]

    path = certified(tmp_path / "lamp.cert", Lamp())
    assert verify(path).states == 2
    source.write_text(text + "\n# changed\n")
    with pytest.raises(Rejected, match="another version of module `lamp_of_yesterday`"):
        verify(path)


def test_a_certificate_of_another_world_is_rejected(tmp_path: Path) -> None:
    path = certified(tmp_path / "proof.cert", TwoPhaseCommit())
    with pytest.raises(Rejected):
        verify(path, Irsa(workers=2))
    with pytest.raises(Rejected):
        verify(path, TwoPhaseCommit(managers=4))


@dataclass(frozen=True)
class Labelled:
    """A value with something in it that ``==`` leaves out."""

    number: int
    label: str = field(compare=False, default="")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0.0, -0.0),
        (Decimal("1.0"), Decimal("1.00")),
        ((1, 2), (1, 2.0)),
        (frozenset({1}), frozenset({True})),
        ({"a": 1}, {"a": True}),
        (Labelled(1, "a"), Labelled(1, "b")),
        (datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))),
    ],
    ids=repr,
)
def test_values_that_are_equal_and_differ_are_not_alike(one: object, other: object) -> None:
    assert one == other
    assert not alike(one, other)
    assert alike(copy.deepcopy(one), copy.deepcopy(one))


def test_the_verifier_stays_small_and_imports_nothing_of_the_engine() -> None:
    sources = [*SOURCES.glob("*.py"), *SOURCES.glob("*.c")]
    assert sum(len(path.read_text().splitlines()) for path in sources) <= 1_045
    text = "".join(path.read_text() for path in SOURCES.glob("*.py"))
    imported = {line.split()[1] for line in text.splitlines() if line.strip().startswith("from attractor.")}
    assert imported == {"attractor.check.errors", "attractor.objects.gvk", "attractor.check.sandbox"}, imported
