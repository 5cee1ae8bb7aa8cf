"""The calls of a client: get, list and watch, create, update, patch, apply and delete.

Guarantees: a write is never repeated once it may have happened; a list is at one version, however many pages it took.
Read ``requests`` first (one request, its retries and errors), then ``reads``, ``writes`` and ``watch``;
``write_observer`` tells a cache of this process's own writes.
"""
