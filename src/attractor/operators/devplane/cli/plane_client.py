"""Clients of a developer control plane that runs, for commands that ask it for something."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from attractor.cli.terminal import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from attractor.client import Client
    from attractor.operators.devplane.cli.up import Place


@contextlib.asynccontextmanager
async def client_of(place: Place) -> AsyncIterator[Client]:
    """A client of the plane that runs; raises ``UsageError`` when none does."""
    from attractor.client import Client as Made
    from attractor.client import ConfigError, load_kubeconfig
    from attractor.client.errors import ServerUnreachable
    from attractor.client.http.transport import HttpTransport

    if not place.kubeconfig.exists():
        raise nothing_runs(place)
    try:
        async with Made(HttpTransport(load_kubeconfig(place.kubeconfig))) as client:
            yield client
    except ServerUnreachable:
        raise UsageError(
            f"the developer control plane of {place.directory} does not answer",
            "it was killed, or is just ending; `attractor dev down` clears up after it",
        ) from None
    except ConfigError as error:
        raise UsageError(str(error), f"delete {place.kubeconfig}, and start again with `attractor dev up`") from None


def nothing_runs(place: Place) -> UsageError:
    """Return the error of a command that needs a plane where there is none."""
    return UsageError(
        f"no developer control plane runs in {place.directory}",
        "start one with `attractor dev up FILE`, or name its directory with --state-dir",
    )


async def everything(client: Client) -> dict[str, Sequence[Any]]:
    """All objects of a plane, by kind."""
    from attractor.operators.devplane.cli.session import ORDER

    return {kind.__name__: await client.list(kind) for kind in ORDER}


def containers_named(found: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[Any]:
    """The Containers of these names, or all."""
    return [one for one in found.get("Container", ()) if not names or one.metadata.name in names]


def executables_named(found: Mapping[str, Sequence[Any]], names: Sequence[str], *, is_needed: bool = True) -> list[Any]:
    """The Executables of these names, or of replica sets of these names, or all; Containers are passed over.

    Raises ``UsageError`` if one is needed and not there.
    """
    from attractor.operators.devplane.api.executables import REPLICA_SET

    everyone = found["Executable"]
    containers = [one.metadata.name for one in found.get("Container", ())]
    if not names:
        return list(everyone)
    chosen: dict[str, Any] = {}
    for name in names:
        ones = [one for one in everyone if one.metadata.name == name]
        ones = ones or [one for one in everyone if one.metadata.labels.get(REPLICA_SET) == name]
        if not ones and is_needed and name not in containers:
            known = ", ".join([*(one.metadata.name for one in everyone), *containers]) or "none"
            raise UsageError(f"there is no Executable or replica set {name}", f"name one of: {known}")
        chosen |= {one.metadata.name: one for one in ones}
    return list(chosen.values())
