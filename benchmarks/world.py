"""How fast worlds of real controllers are explored, with each reduction on and off. Prints JSON.

Each measurement is a complete verdict, liveness included, in a fresh process. `cpu_seconds` is the processor time of
the verdict (composing, exploring, judging), comparable on a busy machine; `start_cpu_seconds` that of starting Python
and importing. `executions_per_million` counts runs of a step's Python code (server, cache, queue or reconcile) for a
million states, `reconciles` the runs of a controller's code among them: the rest is table look-up. A row that its limit
stopped has `finished: false`, the `bound`, and the states that were found until then; the benchmark always ends.

.venv/bin/python benchmarks/world.py                          all worlds, 300 s each at most
.venv/bin/python benchmarks/world.py configpair --limit 20    those whose name begins so, 20 s each at most
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check import World
    from attractor.check.engine.model import Model
    from attractor.check.errors import Grown
    from attractor.check.world.simulation.model import Universe

AIMS = {"states_per_cpu_second": 500_000, "executions_per_million": 50_000, "seconds_per_operator": 60}
SWITCHES = ("joins_local_steps", "changes_blindly", "recalls_answers")
LIMIT_S = 300.0


def worlds() -> dict[str, Callable[[], World]]:
    """The measured worlds, by name; for one world of each operator also with each reduction off."""
    from attractor.check import Delete, Edit, Faults
    from attractor.check.world.simulation.reductions import unreduced
    from attractor.operators.configpair.api import ConfigPair
    from attractor.operators.configpair.proofs import WEB, world
    from attractor.operators.dbcluster.proofs import worlds as dbcluster
    from attractor.operators.edge.proofs import worlds as edge
    from attractor.operators.irsa.proofs import properties as irsa

    edit = Edit(ConfigPair, WEB, spec=[{"value": "blue"}])
    delete = Delete(ConfigPair, WEB)
    found: dict[str, Callable[[], World]] = {
        "configpair: edit, crash": world,
        "configpair: edit, delete, crash": lambda: world(users=(edit, delete), faults=Faults(crash=1)),
        "configpair: edit, delete, crash, lost answer, conflict": lambda: world(
            users=(edit, delete), faults=Faults(crash=1, lost_answer=1, conflict=1)
        ),
        "irsa: made on a bad day": irsa.made,
        "irsa: deleted while it is made": irsa.deleted,
        "dbcluster: creation, crash, lost answer": dbcluster.creation,
        "dbcluster: reconfiguration, crash, lost answer": dbcluster.reconfiguration,
        "edge: life of a cluster, crash": lambda: edge.cluster_life(Faults(crash=1)),
        "edge: upgrade, crash": lambda: edge.upgrade(Faults(crash=1)),
    }
    compared = (
        "configpair: edit, delete, crash",
        "irsa: made on a bad day",
        "dbcluster: reconfiguration, crash, lost answer",
        "edge: life of a cluster, crash",
    )
    for name in compared:
        for switch in SWITCHES:
            found[f"{name}; {switch} off"] = lambda make=found[name], switch=switch: unreduced(make(), switch)  # type: ignore[misc]
    return found


class Composed:
    """A world that remembers what it was last composed to, so that runs of controllers can be counted."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.universe: Universe | None = None

    def grow(self, grown: Grown) -> None:
        """Take up a part that exploring has shown to be there."""
        self._world.grow(grown)

    def compile(self) -> Model:
        """The model to explore."""
        self.universe = self._world.compose()
        return self.universe.model

    @property
    def reconciles(self) -> int:
        """How often a controller's code was executed."""
        hosts = self.universe.hosts if self.universe else []
        return sum(worker.suspensions.resumed for host in hosts for worker in host.workers)


def cpu_s() -> float:
    """The processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(name: str, limit_s: float) -> dict[str, Any]:
    """One verdict, in this process."""
    from attractor.check import check

    make = worlds()[name]
    began = cpu_s()
    composed = Composed(make())
    verdict = check(composed, max_seconds=limit_s)
    used = cpu_s() - began
    executed = sum(each.executed for each in verdict.coverage)
    return {
        "world": name,
        "finished": verdict.bound is None,
        "bound": verdict.bound,
        "verdict": verdict.verdict,
        "states": verdict.distinct,
        "generated": verdict.generated,
        "seconds": round(verdict.seconds, 2),
        "cpu_seconds": round(used, 2),
        "start_cpu_seconds": round(began, 2),
        "states_per_cpu_second": round(verdict.distinct / used),
        "executions": executed,
        "executions_per_million": round(executed * 1_000_000 / verdict.distinct),
        "reconciles": composed.reconciles,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def row(name: str, limit_s: float) -> dict[str, Any]:
    """One verdict, in a process of its own; its judging may take as long again as its search."""
    command = [sys.executable, __file__, "--one", name, "--limit", str(limit_s)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=2 * limit_s + 30)
    except subprocess.TimeoutExpired:
        return {"world": name, "finished": False, "bound": f"no verdict within {2 * limit_s + 30:g} seconds"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how fast worlds of real controllers are explored.")
    parser.add_argument("names", nargs="*", help="measure only worlds whose name begins with one of these")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds after which a search is given up")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        json.dump(measured(given.one, given.limit), sys.stdout)
        return 0
    rows = []
    for name in (name for name in worlds() if name.startswith(tuple(given.names) or ("",))):
        print(f"{name} …", file=sys.stderr)
        rows.append(row(name, given.limit))
    unfinished = [each["world"] for each in rows if not each["finished"]]
    json.dump(
        {"aims": AIMS, "load": os.getloadavg()[0], "unfinished": unfinished, "worlds": rows}, sys.stdout, indent=2
    )
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
