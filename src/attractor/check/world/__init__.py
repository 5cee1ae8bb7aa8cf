"""Real controllers under check: the world around them, what may go wrong in it, what must come true.

    world = World(controllers=[pairs], objects=[...], users=[Edit(...)], faults=Faults(crash=1),
                  properties=[eventually_stable(desired)])
    check(world).assert_holds()

There is no model of the product here: the API server's verbs, the cache, the queue, the client and the reconcile
function are the production ones, run step by step on slots of the checker's state. Modelled are the network, time,
failures, users and outside systems. Read ``api.world``, then in ``simulation`` ``model`` (the steps), ``process.host``
and ``worker``; ``slots`` and ``storage`` show how production code comes to run on a state vector, ``suspended`` how a
suspended reconcile becomes a value. Authors import from ``attractor.check``.
"""
