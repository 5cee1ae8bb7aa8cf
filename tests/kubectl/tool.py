"""kubectl as its users run it: a process with a home of its own and the server's kubeconfig."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
import threading
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serving import Serving

PATIENCE_S = 30


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Kubectl:
    """Runs kubectl in one namespace of one server."""

    def __init__(self, server: Serving, home: Path, namespace: str = "default") -> None:
        self.server = server
        self.home = home
        self.namespace = namespace
        own = {"HOME": str(home), "TMPDIR": str(home), "KUBECONFIG": str(server.kubeconfig)}
        self._environment = {"PATH": os.environ["PATH"], **own}

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return ["kubectl", f"--namespace={self.namespace}", *arguments]

    def run(self, *arguments: str, given: str | None = None, **environment: str) -> Ran:
        """Run it to its end, whatever it says."""
        done = subprocess.run(
            self._command(arguments),
            env={**self._environment, **environment},
            cwd=self.home,
            input=given,
            stdin=None if given is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str, given: str | None = None, **environment: str) -> str:
        """What it prints when it succeeds, which it must."""
        ran = self.run(*arguments, given=given, **environment)
        assert ran.code == 0, f"kubectl {' '.join(arguments)}: {ran.err}{ran.out}"
        return ran.out

    def fails(self, *arguments: str, given: str | None = None) -> str:
        """What it complains of when it fails, which it must."""
        ran = self.run(*arguments, given=given)
        assert ran.code != 0, f"kubectl {' '.join(arguments)} should have failed but printed {ran.out}"
        return ran.err

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))

    def rows(self, *arguments: str, **environment: str) -> list[list[str]]:
        """The words of each line that it prints."""
        return [line.split() for line in self(*arguments, **environment).splitlines()]

    def file(self, name: str, text: str) -> str:
        """A file for ``-f``; its path."""
        path = self.home / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[Running]:
        """kubectl in the background, ended with the ``with``."""
        process = subprocess.Popen(
            self._command(arguments),
            env=self._environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield Running(process)
        finally:
            process.kill()
            process.communicate()


class Running:
    """A kubectl that goes on until it is ended or has seen enough."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def line(self) -> str:
        """Its next line, which must come."""
        out: IO[str] | None = self._process.stdout
        assert out is not None
        watchdog = threading.Timer(PATIENCE_S, self._process.kill)
        watchdog.start()
        line = out.readline()
        watchdog.cancel()
        assert line, f"kubectl said nothing in {PATIENCE_S} s"
        return line.rstrip("\n")

    def ended(self) -> Ran:
        """How it ended by itself."""
        out, err = self._process.communicate(timeout=PATIENCE_S)
        return Ran(self._process.returncode, out, err)
