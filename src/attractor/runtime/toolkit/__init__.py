"""The developer-control-plane toolkit: small parts for controllers that manage things outside the API.

Each part states its contract in its module: ``statemap`` (memory with two keys), ``debounce`` (reconcile soon, but not
too often), ``background`` (work of limited concurrency), ``retry``, ``channel`` (unbounded), ``subscriptions`` (never
block a publisher), ``finalizers``, ``owners``, ``children`` (immutable, named by hash), ``conditions``.

Cores are values with pure steps; where a clock is needed, it is handed in. Everything belongs to the thread of the
event loop, except that ``Channel.send``, ``Channel.close`` and ``Topic.publish`` may be called from any.
"""
