"""``attractor run --leader-elect`` as a process, for tests that kill it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.anycluster import PATIENCE_S


class Times(NamedTuple):
    """How fast an election is."""

    lease_s: float
    renew_s: float
    retry_s: float

    def options(self) -> list[str]:
        """The same, for the command line."""
        named = {"lease-duration": self.lease_s, "renew-deadline": self.renew_s, "retry-period": self.retry_s}
        return [f"--leader-elect-{name}={value}" for name, value in named.items()]


@asynccontextmanager
async def operator(
    module: Path, kubeconfig: Path, namespace: str, times: Times, *, context: str = "", **environ: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """An operator that leads or stands by, its cache warm; killed at the end if it still runs."""
    command = ["-m", "attractor", "run", str(module), "--kubeconfig", str(kubeconfig), "--namespace", namespace]
    command += ["--context", context, "--leader-elect", f"--leader-elect-namespace={namespace}", *times.options()]
    child = await asyncio.create_subprocess_exec(
        sys.executable, *command, env={**os.environ, **environ}, stderr=subprocess.PIPE
    )
    assert child.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            while b"standing by" not in (line := await child.stderr.readline()):
                assert line, f"the operator ended with exit code {await child.wait()}"
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
