"""Run every benchmark and print their reports as one JSON list; progress goes to stderr.

make bench                       all of them
.venv/bin/python benchmarks/run.py store core
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def benchmarks() -> list[str]:
    """What can be run; other files are parts of these."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run" and "__main__" in path.read_text())


def main() -> int:
    known = benchmarks()
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        names = f"{', '.join(unknown)}\n\nhint: there are {', '.join(known)}"
        print(f"error: no benchmark is called {names}", file=sys.stderr)
        return 2
    reports, failed = [], []
    for name in wanted:
        print(f"running {name} …", file=sys.stderr)
        done = subprocess.run([sys.executable, str(HERE / f"{name}.py")], stdout=subprocess.PIPE, check=False)
        if done.returncode:
            failed.append(name)
        else:
            reports.append({"benchmark": name, **json.loads(done.stdout)})
    json.dump(reports, sys.stdout, indent=2)
    print()
    if failed:
        print(f"error: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
