"""One controller process in a world: its cache, queues, workers and the coroutines under way, all kept in slots.

Read ``host`` first, then ``worker`` (what a reconcile does in a step) and ``suspended`` (how a suspended coroutine is
identified and brought back).
"""
