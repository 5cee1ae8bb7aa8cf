"""The toolkit for authors: small parts for controllers, under one name.

    from attractor.toolkit import add_finalizer, hashed_name, set_condition, set_controller

Predicates; ``ensure`` for objects as they are wanted; owners, children named by a hash, conditions, finalizers; state
maps, background work, debouncing, retrying, channels and topics for controllers that manage things outside the API.
Each part states its contract where it is defined, in ``attractor.runtime.toolkit``; docs/reference/toolkit.md has all
of them in short.
"""

from attractor.objects.int_or_string import scaled_value
from attractor.objects.quantity import Quantity
from attractor.runtime.predicates import (
    Predicate,
    annotations_changed,
    created,
    deleted,
    generation_changed,
    labels_changed,
    labels_match,
    newly_held,
    resource_version_changed,
)
from attractor.runtime.toolkit.background import BackgroundWork
from attractor.runtime.toolkit.channel import Channel, ChannelClosed
from attractor.runtime.toolkit.children import data_hash, hashed_name, split_children
from attractor.runtime.toolkit.conditions import find_condition, is_true, remove_condition, set_condition
from attractor.runtime.toolkit.debounce import Debounce, DebouncedCalls
from attractor.runtime.toolkit.ensure import Ensured, EnsuredChildren, ensure, ensure_children
from attractor.runtime.toolkit.finalizers import add_finalizer, finalizer_name, has_finalizer, remove_finalizer
from attractor.runtime.toolkit.owners import AlreadyOwned, add_owner, is_controlled_by, is_owned_by, set_controller
from attractor.runtime.toolkit.retry import Permanent, Retrying, is_permanent, retry
from attractor.runtime.toolkit.selectors import selects
from attractor.runtime.toolkit.statemap import IdentityTaken, ObjectStateMap
from attractor.runtime.toolkit.subscriptions import Subscription, Topic

__all__ = [
    "AlreadyOwned",
    "BackgroundWork",
    "Channel",
    "ChannelClosed",
    "Debounce",
    "DebouncedCalls",
    "Ensured",
    "EnsuredChildren",
    "IdentityTaken",
    "ObjectStateMap",
    "Permanent",
    "Predicate",
    "Quantity",
    "Retrying",
    "Subscription",
    "Topic",
    "add_finalizer",
    "add_owner",
    "annotations_changed",
    "created",
    "data_hash",
    "deleted",
    "ensure",
    "ensure_children",
    "finalizer_name",
    "find_condition",
    "generation_changed",
    "has_finalizer",
    "hashed_name",
    "is_controlled_by",
    "is_owned_by",
    "is_permanent",
    "is_true",
    "labels_changed",
    "labels_match",
    "newly_held",
    "remove_condition",
    "remove_finalizer",
    "resource_version_changed",
    "retry",
    "scaled_value",
    "selects",
    "set_condition",
    "set_controller",
    "split_children",
]
