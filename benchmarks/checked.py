"""One check in a process of its own, for `checker.py`: it loads what the check needs and nothing else. Prints JSON.

python benchmarks/checked.py irsa 8 native 2 safety
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from attractor.check import check

MEMORY = 8 * 2**30
SAFETY = ("type_ok", "requests_are_known", "no_concurrent_processing_of_same_resource")
LIVENESS = ("termination_is_the_last_action", "terminates")


def specification(model: str, size: int, *, liveness: bool) -> tuple[Any, tuple[str, ...]]:
    """The specification, and the properties to decide."""
    if model == "irsa":
        from attractor.check.specs.irsa import Irsa

        return Irsa(workers=size), LIVENESS if liveness else SAFETY
    if model == "twophase":
        from attractor.check.specs.twophase import TwoPhaseCommit

        return TwoPhaseCommit(managers=size), ("consistent",)
    from attractor.check.specs.philosophers import Philosophers

    return Philosophers(seats=size), ("neighbours_do_not_eat_together",)


def report(model: str, size: int, engine: str, threads: int, *, liveness: bool) -> dict[str, Any]:
    """Check, and say what was found and what it took."""
    spec, names = specification(model, size, liveness=liveness)
    started = time.perf_counter()
    verdict = check(spec, engine=engine, threads=threads, properties=names, memory_bytes=MEMORY)  # type: ignore[arg-type]
    seconds = time.perf_counter() - started
    return {
        "verdict": verdict.verdict,
        "distinct": verdict.distinct,
        "generated": verdict.generated,
        "depth": verdict.depth,
        "states_per_second": round(verdict.distinct / seconds),
        "executions_of_python": sum(each.executed for each in verdict.coverage),
        "table_bytes_per_state": round(verdict.table_bytes / verdict.distinct, 1),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    model, size, engine, threads, kind = sys.argv[1:]
    print(json.dumps(report(model, int(size), engine, int(threads), liveness=kind == "liveness")))
