"""The store for several servers on several machines: etcd, through a local mirror.

One watch on etcd feeds a mirror in memory that serves every read and watch of this process. A write is one etcd
transaction; it is acknowledged when the mirror shows it. A linearizable snapshot asks etcd how far the mirror must be,
once for all who wait. Writes of this process follow each other without losing to each other.

Read ``layout`` first (what lies in etcd), then ``driver`` and ``chain`` (own writes on their way). Below are
``connection`` (etcd's calls), ``channel`` (gRPC) and ``frames`` (HTTP/2).

Revisions are etcd's own: they have gaps where others write, and history reaches back as far as etcd's compaction and
``history_limit`` allow, also after a restart. Nothing here compacts by itself: let etcd do it
(``--auto-compaction-retention``).
"""

from attractor.store.etcd.connection import EtcdOptions
from attractor.store.etcd.driver import EtcdStore

__all__ = ["EtcdOptions", "EtcdStore"]
