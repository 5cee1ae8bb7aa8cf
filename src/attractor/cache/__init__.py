"""The cache: views of the cluster that follow it, and that never show less than this process has written.

Guarantees: what is read is the reader's own copy; an object is never older than this process's last write to it; a
view that has lost touch says so (``is_ready``) and heals. Read ``core`` first (a view, and own writes, as a value with
steps), then ``reflector`` (how a view follows a server, as a state machine), ``informer`` (both driven by an event
loop) and ``cache`` (informers that controllers share). Objects are kept as JSON text and decoded for each reader:
nothing that a reader does can change what another one gets.
"""

from attractor.cache.cache import Cache, drop_managed_fields
from attractor.cache.changes import Added, Change, Deleted, Updated
from attractor.cache.core import ViewCore, ViewState
from attractor.cache.handlers import InformerEvent
from attractor.cache.informer import Health, Informer
from attractor.cache.reflector import Policy
from attractor.cache.scope import Scope

__all__ = [
    "Added",
    "Cache",
    "Change",
    "Deleted",
    "Health",
    "Informer",
    "InformerEvent",
    "Policy",
    "Scope",
    "Updated",
    "ViewCore",
    "ViewState",
    "drop_managed_fields",
]
