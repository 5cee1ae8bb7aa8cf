"""Containers that wait for others proved: no start before the dependency is ready, and a start in the end."""

from attractor.operators.devplane.proofs import container_start_worlds as worlds
from tests.operators.proofs import assert_proved


def test_a_container_is_started_when_its_dependency_is_healthy_and_not_before() -> None:
    assert_proved(worlds.starting, {worlds.starting: 3_221})
