"""How fast worlds of real controllers are explored, with each reduction on and off. Prints JSON.

Each measurement is a complete verdict, liveness included, in a fresh process; `cpu_seconds` is comparable on a busy
machine. `executions_per_million` counts runs of a step's Python code (server, cache, queue or reconcile) for a million
states: the rest is table look-up.

.venv/bin/python benchmarks/world.py                all worlds
.venv/bin/python benchmarks/world.py configpair     those whose name begins so
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.world import World

AIMS = {"states_per_cpu_second": 500_000, "executions_per_million": 50_000, "seconds_per_operator": 60}
SWITCHES = ("joins_local_steps", "merges_reconciles")


def worlds() -> dict[str, Callable[[], World]]:
    """The measured worlds, by name."""
    from attractor.check.world import Delete, Edit, Faults
    from attractor.operators.configpair.properties import WEB, world
    from attractor.operators.configpair.types import ConfigPair
    from attractor.operators.dbcluster import worlds as dbcluster
    from attractor.operators.edge import worlds as edge
    from attractor.operators.irsa import properties as irsa

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
    for switch in SWITCHES:
        found[f"configpair: edit, delete, crash; {switch} off"] = lambda switch=switch: world(  # type: ignore[misc]
            users=(edit, delete), faults=Faults(crash=1)
        ).but(**{switch: False})
    return found


def measured(name: str) -> dict[str, Any]:
    """One verdict, in this process."""
    from attractor.check import check

    verdict = check(worlds()[name]())
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = used.ru_utime + used.ru_stime
    executed = sum(each.executed for each in verdict.coverage)
    return {
        "world": name,
        "verdict": verdict.verdict,
        "states": verdict.distinct,
        "generated": verdict.generated,
        "seconds": round(verdict.seconds, 2),
        "cpu_seconds": round(cpu_s, 2),
        "states_per_cpu_second": round(verdict.distinct / cpu_s),
        "executions": executed,
        "executions_per_million": round(executed * 1_000_000 / verdict.distinct),
        "peak_mib": used.ru_maxrss // 1024,
    }


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[1] == "--one":
        json.dump(measured(sys.argv[2]), sys.stdout)
        return 0
    wanted = [name for name in worlds() if name.startswith(tuple(sys.argv[1:]) or ("",))]
    rows = []
    for name in wanted:
        print(f"{name} …", file=sys.stderr)
        done = subprocess.run([sys.executable, __file__, "--one", name], stdout=subprocess.PIPE, check=True)
        rows.append(json.loads(done.stdout))
    json.dump({"aims": AIMS, "load": os.getloadavg()[0], "worlds": rows}, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
