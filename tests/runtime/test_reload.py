"""``attractor run --reload``: the code is changed, broken and mended while it runs, as somebody who writes it does."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.client.errors import ConfigError
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import ApiError, NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually
from tests.anycluster import PATIENCE_S

pytestmark = pytest.mark.slow
CODE = """
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import For, controller
from attractor.runtime.predicates import labels_match

@controller(for_=For(ConfigMap, when=labels_match(sign="yes")))
async def signing(ctx, key):
    found = await ctx.find(ConfigMap, key)
    if found is not None and found.data.get("by") != "{by}":
        changed = found.deep_copy()
        changed.data = {{"by": "{by}"}}
        await ctx.patch_from(found, changed)
"""


class Reloading:
    """``attractor run --reload`` on a durable store, and the object that it signs."""

    def __init__(self, directory: Path) -> None:
        self.module = directory / "signing.py"
        self.kubeconfig = directory / "state" / "attractor" / "kubeconfig"
        self._command = [sys.executable, "-m", "attractor", "run", str(self.module), "--reload"]
        self._command += ["--store", f"sqlite:{directory / 'cluster.db'}"]
        self._environ = {**os.environ, "XDG_STATE_HOME": str(directory / "state")}

    async def start(self, **options: Any) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command, env=self._environ, stderr=subprocess.PIPE, **options
        )

    async def signed_by(self) -> str:
        """Who signed last; the server is another one after each change of the code, at another address."""
        try:
            async with Client.connect(load_kubeconfig(self.kubeconfig)) as client:
                try:
                    return (await client.get(ConfigMap, Key("default", "letter"))).data.get("by", "")
                except NotFound:
                    meta = ObjectMeta(name="letter", namespace="default", labels={"sign": "yes"})
                    await client.create(ConfigMap(metadata=meta))
        except (ApiError, ConfigError):
            pass  # it is starting again
        return ""

    async def becomes(self, signature: str) -> None:
        async def is_signed() -> bool:
            return await self.signed_by() == signature

        await eventually(is_signed, within_s=PATIENCE_S, interval_s=0.1)


async def said(child: asyncio.subprocess.Process, text: str) -> None:
    """Wait until a process says something."""
    assert child.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        while text not in (line := (await child.stderr.readline()).decode()):
            assert line, f"it ended before it said {text!r}"


async def test_changed_code_runs_and_broken_code_waits_for_the_next_change(tmp_path: Path) -> None:
    reloading = Reloading(tmp_path)
    reloading.module.write_text(CODE.format(by="first"))
    child = await reloading.start()
    try:
        await reloading.becomes("first")
        reloading.module.write_text(CODE.format(by="second"))
        await reloading.becomes("second")
        reloading.module.write_text("this is no Python\n")
        await said(child, "waiting for a change")
        reloading.module.write_text(CODE.format(by="third"))
        await reloading.becomes("third")
        child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            assert await child.wait() == 0
        assert not reloading.kubeconfig.exists(), "the child ended in good order, too"
    finally:
        if child.returncode is None:
            child.terminate()  # which ends the process that it runs, too
            await child.wait()


SLOW = """
import asyncio
from pathlib import Path
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import controller

@controller(for_=ConfigMap)
async def slow(ctx, key):
    if key.name == "letter":
        ctx.log.info("it begins")
        while not Path("go-on").exists():
            await asyncio.sleep(0.1)
        ctx.log.info("it ends")
"""


async def test_what_is_typed_at_a_terminal_lets_a_reconcile_finish(tmp_path: Path) -> None:
    reloading = Reloading(tmp_path)
    reloading.module.write_text(SLOW)
    terminal, ours = os.openpty()
    child = await reloading.start(stdin=ours, start_new_session=True, cwd=tmp_path)
    try:
        await said(child, "state=running")
        await reloading.signed_by()  # which creates what is signed
        await said(child, "it begins")
        os.killpg(child.pid, signal.SIGINT)
        await said(child, "state=stopping")
        (tmp_path / "go-on").touch()
        await said(child, "it ends")
        async with asyncio.timeout(PATIENCE_S):
            assert await child.wait() == 0
    finally:
        os.close(terminal)
        os.close(ours)
        if child.returncode is None:
            child.terminate()
            await child.wait()
