"""Warnings about parts of a world that never did anything: a *holds* says less than whoever wrote them believes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check.engine.model import Expected
from attractor.check.world.api.state import root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.world.simulation.model import Universe

_STRIKES = {
    "external_failure": "no call of an outside system that it could strike is ever made",
    "external_silence": "no call of an outside system that it could strike is ever made",
    "timeout": "no reconcile that has a time limit ever waits for the server or for an outside system",
    "delayed_call": "no call of an outside system that it could strike is ever made",
    "conflict": "there is no object of a kind that somebody else writes",
    "stale_read": "no reconcile reads past its cache what has changed; reads are cached unless `cached=False`",
}
_NO_WRITE = "no request that it could strike is ever sent"


def never_strikes(fault: str) -> Expected:
    """What is told of a fault with a budget that nothing uses up."""
    return Expected(f"fault {fault} never strikes", why=_STRIKES.get(fault.partition(" of ")[0], _NO_WRITE))


def unused(universe: Universe) -> Iterator[str]:
    """The warnings, after everything was explored."""
    yield from _claims(universe)
    yield from _indexes(universe)
    yield from _sources(universe)


def _claims(universe: Universe) -> Iterator[str]:
    kinds = {root(kind): kind.__name__ for kind in universe.kinds}
    for claim, roots in universe.looked_at.items():
        for each in sorted(roots):
            if not _ever_there(universe, each):
                what = kinds.get(each, each.rstrip("/"))
                yield f"`{claim}` looks at {what}, and there never is one: no object, user or controller here writes it"


def _ever_there(universe: Universe, where: str) -> bool:
    storage = universe.storage
    if storage.is_fixed(where):
        return any(key.startswith(where) for key in storage.fixed)
    names = universe.model.slots[storage.names(where).ref].domain.values
    return any(names)


def _sources(universe: Universe) -> Iterator[str]:
    for one in universe.world.controllers:
        if one.sources and not universe.stage.told_sources:
            yield (
                f"the sources of controller {one.name} name no key here, so it runs less often than in production; let "
                "a step of an outside system answer keys (@happens), or write World(resync=True)"
            )


def _indexes(universe: Universe) -> Iterator[str]:
    for one in universe.world.controllers:
        for index in one.indexes:
            kind = index.kind.gvk.kind
            if (kind, f"{one.name}/{index.name}") not in universe.stage.used_indexes:
                yield (
                    f"index {index.name!r} of {kind} (controller {one.name}) never finds anything: nobody asks it, or "
                    f"only for what no object has"
                )
