"""``LocalProber``: asks a process over HTTP or TCP, with a command, or looks at its output; never raises, in time."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import ssl
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from attractor.operators.devplane.drivers.local.launch import CannotStart, order_of
from attractor.operators.local import processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.operators.devplane.controllers.health import Question
    from attractor.operators.devplane.drivers.processes import Launch
    from attractor.operators.local.processes import Process

LINE_BYTES = 4096
MARKED = "probe"


class LocalProber:
    """Asks from this process, on this machine."""

    async def ask(self, question: Question) -> str:
        """Empty when it is healthy, else why not."""
        try:
            async with asyncio.timeout(question.timeout_s):
                return await _answer(question)
        except TimeoutError:
            return f"no answer within {question.timeout_s:g} s"
        except (OSError, CannotStart, ValueError, re.error) as error:
            return str(error) or type(error).__name__


async def _answer(question: Question) -> str:
    if question.launch is not None:
        return await _command(question.launch)
    if question.pattern:
        return await asyncio.to_thread(_line, question.pattern, question.files)
    if question.url:
        return await _page(question.url)
    address, port = question.connection
    _, writer = await asyncio.open_connection(address, port)
    writer.close()
    return ""


def _line(pattern: str, files: Sequence[tuple[str, int]]) -> str:
    """Look for a line in what a run has written."""
    wanted = re.compile(pattern.encode())
    for name, begin in files:
        with suppress(FileNotFoundError), open(name, "rb") as file:
            file.seek(begin)
            if any(wanted.search(line) for line in file):
                return ""
    return f"no line matches {pattern!r} yet"


async def _page(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"{url} is no address of a page"
    port = parts.port or (443 if parts.scheme == "https" else 80)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls, limit=LINE_BYTES)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        words = (await reader.readline()).decode("latin-1").split(maxsplit=2)
    finally:
        writer.close()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        return f"{url} does not answer in HTTP"
    return "" if 200 <= int(words[1]) < 400 else f"{url} answers {' '.join(words[1:]).strip()}"


async def _command(launch: Launch) -> str:
    child = _started(launch)
    try:
        await child.ended()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    code = processes.exit_code(child)
    return "" if code == 0 else f"{launch.command[0]} ends with {code}"


def _started(launch: Launch) -> Process:
    order = order_of(launch, MARKED, os.environ)
    processes.reap()
    child = subprocess.Popen(  # noqa: S603 - what the Executable's author asks for
        order["command"],
        executable=order["program"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=order["directory"],
        env=order["environment"],
        start_new_session=True,
    )
    return processes.keep(child)
