"""The parent of one run: claims it, starts its process, and writes down how that ended. A program of its own.

It outlives the controller, so that a run's end is seen whatever becomes of the controller; and it is the reaper of all
that the process starts, so that nobody leaves the family by ending its parent. It reads what to do from its input,
says by closing its output that the run has begun or failed, and ends when the last of the family has.

The claim is a file that appears once, with its content, or not at all: of several shims for one run, and of whoever
cancels it, exactly one gets it. Everything else here is written by whoever has the claim.

It is started for every run, so it imports little, and nothing of Attractor.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # without the import when it runs
    from typing import Any

    Json = dict[str, Any]

PR_SET_CHILD_SUBREAPER = 36
CLAIM, STATE = "claim", "state"
HEEDLESS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that are for the process, not for who watches it."""


def claim(home: str, content: Json) -> bool:
    """Make a run's claim say this, if nobody has it; False too when the run was removed."""
    beside = f"{home}/{CLAIM}.{os.getpid()}"
    try:
        with open(beside, "w") as file:
            json.dump(content, file)
    except FileNotFoundError:
        return False
    try:
        os.link(beside, f"{home}/{CLAIM}")
    except (FileExistsError, FileNotFoundError):
        return False
    finally:
        unlink(beside)
    return True


def unlink(path: str) -> None:
    """Delete a file, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def write(home: str, state: Json) -> None:
    """Write down what became of the run, whole or not at all."""
    beside = f"{home}/{STATE}.{os.getpid()}"
    with open(beside, "w") as file:
        json.dump(state, file)
    os.replace(beside, f"{home}/{STATE}")


def started(pid: int) -> int:
    """Return when a process was started, in the kernel's ticks; also of one that has ended and was not waited for."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def size(path: str) -> int:
    """Return the length of a file; 0 when it is not there."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def boot() -> str:
    """Return the boot id of the machine: another boot has other processes, whatever their numbers."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def spawn(order: Json) -> int:
    """Start the process; raises ``OSError``."""
    opened = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, order["stdout"], opened, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, order["stderr"], opened, 0o600),
    ]
    return os.posix_spawn(
        order["program"],
        order["command"],
        order["environment"],
        file_actions=files,
        setsid=True,
        setsigdef=HEEDLESS,
    )


def code_of(status: int) -> int:
    """An exit code; 128 and the signal's number when a signal ended the process, as shells have it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def watch(home: str, pid: int, state: Json) -> None:
    """Wait for the process, and then for all that it left behind."""
    while True:
        try:
            ended, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return
        if ended == pid:
            with suppress(FileNotFoundError):  # somebody has removed the run: there is nobody to tell
                write(home, {**state, "exitCode": code_of(status), "finishedAt": time.time()})


def main() -> None:
    """Claim, start, tell, wait."""
    for number in HEEDLESS:
        signal.signal(number, signal.SIG_IGN)
    order = json.load(sys.stdin)
    home = order["home"]
    mine = {"pid": os.getpid(), "started": started(os.getpid()), "boot": boot(), "word": order["word"]}
    if not claim(home, mine):
        return
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begins = {f"{stream}From": size(order[stream]) for stream in ("stdout", "stderr")}
    try:
        os.chdir(order["directory"])
        pid = spawn(order)
    except OSError as error:
        write(home, {"errno": error.errno, "program": order["program"]})
        return
    state: Json = {"pid": pid, "started": started(pid), "startedAt": time.time(), **begins}
    write(home, state)
    os.close(1)
    watch(home, pid, state)


if __name__ == "__main__":
    main()
