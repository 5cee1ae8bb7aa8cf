"""The second process of ``attractor check --audit``: the same check, with all else different.

Hashes have another seed, the time zone is one where it is another day, the directory is an empty one, of the
environment only what Python needs is left, and any other variable that an author's module asks for has a value which it
has nowhere else. The process writes what it executed, and the first one compares.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check import SpecError, check
from attractor.check.engine.record import Entry, Record, first_departure
from attractor.check.errors import is_authors
from attractor.cli.check.targets import load

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT = ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SYSTEMROOT", "COVERAGE_PROCESS_START")
"""What Python itself may need of the environment."""
DIFFERS = "another hash seed, time zone, directory and environment, and other arguments"
ADVICE = (
    "it must depend on its answers only: hand over what is read from outside where the program starts, take the "
    "elements of sets in order, and tell objects by their names"
)


def compare_with_another_process(target: str, constants: Iterable[str], options: dict[str, Any], mine: Record) -> None:
    """Run the check once more in another process; raises ``SpecError`` at the first difference."""
    name, colon, attribute = target.partition(":")
    if name.endswith(".py") or os.sep in name:
        name = str(Path(name).absolute())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        asked = {
            "target": f"{name}{colon}{attribute}",
            "constants": [*constants],
            "options": options,
            "file": str(file),
        }
        done = subprocess.run(
            [sys.executable, "-P", "-m", "attractor.cli.check.rerun"],
            input=json.dumps(asked),
            env=_other_environment(folder),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not file.is_file():
            said = done.stderr.strip().rpartition("\n")[2]
            raise SpecError(f"the same check fails in another process, with {DIFFERS}: {said}")
        theirs = Record()
        theirs.is_whole, entries = json.loads(file.read_text())
        theirs.entries = {key: Entry(*entry) for key, entry in entries}
    found = first_departure(mine, theirs)
    if found:
        raise SpecError(f"{found}, with {DIFFERS}; {ADVICE}")


def _other_environment(folder: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    seed = 1 if os.environ.get("PYTHONHASHSEED") != "1" else 2
    path = os.pathsep.join(str(Path(each).absolute()) for each in sys.path)
    zone = "XYZ-14" if time.gmtime().tm_hour >= 10 else "XYZ+12"  # there it is another day
    return {**kept, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path, "HOME": folder, "TZ": zone, "PYTHONUTF8": "1"}


class _Elsewhere(type(os.environ)):  # type: ignore[misc]  # it has no public name
    """The environment of a place where every variable has a value, as far as authors' modules ask."""

    def __missing(self) -> bool:
        return is_authors(_asking().f_code.co_filename)

    def __getitem__(self, key: str) -> Any:
        try:
            return super().__getitem__(key)
        except KeyError:
            if not self.__missing():
                raise
            return "elsewhere"

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self.__missing()


def _asking() -> Any:
    """The frame that asks for a variable: not of the modules that pass the question on."""
    frame: Any = sys._getframe(1)  # noqa: SLF001 - who asks is known from the frames only
    here = {__file__, os.__file__, os.__file__.replace("os.py", "_collections_abc.py")}
    while frame.f_back and (frame.f_code.co_filename in here or frame.f_code.co_filename.startswith("<frozen ")):
        frame = frame.f_back
    return frame


def main() -> int:
    """Be the second process."""
    asked = json.load(sys.stdin)
    os.environ.__class__ = _Elsewhere
    sys.argv[:] = ["elsewhere"]
    record = Record()
    try:
        check(load(asked["target"], asked["constants"]), audit=record, **asked["options"])
    except SpecError as problem:
        print(problem, file=sys.stderr)
        return 2
    Path(asked["file"]).write_text(json.dumps([record.is_whole, list(record.entries.items())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
