"""The way of a PATCH from its socket to a watcher's is as long as ARCHITECTURE.md says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.compiled import LIBRARY, ROOT

BESIDE = {"embedded/controllers/runner.py"}
"""Runs whenever anything has changed, some time later; not a step of this write."""

PATCHED = """
import asyncio, json, sys

from attractor.apiserver.auth.authorizer import MASTERS
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator

PATH = "/api/v1/namespaces/default/configmaps"


def request(method, path, body=b"", content_type="application/json"):
    head = f"{method} {path} HTTP/1.1\\r\\nHost: t\\r\\nAuthorization: Bearer t\\r\\n"
    return f"{head}Content-Type: {content_type}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n".encode() + body


async def main():
    files = set()

    def called(frame, event, arg):
        if event == "call" and "/attractor/" in frame.f_code.co_filename:
            files.add(frame.f_code.co_filename.split("/src/attractor/", 1)[1])

    users = Authenticator({"t": User("admin", groups=(MASTERS,))})
    async with EmbeddedCluster(controllers=(), authenticator=users) as cluster:
        port = (await cluster.listen()).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        watcher, opening = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("POST", PATH, json.dumps({"metadata": {"name": "c"}, "data": {"n": "x"}}).encode()))
        await reader.read(65536)
        opening.write(request("GET", f"{PATH}?watch=1"))
        await watcher.readuntil(b"ADDED")
        for number in range(3):  # what is remembered is remembered by the third time
            if number == 2:
                sys.setprofile(called)
            writer.write(request("PATCH", f"{PATH}/c", b'{"data":{"n":"%d"}}' % number, "application/merge-patch+json"))
            await reader.readuntil(b'"n":"%d"' % number)
            await watcher.readuntil(b'"n":"%d"' % number)
        sys.setprofile(None)
    print(json.dumps(sorted(files)))


asyncio.run(main())
"""


def test_a_patch_passes_as_many_files_as_the_map_says(tmp_path: Path) -> None:
    source = ROOT / "src"
    if LIBRARY.exists():  # what is compiled shows no calls
        source = shutil.copytree(source, tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    ran = subprocess.run(
        [sys.executable, "-c", PATCHED],
        env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    passed = set(json.loads(ran.stdout)) - BESIDE
    said = re.search(r"(\d+) in all", (ROOT / "ARCHITECTURE.md").read_text())
    assert said is not None
    assert len(passed) == int(said[1]), sorted(passed)
