"""Which host of a world runs which controllers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.runtime.controller import Controller


def placement(
    controllers: Sequence[Controller], hosts: Sequence[str] | Mapping[str, Sequence[Controller]]
) -> dict[str, tuple[Controller, ...]] | None:
    """What each host runs, or None where each runs all ``controllers``; raises ``SpecError``."""
    for name in hosts:
        if not name or any(letter in name for letter in " /"):
            raise SpecError(f"a host cannot be named {name!r}: traces say `host worker 0` and `host/controller`")
    if not isinstance(hosts, Mapping):
        if not controllers:
            raise SpecError("a world needs a controller, as in World(controllers=[pairs])")
        return None
    if controllers:
        raise SpecError("`hosts` says already which controllers there are, so leave `controllers` out")
    if not hosts:
        raise SpecError("a world needs a host, as in World(hosts={'agent': [worker]})")
    for name, each in hosts.items():
        _check_runs(name, each)
    return {name: tuple(each) for name, each in hosts.items()}


def has_limit(one: Controller) -> bool:
    """Whether a controller declares how long a reconcile may take."""
    return one.timeout_s is not None and one.timeout_s != math.inf


def distinct(placed: Mapping[str, Sequence[Controller]] | None) -> tuple[Controller, ...]:
    """Every controller that some host runs, once."""
    found = [one for each in (placed or {}).values() for one in each]
    return tuple({id(one): one for one in found}.values())


def _check_runs(host: str, controllers: Sequence[Controller]) -> None:
    if not controllers:
        raise SpecError(f"host {host!r} runs nothing; give it a controller, or leave it out")
    names = [one.name for one in controllers]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(
                f"host {host!r} runs two controllers of the name {name!r}, whose keys could not be told apart"
            )
