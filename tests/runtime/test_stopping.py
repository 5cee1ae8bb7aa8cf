"""``attractor run`` that is told to stop: while it imports, while it starts, while it works, and by somebody who will not wait."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.anycluster import PATIENCE_S

pytestmark = pytest.mark.slow
SIGNALS = [signal.SIGTERM, signal.SIGINT]
IMPORTING = """
import signal
import sys
print("importing", file=sys.stderr, flush=True)
signal.pause()
"""
STARTING = """
import asyncio
import sys
from attractor import controller
from attractor.k8s.core_v1 import ConfigMap

class Dns:
    async def __aenter__(self):
        print("starting", file=sys.stderr, flush=True)
        await asyncio.Event().wait()

    async def __aexit__(self, *_):
        print("never entered, so never left", file=sys.stderr)

class Mail:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        print("mail is closed", file=sys.stderr, flush=True)

@controller(for_=ConfigMap, externals=[Mail, Dns])
async def r(ctx, key): ...

externals = {Mail: Mail(), Dns: Dns()}
"""
WORKING = """
import sys
from attractor import controller
from attractor.k8s.core_v1 import ConfigMap

class Dns:
    async def wait(self):
        import asyncio
        print("reconciling", file=sys.stderr, flush=True)
        await asyncio.Event().wait()

@controller(for_=ConfigMap, externals=[Dns])
async def r(ctx, key):
    await ctx.external(Dns).wait()

externals = {Dns: Dns()}
"""


class Told:
    """A run of some module, and what it says on stderr."""

    def __init__(self, child: asyncio.subprocess.Process, state: Path) -> None:
        self.child = child
        self.kubeconfig = state / "attractor" / "kubeconfig"

    async def says(self, text: str) -> None:
        assert self.child.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            await self.child.stderr.readuntil(text.encode())

    async def ends(self) -> tuple[int, str]:
        async with asyncio.timeout(PATIENCE_S):
            _, said = await self.child.communicate()
        assert self.child.returncode is not None
        return self.child.returncode, said.decode()


@asynccontextmanager
async def run(tmp_path: Path, code: str, *options: str) -> AsyncIterator[Told]:
    (tmp_path / "told.py").write_text(code)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "attractor", "run", str(tmp_path / "told.py"), *options),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )
    try:
        yield Told(child, tmp_path)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_during_the_import_ends_it_as_any_program_without_a_word(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with run(tmp_path, IMPORTING) as told:
        await told.says("importing\n")
        told.child.send_signal(number)
        assert await told.ends() == (-number, "")


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_during_the_start_undoes_what_was_begun(tmp_path: Path, number: signal.Signals) -> None:
    async with run(tmp_path, STARTING) as told:
        await told.says("starting\n")
        assert told.kubeconfig.exists()
        told.child.send_signal(number)
        assert await told.ends() == (0, "mail is closed\n")
        assert not told.kubeconfig.exists()


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_second_signal_does_not_wait_for_a_reconcile_that_never_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with run(tmp_path, WORKING) as told:
        await told.says("reconciling\n")
        told.child.send_signal(number)
        await told.says("state=stopping\n")
        told.child.send_signal(number)
        code, said = await told.ends()
        assert code == 128 + number
        assert "Traceback" not in said
        assert not told.kubeconfig.exists()


async def test_reloading_answers_the_code_of_its_child_as_a_shell_would(tmp_path: Path) -> None:
    async with run(tmp_path, IMPORTING, "--reload") as told:
        await told.says("importing\n")
        told.child.send_signal(signal.SIGTERM)
        assert await told.ends() == (128 + signal.SIGTERM, "")
