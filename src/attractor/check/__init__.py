"""The model checker: specifications in Python and worlds of real controllers, explored exhaustively.

    world = World(controllers=[pairs], objects=[...], users=[Edit(...)], faults=Faults(crash=1),
                  properties=[eventually_stable(desired)])
    check(world).assert_holds()

Put a ``World`` together from the controllers that you run, or write a specification (``Spec``; ``spec`` shows a small
one), give it to ``check``, and read the verdict:
*holds* (every reachable state was seen), *holds within* (every one within bounds that cut something off, which it
names), *violated* (with the shortest trace) or *inconclusive* (with the limit that stopped the search). Actions are
ordinary Python, executed once for each distinct combination of the values that they read; everything else is table
look-up (``engine.trie``), in C where a compiler was at hand (``engine.native``).

Guarantees: engines agree on distinct, generated and depth, and count as TLC counts; a bound never turns into a
"holds"; a step that is not a function of what it reads is reported, not remembered.

Every name is imported from here. What only worlds need is loaded when it is first used: a specification does not wait
for an API server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attractor.check.api import check, simulate
from attractor.check.errors import ImpureStep, MutationError, SpecError, ValueNotHashable
from attractor.check.spec.declarations import (
    Map,
    Subset,
    WorldProperty,
    action,
    constant,
    constraint,
    each,
    fields,
    initial,
    interchangeable,
    predicate,
    require,
    strong,
    subset,
    terminal,
    var,
    weak,
)
from attractor.check.spec.property_declarations import (
    always,
    always_eventually,
    always_step,
    eventually,
    eventually_always,
    henceforth,
    leads_to,
    refines,
    sometimes,
    until,
)
from attractor.check.spec.spec import Composition, Spec, Step
from attractor.check.spec.values import Bag, FrozenMap, Record
from attractor.check.trace import Trace, TraceStep
from attractor.check.verdict import HoldsWithin, NotShown, PropertyVerdict, Verdict

if TYPE_CHECKING:
    from attractor.check.spec.lifecycles import specification
    from attractor.check.widening import widen
    from attractor.check.world.api.bounds import Bounds
    from attractor.check.world.api.conformance import conformance
    from attractor.check.world.api.faults import Faults
    from attractor.check.world.api.library import (
        at_most_one_worker,
        finalizer_after_clean_up,
        no_duplicates,
        no_orphans,
        no_write_after_deletion,
        status_not_ahead,
        unchanged_by,
    )
    from attractor.check.world.api.properties import always_step_by, eventually_stable, quiesces
    from attractor.check.world.api.state import WorldState
    from attractor.check.world.api.users import Create, Delete, Edit, Script
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.clock import OscillatingClock
    from attractor.check.world.simulation.externals import NoAnswer, happens
    from attractor.check.world.simulation.server.initial_owners import owned_by

_HOMES = {
    "attractor.check.spec.lifecycles": ("specification",),
    "attractor.check.widening": ("widen",),
    "attractor.check.world.api.bounds": ("Bounds",),
    "attractor.check.world.api.conformance": ("conformance",),
    "attractor.check.world.api.faults": ("Faults",),
    "attractor.check.world.api.library": (
        "at_most_one_worker",
        "finalizer_after_clean_up",
        "no_duplicates",
        "no_orphans",
        "no_write_after_deletion",
        "status_not_ahead",
        "unchanged_by",
    ),
    "attractor.check.world.api.properties": (
        "WorldProperty",
        "always_step_by",
        "eventually_stable",
        "quiesces",
    ),
    "attractor.check.world.api.state": ("WorldState",),
    "attractor.check.world.api.users": (
        "Create",
        "Delete",
        "Edit",
        "Script",
    ),
    "attractor.check.world.api.world": ("World",),
    "attractor.check.world.simulation.clock": ("OscillatingClock",),
    "attractor.check.world.simulation.externals": (
        "NoAnswer",
        "happens",
    ),
    "attractor.check.world.simulation.server.initial_owners": ("owned_by",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Bag",
    "Bounds",
    "Composition",
    "Create",
    "Delete",
    "Edit",
    "Faults",
    "FrozenMap",
    "HoldsWithin",
    "ImpureStep",
    "Map",
    "MutationError",
    "NoAnswer",
    "NotShown",
    "OscillatingClock",
    "PropertyVerdict",
    "Record",
    "Script",
    "Spec",
    "SpecError",
    "Step",
    "Subset",
    "Trace",
    "TraceStep",
    "ValueNotHashable",
    "Verdict",
    "World",
    "WorldProperty",
    "WorldState",
    "action",
    "always",
    "always_eventually",
    "always_step",
    "always_step_by",
    "at_most_one_worker",
    "check",
    "conformance",
    "constant",
    "constraint",
    "each",
    "eventually",
    "eventually_always",
    "eventually_stable",
    "fields",
    "finalizer_after_clean_up",
    "happens",
    "henceforth",
    "initial",
    "interchangeable",
    "leads_to",
    "no_duplicates",
    "no_orphans",
    "no_write_after_deletion",
    "owned_by",
    "predicate",
    "quiesces",
    "refines",
    "require",
    "simulate",
    "sometimes",
    "specification",
    "status_not_ahead",
    "strong",
    "subset",
    "terminal",
    "unchanged_by",
    "until",
    "var",
    "weak",
    "widen",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'attractor.check' has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
