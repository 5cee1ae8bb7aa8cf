"""What is proved of the edge operator: operation, trouble, number of states, and when it is run.

``python -m tests.operators.edge.proofs`` counts again and prints the table of `docs/explanation/edge-proofs.md`;
``python -m tests.operators.edge.proofs ci`` counts only what the short run proves.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from attractor.check import Faults, Verdict, World, check
from attractor.operators.edge.proofs import worlds

When = Literal["ci", "nightly"]
COORDINATOR, AGENT = "coordinator", "agent"
TROUBLES: dict[str, dict[str, Any]] = {
    "the coordinator crashes": {"crash": {COORDINATOR: 1}},
    "the agent crashes": {"crash": {AGENT: 1}},
    "a crash, its last write arrives late": {"late_request": 1},
    "a write is delayed past later ones": {"delayed_request": 1},
    "a write is repeated": {"repeated": 1},
    "a write is lost": {"lost_request": 1},
    "an answer is lost": {"lost_answer": 1},
    "one of them is cut off": {"partition": 1},
}
"""Lost progress messages are among the lost writes and answers: each write of either side may be the one."""
OUTSIDE: dict[str, dict[str, Any]] = {
    "the platform's answer is lost": {"external_silence": 1},
    "somebody else writes": {"conflict": 1},
    "a watch is closed": {"closed_watch": 1},
    "the agent starts from an old list": {"stale_list": {AGENT: 1}, "crash": {AGENT: 1}},
}
ONE_SIDED = list(TROUBLES)[:2]
CUT_OFF = "one of them is cut off"
OPERATIONS = ("cluster_created", "cluster_updated", "cluster_deleted", "app_created", "app_updated", "app_deleted")


class Proof(NamedTuple):
    """One world, and how many states it has."""

    world: str
    trouble: str
    faults: Faults
    when: When

    @property
    def key(self) -> str:
        """Its name in the table of pinned counts."""
        return f"{self.world}: {self.trouble}"

    def build(self) -> World:
        """The world; instances are on a platform that may fail once, and caches lag by one event of a kind."""
        made: World = getattr(worlds, self.world)(self.faults, lag=1)
        return made

    def run(self) -> Verdict:
        """Explore it."""
        return check(self.build())


def of_operations() -> Iterator[Proof]:
    """Each operation in each single trouble; the larger ones of apps every night."""
    for operation in OPERATIONS:
        yield Proof(operation, "none", Faults(), "ci")
        for trouble, faults in (TROUBLES | OUTSIDE).items():
            is_large = operation in OPERATIONS[4:] and trouble not in ONE_SIDED
            yield Proof(operation, trouble, Faults(**faults), "nightly" if is_large else "ci")


def of_pairs() -> Iterator[Proof]:
    """Each operation on a cluster in each pair of troubles, and three together."""
    for operation in OPERATIONS[:3]:
        for one, other in combinations(TROUBLES, 2):
            yield Proof(operation, f"{one}; {other}", Faults(**_joined(one, other)), "nightly")
        three = Faults(partition=1, repeated=1, lost_request=1)
        yield Proof(operation, "cut off, a write repeated, a write lost", three, "nightly")


def _joined(*troubles: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for trouble in troubles:
        for name, budget in TROUBLES[trouble].items():
            made[name] = {**made[name], **budget} if name in made else budget
    return made


def of_upgrades() -> Iterator[Proof]:
    """The upgrade: each of the three processes crashes, and the rest of the troubles."""
    yield Proof("upgrade", "none", Faults(), "ci")
    for host in (COORDINATOR, "agent-1", "agent-2"):
        yield Proof("upgrade", f"{host} crashes", Faults(crash={host: 1}), "ci")
    for trouble in list(TROUBLES)[2:]:
        yield Proof("upgrade", trouble, Faults(**TROUBLES[trouble]), "nightly")
    yield Proof("upgrade", "any two crashes", Faults(crash=2), "nightly")
    yield Proof("upgrade_at_work", "none", Faults(), "nightly")


def of_coming_up() -> Iterator[Proof]:
    """An agent comes up where something is that nobody has: in each single trouble."""
    yield Proof("agent_comes_up", "none", Faults(), "ci")
    for trouble, faults in (TROUBLES | OUTSIDE).items():
        there = {name: _at_first_agent(budget) for name, budget in faults.items()}
        yield Proof("agent_comes_up", trouble, Faults(**there), "ci")


def _at_first_agent(budget: Any) -> Any:
    """A budget, where the agent is the one of version 1."""
    return {"agent-1": budget[AGENT]} if isinstance(budget, dict) and AGENT in budget else budget


def of_both() -> Iterator[Proof]:
    """An app and its cluster at once: nothing, and a crash of either side; and the race of creation and deletion."""
    for world in ("app_and_update", "app_and_deletion"):
        yield Proof(world, "none", Faults(), "nightly")
        for trouble in ONE_SIDED:
            yield Proof(world, trouble, Faults(**TROUBLES[trouble]), "nightly")
    yield Proof("app_and_cluster", "none", Faults(), "nightly")


def of_coordinators() -> Iterator[Proof]:
    """Two coordinators at once, in pairs of what they look after; two whole ones are too many states for a proof."""
    for world in ("coordinators_apart", "coordinators_of_apps", "coordinators_of_clusters"):
        yield Proof(world, "none", Faults(), "ci")
        yield Proof(world, "one of them crashes", Faults(crash=1), "ci")
        for trouble in list(TROUBLES)[2:]:
            yield Proof(world, trouble, Faults(**TROUBLES[trouble]), "ci")
    for world in ("coordinator_and_apps", "coordinator_and_clusters"):
        yield Proof(world, "none", Faults(), "nightly")
        yield Proof(world, "one of them crashes", Faults(crash=1), "nightly")
    yield Proof("coordinator_and_apps", CUT_OFF, Faults(**TROUBLES[CUT_OFF]), "nightly")


PROOFS: Sequence[Proof] = [
    *of_operations(),
    *of_coordinators(),
    *of_upgrades(),
    *of_coming_up(),
    *of_both(),
    *of_pairs(),
]


def main(wanted: Sequence[str]) -> None:
    """Count again."""
    for proof in PROOFS:
        if not wanted or proof.when in wanted:
            began = time.process_time()
            verdict = proof.run()
            took = time.process_time() - began
            line = f'    "{proof.key}": {verdict.distinct},  # {verdict.verdict}, {proof.when}, {took:.1f} s'
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
