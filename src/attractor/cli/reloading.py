"""``--reload``: run the same command in a child process, and start it again whenever the code changes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

POLL_S = 0.3
STOP_S = 10.0


def watched_files(module: str) -> list[Path]:
    """The Python files beside the module, at every depth below it."""
    spelled = module.partition(":")[0]
    path = Path(spelled) if spelled.endswith(".py") else Path(*spelled.split("."))
    if not path.suffix and not path.is_dir():
        path = path.with_suffix(".py")
    base = path if path.is_dir() else path.parent
    return sorted(base.rglob("*.py")) if path.is_dir() or path.exists() else sorted(Path.cwd().glob("*.py"))


def stamps(module: str) -> dict[Path, float]:
    """When each file changed; files that vanish meanwhile are left out."""
    found: dict[Path, float] = {}
    for file in watched_files(module):
        try:
            found[file] = file.stat().st_mtime
        except FileNotFoundError:
            continue
    return found


def run_reloading(module: str) -> int:
    """Run until the child ends by itself or this process is told to stop; answers the child's exit code."""
    signal.signal(signal.SIGTERM, _interrupt)  # or the child would outlive this process
    # -P: or a person's operator.py would take the place of Python's own module
    command = [sys.executable, "-P", "-m", "attractor", *(part for part in sys.argv[1:] if part != "--reload")]
    while True:
        known = stamps(module)
        child = subprocess.Popen(command)  # noqa: S603 - this very command again
        try:
            while child.poll() is None and stamps(module) == known:
                time.sleep(POLL_S)
        except KeyboardInterrupt:
            return _stopped(child)
        if child.poll() is not None and stamps(module) == known:
            code = child.returncode
            if code == 0:
                return 0
            print(f"ended with exit code {code}; waiting for a change", file=sys.stderr)
            try:
                while stamps(module) == known:
                    time.sleep(POLL_S)
            except KeyboardInterrupt:
                return code
        _stopped(child)
        print("the code changed; starting again", file=sys.stderr)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _stopped(child: subprocess.Popen[bytes]) -> int:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    return child.returncode
