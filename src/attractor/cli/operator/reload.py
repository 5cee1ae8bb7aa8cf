"""``--reload``: run the same command in a child process, and start it again whenever the code changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

POLL_S = 0.3
STOP_S = 10.0


def watched_files(module: str) -> list[Path]:
    """The Python files beside the module, at every depth below it, but for what is not a person's own code."""
    spelled = module.partition(":")[0]
    path = Path(spelled) if spelled.endswith(".py") else Path(*spelled.split("."))
    if not path.suffix and not path.is_dir():
        path = path.with_suffix(".py")
    base = path if path.is_dir() else path.parent
    return sorted(_below(base)) if path.is_dir() or path.exists() else sorted(Path.cwd().glob("*.py"))


def _below(base: Path) -> Iterator[Path]:
    """Neither hidden directories nor virtual environments: they hold ten thousands of files, which nobody edits."""
    for folder, inner, names in os.walk(base):
        inner[:] = [name for name in inner if name[0] != "." and name not in {"__pycache__", "node_modules"}]
        inner[:] = [name for name in inner if not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))]
        yield from (Path(folder, name) for name in names if name.endswith(".py"))


def stamps(module: str) -> dict[Path, float]:
    """Return the modification time of each file; files that vanish meanwhile are left out."""
    found: dict[Path, float] = {}
    for file in watched_files(module):
        try:
            found[file] = file.stat().st_mtime
        except FileNotFoundError:
            continue
    return found


def run_reloading(module: str) -> int:
    """Run until the child ends by itself or this process is told to stop; answers the child's exit code."""
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: told.append(number))  # or the child would outlive this process
    # -P: or a person's operator.py would take the place of Python's own module
    command = [sys.executable, "-P", "-m", "attractor", *(part for part in sys.argv[1:] if part != "--reload")]
    while True:
        known = stamps(module)
        child = subprocess.Popen(command)  # noqa: S603 - this very command again
        while child.poll() is None and stamps(module) == known and not told:
            time.sleep(POLL_S)
        if told:
            return _told(child, told)
        if child.poll() is not None and stamps(module) == known:
            code = _code(child)
            if code == 0:
                return 0
            print(f"ended with exit code {code}; waiting for a change", file=sys.stderr)
            while stamps(module) == known and not told:
                time.sleep(POLL_S)
            if told:
                return code
        _stopped(child)
        print("the code changed; starting again", file=sys.stderr)


def _told(child: subprocess.Popen[bytes], told: list[int]) -> int:
    """Have the child end in its own time, and sooner if this process is told again; answers its exit code.

    What is typed at a terminal (Ctrl-C) has reached the child, too: told a second time it would not finish anything.
    """
    passed = 1 if told[0] == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty() else 0
    while child.poll() is None:
        if len(told) > passed:
            passed = len(told)
            child.send_signal(signal.SIGTERM)
        time.sleep(POLL_S / 10)
    return _code(child)


def _stopped(child: subprocess.Popen[bytes]) -> int:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    return _code(child)


def _code(child: subprocess.Popen[bytes]) -> int:
    """Its exit code, as a shell would say it of a child that a signal ended."""
    return child.returncode if child.returncode >= 0 else 128 - child.returncode
