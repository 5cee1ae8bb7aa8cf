"""Revisioned key-value stores: one contract, three engines.

Guarantees (each is a test of the conformance suite): writes are atomic and durable once acknowledged; revisions
grow by one with each transaction; reads are of a snapshot; a watcher sees every change after its revision exactly
once and in order, can resume from any retained revision, and is told ``Compacted`` when it cannot.

Read ``contract`` first, then ``mvcc`` (the sans-I/O core of every engine), then ``memory``, ``sqlite`` and ``etcd``.
The store knows nothing of Kubernetes: keys are text, values are bytes.
"""
