"""What this process takes of its machine, in the names of Prometheus' own client libraries.

Processor time is known everywhere; memory, descriptors and the start come from Linux's ``/proc``.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_PROC = Path("/proc/self")


class Reading(NamedTuple):
    """A metric's name, its help, and how to read it."""

    name: str
    text: str
    read: Callable[[], float]


def readings() -> list[Reading]:
    """What can be read of this process on this system."""
    everywhere = [
        Reading("process_cpu_seconds_total", "Processor time, user and system.", time.process_time),
        Reading("process_max_fds", "How many descriptors may be open.", _max_fds),
    ]
    if not (_PROC / "stat").exists():
        return everywhere
    started_s = _started_s()
    return [
        *everywhere,
        Reading("process_open_fds", "Descriptors that are open.", lambda: float(len(os.listdir(_PROC / "fd")))),
        Reading("process_resident_memory_bytes", "Memory in use.", lambda: _stat(21) * resource.getpagesize()),
        Reading("process_virtual_memory_bytes", "Memory that is mapped.", lambda: _stat(20)),
        Reading("process_start_time_seconds", "When it began, in Unix time.", lambda: started_s),
    ]


def _stat(field: int) -> float:
    """A field of ``/proc/self/stat``, counted from behind the command's name, which may hold anything."""
    return float((_PROC / "stat").read_text().rpartition(")")[2].split()[field])


def _started_s() -> float:
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + _stat(19) / os.sysconf("SC_CLK_TCK")


def _max_fds() -> float:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)
