"""What verifying a certificate takes, compared with the check that it is about. Prints JSON.

Each subject has a process of its own, and one thread. `check_cpu_seconds` is the processor time of the verdict
without a certificate, `write_cpu_seconds` what writing one adds, `verify_cpu_seconds` that of verifying it, and `ratio`
verifying over checking. Starting Python and importing count for none of them.

.venv/bin/python benchmarks/certificates.py                 all of them
.venv/bin/python benchmarks/certificates.py irsa            those whose name begins so
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the zoo is in `tests`

AIMS = {"ratio": 0.25, "bytes_per_state": 12}
SUBJECTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "irsa, 6 workers": ("attractor.check.specs.irsa", "Irsa", {"workers": 6}),
    "irsa, 8 workers": ("attractor.check.specs.irsa", "Irsa", {"workers": 8}),
    "two-phase commit": ("attractor.check.specs.twophase", "TwoPhaseCommit", {}),
    "shared writes": ("attractor.check.specs.sharedwrites", "SharedWrites", {}),
    "zoo: two leaders": ("tests.quality.zoo.two_leaders", "world", {"controllers": "fixed"}),
    "operator: irsa, made on a bad day": ("attractor.operators.irsa.proofs.properties", "made", {}),
    "operator: dbcluster, creation": ("attractor.operators.dbcluster.proofs.worlds", "creation", {}),
}


def made(name: str) -> Any:
    """The specification or world of that name."""
    where, what, given = SUBJECTS[name]
    module = importlib.import_module(where)
    if "controllers" in given:
        return getattr(module, what)(getattr(module, given["controllers"]))
    return getattr(module, what)(**given)


def report(name: str) -> dict[str, Any]:
    """Check, certify and verify, and say what each took."""
    from attractor.check import check
    from attractor_verify import verify

    check(made(name), max_states=1000)  # what is compiled or imported when it is first used
    began = time.process_time()
    check(made(name))
    checked = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.cert"
        check(made(name), certificate=path)
        written = time.process_time()
        shown = verify(path, made(name))
        verified = time.process_time()
        size = path.stat().st_size
    return {
        "states": shown.states,
        "rows": shown.rows,
        "check_cpu_seconds": round(checked - began, 2),
        "write_cpu_seconds": round(written - checked - (checked - began), 2),
        "verify_cpu_seconds": round(verified - written, 2),
        "ratio": round((verified - written) / (checked - began), 2),
        "bytes_per_state": round(size / shown.states, 1),
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("begins", nargs="?", default="")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(report(args.one)))
        return
    results = {}
    for name in SUBJECTS:
        if name.startswith(args.begins):
            done = subprocess.run([sys.executable, __file__, "--one", name], check=True, capture_output=True, text=True)
            results[name] = json.loads(done.stdout)
    print(json.dumps({"aims": AIMS, "python": sys.version.split()[0], "results": results}, indent=2))


if __name__ == "__main__":
    main()
