"""``attractor dev`` as a person starts it, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.operators.devplane.planes import family

WITHIN_S = 60.0
SERVER = """
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["NAME"].encode())
    def log_message(self, *_):
        print("asked", flush=True)
server = http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Answer)
print("listens", flush=True)
server.serve_forever()
"""


class Dev:
    """``attractor dev`` in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.word = f"DEVPLANE_TEST={directory}"
        self.environment = {**os.environ, "DEVPLANE_TEST": str(directory)}
        (directory / "server.py").write_text(SERVER)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "attractor", "dev", *words]

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command that ends by itself."""
        return subprocess.run(
            self.command(*words),
            cwd=self.directory,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )

    @contextmanager
    def up(self, text: str, *words: str) -> Iterator[Plane]:
        """A plane that runs an application; killed in the end, if the test did not end it."""
        (self.directory / "app.yaml").write_text(text)
        with (self.directory / "said").open("wb") as said:
            process = subprocess.Popen(
                self.command("up", "app.yaml", *words),
                cwd=self.directory,
                env=self.environment,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        try:
            yield Plane(process, self.directory / "said")
        finally:
            process.kill()
            process.wait()

    @property
    def processes(self) -> list[int]:
        """All that was started in this directory and still runs."""
        return [pid for pid in family(self.word) if pid != os.getpid()]


class Plane:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self.process = process
        self._said = said

    @property
    def said(self) -> str:
        return self._said.read_text()

    def until(self, pattern: str) -> re.Match[str]:
        """Wait until it has said something."""
        deadline = time.monotonic() + WITHIN_S
        while (found := re.search(pattern, self.said)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} was not said:\n{self.said}"
            assert self.process.poll() is None or re.search(pattern, self.said), f"it ended:\n{self.said}"
            with pytest.raises(subprocess.TimeoutExpired):
                self.process.wait(0.05)
        return found

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def code(self) -> int:
        return self.process.wait(WITHIN_S)
