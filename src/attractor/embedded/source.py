"""Time, uids and names of the real world, for the API server's transactions."""

from __future__ import annotations

import os
import random
import re
import time

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' alphabet of generated names: no vowels and nothing that looks like another character."""


UIDS_DRAWN = 64
_PARTS_OF_UIDS = re.compile("(.{8})(.{4})(.{4})(.{4})(.{12})")
_VERSION = bytes(number & 0x0F | 0x40 for number in range(256))
_VARIANT = bytes(number & 0x3F | 0x80 for number in range(256))


class SystemSource:
    """The clock and the randomness of this machine."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""
        self._drawn: list[str] = []
        """The next uids, each taken once."""

    def now(self) -> str:
        """The time, to the second; formatted once for each second."""
        second = int(time.time())
        return self._text if second == self._second else self._second_text(second)

    def now_micro(self) -> str:
        """The time, to the microsecond."""
        second, nanos = divmod(time.time_ns(), 1_000_000_000)
        return f"{self._second_text(second)[:-1]}.{nanos // 1000:06d}Z"

    def _second_text(self, second: int) -> str:
        if second != self._second:
            self._second = second
            self._text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        return self._text

    def uid(self) -> str:
        """A random (version 4) UUID."""
        if not self._drawn:
            # One call to the system for many uids: it costs as much as the rest of a uid.
            drawn = bytearray(os.urandom(16 * UIDS_DRAWN))
            drawn[6::16] = drawn[6::16].translate(_VERSION)
            drawn[8::16] = drawn[8::16].translate(_VARIANT)
            self._drawn = list(map("-".join, _PARTS_OF_UIDS.findall(drawn.hex())))
        return self._drawn.pop()

    def suffix(self) -> str:
        """Five characters that make a generated name unlikely to be taken."""
        return "".join(random.choices(_SUFFIX_ALPHABET, k=5))  # noqa: S311 - names are not secrets

    def draw(self, below: int) -> int:
        """A number from 0 up to but not including ``below``."""
        return random.randrange(below)  # noqa: S311 - allocations are not secrets
