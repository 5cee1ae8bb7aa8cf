"""Turns of a world's users: a script goes in order, and a condition keeps a step back.

A schedule that is followed loosely meets other situations than the one that it was written in. There a user who waits
for something waits on, and whoever goes by a script takes none of its later steps either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check.world.api.users import Script, act_name, steps_of

if TYPE_CHECKING:
    from attractor.check.world.api.state import WorldState
    from attractor.check.world.api.users import Act, User
    from attractor.check.world.api.world import World
    from attractor.testing.replay.turns import Turn


class Users:
    """The users of a world, turn by turn."""

    def __init__(self, world: World) -> None:
        self._acts: dict[tuple[str, frozenset[tuple[str, str]]], tuple[Act, User]] = {}
        self.left: dict[str, int] = {}
        """How often each may still act, by label."""
        self._waiting: set[str] = set()
        for user in world.users:
            self.left.setdefault(user.label, len(user.steps) if isinstance(user, Script) else user.times)
            for _, act, arguments, _ in steps_of(user):
                self._acts[act_name(act), frozenset(arguments)] = act, user

    def _of(self, turn: Turn) -> tuple[Act, User] | None:
        words = frozenset((name, value) for name, value in turn.arguments.items() if name in {"object", "set", "as"})
        return self._acts.get((turn.action, words))

    def would_act(self, turn: Turn, look: WorldState) -> bool:
        """Return whether the turn is taken now; what is no turn of a user is."""
        found = self._of(turn)
        if found is None:
            return True
        act, user = found
        acts = user.label not in self._waiting and (act.when is None or bool(act.when(look)))
        if isinstance(user, Script) and not acts:
            self._waiting.add(user.label)
        return acts

    def took(self, turn: Turn) -> None:
        """The turn was taken."""
        found = self._of(turn)
        if found is not None:
            self.left[found[1].label] -= 1
