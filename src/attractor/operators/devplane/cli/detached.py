"""``attractor dev up --detach``: a plane in the background, which has come up when the command ends."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.operators.devplane.cli.up import Place

LOG = "plane.log"


def start(place: Place, words: Sequence[str]) -> int:
    """Start ``attractor dev up`` with these words, and answer its process number as soon as it has come up.

    Raises ``UsageError`` with what it said when it does not come up.
    """
    place.prepare()
    read_end, write_end = os.pipe()
    log = place.directory / LOG
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-m", "attractor", "dev", "up", *words, "--ready-fd", str(write_end)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[write_end],
            start_new_session=True,
        )
    os.close(write_end)
    with os.fdopen(read_end, "rb") as told:
        if told.read():
            return child.pid
    child.wait()
    said = log.read_text(errors="replace").strip()
    message, _, hint = said.removeprefix("error: ").partition("\n\nhint: ")
    raise UsageError(message or f"it ended with {child.returncode}", hint or f"look at {log}")
