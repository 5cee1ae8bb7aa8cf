"""Real controllers under check: the world around them, what may go wrong in it, what must come true.

    world = World(controllers=[pairs], objects=[...], users=[Edit(...)], faults=Faults(crash=1),
                  properties=[eventually_stable(desired)])
    check(world).assert_holds()

There is no model of the product here: the API server's verbs, the cache, the queue, the client and the reconcile
function are the production ones, run step by step on slots of the checker's state. Modelled are the network, time,
failures, users and outside systems. Read ``world``, then ``universe`` (the steps), ``host`` and ``worker``; ``stage``
and ``storage`` show how production code comes to run on a state vector, ``frames`` how a suspended reconcile becomes a
value.
"""

from attractor.check.world.clock import Swinging
from attractor.check.world.conformance import conformance
from attractor.check.world.externals import NoAnswer, happens
from attractor.check.world.faults import Faults
from attractor.check.world.library import (
    at_most_one_worker,
    finalizer_after_clean_up,
    no_duplicates,
    no_orphans,
    no_write_after_deletion,
    status_not_ahead,
    unchanged_by,
)
from attractor.check.world.looking import Look
from attractor.check.world.properties import (
    Claim,
    StepClaim,
    always,
    always_step,
    always_step_by,
    eventually_stable,
    goes_quiet,
    sometimes,
)
from attractor.check.world.users import Create, Delete, Edit, Script
from attractor.check.world.world import World

__all__ = [
    "Claim",
    "Create",
    "Delete",
    "Edit",
    "Faults",
    "Look",
    "NoAnswer",
    "Script",
    "StepClaim",
    "Swinging",
    "World",
    "always",
    "always_step",
    "always_step_by",
    "at_most_one_worker",
    "conformance",
    "eventually_stable",
    "finalizer_after_clean_up",
    "goes_quiet",
    "happens",
    "no_duplicates",
    "no_orphans",
    "no_write_after_deletion",
    "sometimes",
    "status_not_ahead",
    "unchanged_by",
]
