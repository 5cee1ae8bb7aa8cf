"""Processes are told apart from later ones of their number, found by their mark or family, and ended as a whole."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator

import pytest

from attractor.operators.local import processes
from attractor.operators.local.processes import MARK, Process, descendants, end_all, marked, started_at
from attractor.testing import eventually

FOREVER = "while :; do sleep 1000 & wait; done"


@pytest.fixture(name="mark")
def _mark(request: pytest.FixtureRequest) -> Iterator[str]:
    mark = f"test.{request.node.name}"
    yield mark
    for process in marked(mark):
        process.signal(signal.SIGKILL)
    processes.reap()


def begin(script: str, mark: str = "") -> Process:
    """A shell of its own session."""
    child = subprocess.Popen(["sh", "-c", script], env={"PATH": "/usr/bin:/bin", MARK: mark}, start_new_session=True)
    return processes.keep(child)


def is_reaped(process: Process) -> bool:
    """Whether a child has ended, and the kernel has forgotten it."""
    return processes.exit_code(process) is not None


async def test_a_process_is_found_by_its_mark_with_all_that_it_starts(mark: str) -> None:
    shell = begin(f"sh -c '{FOREVER}' & {FOREVER}", mark)
    await eventually(lambda: len(marked(mark)) == 4)
    assert shell in marked(mark)


async def test_descendants_are_found_whatever_their_environment(mark: str) -> None:
    shell = begin("env -i setsid sleep 1000 & wait", mark)
    await eventually(lambda: len(descendants(shell)) == 1 and marked(mark) == [shell])
    assert await end_all(lambda: descendants(shell), 5)
    await eventually(lambda: is_reaped(shell))
    assert descendants(shell) == []


async def test_a_signal_for_an_earlier_process_of_that_number_reaches_nobody(mark: str) -> None:
    shell = begin(FOREVER, mark)
    Process(shell.pid, shell.started - 1).signal(signal.SIGKILL)
    assert shell.is_alive
    shell.signal(signal.SIGKILL)
    await eventually(lambda: is_reaped(shell))
    shell.signal(signal.SIGKILL)


async def test_the_end_of_a_process_is_told_whoevers_child_it_is(mark: str) -> None:
    shell = begin("sh -c 'sleep 1000; :' & wait", mark)
    await eventually(lambda: len(descendants(shell)) == 2)
    grandchild = descendants(shell)[-1]
    waiting = asyncio.ensure_future(grandchild.ended())
    await asyncio.sleep(0)
    assert not waiting.done()
    grandchild.signal(signal.SIGKILL)
    await asyncio.wait_for(waiting, 30)
    assert not grandchild.is_alive


async def test_what_has_ended_long_ago_has_ended(mark: str) -> None:
    shell = begin("exit 3", mark)
    await asyncio.wait_for(shell.ended(), 30)
    await eventually(lambda: processes.exit_code(shell) == 3)
    await asyncio.wait_for(shell.ended(), 30)
    assert started_at(shell.pid) == 0


async def test_a_family_is_asked_first_and_killed_after_the_grace(mark: str) -> None:
    deaf = begin(f"trap '' TERM; {FOREVER}", mark)
    await eventually(lambda: len(marked(mark)) == 2)
    assert await end_all(lambda: marked(mark), 0.2)
    assert processes.exit_code(deaf) in {None, -signal.SIGKILL}
    assert marked(mark) == []
