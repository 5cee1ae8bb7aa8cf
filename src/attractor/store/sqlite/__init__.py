"""The durable store for one machine: SQLite with group commit.

Guarantees: what was acknowledged survives ``kill -9`` and power cuts; nothing is served from a file that is not as it
was written, or that does not reach as far as was acknowledged: opening such a file says what is wrong and what to do.

Read ``driver`` first, then ``log`` (the open file), ``format`` (what lies in it, and its checksums), ``mark`` (how far
was acknowledged), ``reserve`` (a full disk), and ``care`` (verify, repair, backup, restore).
"""

from attractor.store.sqlite.driver import SqliteStore

__all__ = ["SqliteStore"]
