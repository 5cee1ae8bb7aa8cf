"""The controllers that a control plane is expected to have, driven inside the server.

What each one does is a planner in ``attractor.apiserver.controllers``. Read ``runner`` first (the loop that drives the
planners), then ``change_notifier`` (who is told of which change) and ``ownership`` (changes that concern the garbage
collector).
"""

from attractor.embedded.controllers.runner import (
    ALL_CONTROLLERS,
    CONTROLLERS,
    Controllers,
    UnknownController,
    chosen,
    is_of_note,
    kinds_in,
)

__all__ = [
    "ALL_CONTROLLERS",
    "CONTROLLERS",
    "Controllers",
    "UnknownController",
    "chosen",
    "is_of_note",
    "kinds_in",
]
