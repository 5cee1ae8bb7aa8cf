"""This process's command line, as other users of the machine see it: without the secrets in store addresses.

A store's address may hold a password. Whoever can list processes could read it for as long as the process runs, so it
is overwritten where the kernel shows it, as soon as the command starts. ``password-file`` leaves no such moment.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

_SECRET = re.compile(rb"(?<=[=\x00])etcd:[^\x00]*|^etcd:[^\x00]*")
_ARG_START, _ARG_END = 47, 48
"""Where the kernel says in ``/proc/self/stat`` between which addresses the arguments are, counted from zero."""


def hide_store_addresses() -> None:
    """Overwrite who we are at the stores that the command line names; where there is no ``/proc`` nothing happens."""
    try:
        stat = Path("/proc/self/stat").read_text(encoding="utf-8")
    except OSError:
        return
    fields = ["", "", *stat.rpartition(")")[2].split()]
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    if not 0 < start < end:
        return
    words = ctypes.string_at(start, end - start)
    for found in _SECRET.finditer(words):
        for first, last in _secrets(found.group()):
            ctypes.memset(start + found.start() + first, ord("x"), last - first)


def _secrets(address: bytes) -> list[tuple[int, int]]:
    """Return the parts of an address that are secret, as ranges of bytes.

    >>> _secrets(b"etcd:h:1?user=a&password=b"), _secrets(b"etcd:a:b@h:1"), _secrets(b"etcd:h:1")
    ([(9, 26)], [(5, 8)], [])
    """
    place, question, _ = address.partition(b"?")
    found = [(len(place) + 1, len(address))] if question else []
    if b"@" in place:
        found.append((len(b"etcd:"), place.rindex(b"@")))
    return found
