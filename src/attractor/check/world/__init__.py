"""Real controllers under check: the world around them, what may go wrong in it, what must come true.

    world = World(controllers=[pairs], objects=[...], users=[Edit(...)], faults=Faults(crash=1),
                  properties=[eventually_stable(desired)])
    check(world).assert_holds()

There is no model of the product here: the API server's verbs, the cache, the queue, the client and the reconcile
function are the production ones, run step by step on slots of the checker's state. Modelled are the network, time,
failures, users and outside systems. Read ``api.world``, then in ``simulation`` ``model`` (the steps), ``process.host``
and ``worker``; ``slots`` and ``storage`` show how production code comes to run on a state vector, ``suspended`` how a
suspended reconcile becomes a value.
"""

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
from attractor.check.world.api.properties import (
    Claim,
    StepClaim,
    always,
    always_step,
    always_step_by,
    eventually_stable,
    quiesces,
    sometimes,
)
from attractor.check.world.api.state import WorldState
from attractor.check.world.api.users import Create, Delete, Edit, Script
from attractor.check.world.api.world import World
from attractor.check.world.simulation.clock import OscillatingClock
from attractor.check.world.simulation.externals import NoAnswer, happens
from attractor.check.world.simulation.server.initial_owners import owned_by

__all__ = [
    "Bounds",
    "Claim",
    "Create",
    "Delete",
    "Edit",
    "Faults",
    "NoAnswer",
    "OscillatingClock",
    "Script",
    "StepClaim",
    "World",
    "WorldState",
    "always",
    "always_step",
    "always_step_by",
    "at_most_one_worker",
    "conformance",
    "eventually_stable",
    "finalizer_after_clean_up",
    "happens",
    "no_duplicates",
    "no_orphans",
    "no_write_after_deletion",
    "owned_by",
    "quiesces",
    "sometimes",
    "status_not_ahead",
    "unchanged_by",
]
