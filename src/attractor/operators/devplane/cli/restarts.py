"""Restarts of processes that run: each gets another word, and has heeded it when its status says so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.cli.plane_client import everything, executables_named
from attractor.operators.devplane.cli.readiness import DONE, Outcome, wait

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.client import Client


async def restart(client: Client, names: Sequence[str], timeout_s: float | None, *, is_awaited: bool) -> Outcome:
    """Restart the Executables of these names, or of replica sets of these names; raises ``UsageError``."""
    word = f"asked-{datetime.now(UTC).isoformat(timespec='milliseconds')}"
    keys = [one.key for one in executables_named(await everything(client), names)]
    for key in keys:
        await client.patch(Executable, key, {"spec": {"restart": word}})
    if not is_awaited:
        return Outcome(DONE, [])

    def chosen(found: Mapping[str, Sequence[Any]]) -> list[Any]:
        return [_as_restarted(one, word) for one in found["Executable"] if one.key in keys]

    return await wait(client, chosen, "ready", timeout_s)


def _as_restarted(executable: Executable, word: str) -> Executable:
    """The Executable as it counts: what it says of runs before the restart is not what is waited for."""
    if executable.status.restart.split(" ")[0] == word:
        return executable
    before = executable.deep_copy()
    before.status.phase = "Starting" if before.status.phase != "Terminated" else "Terminated"
    return before
