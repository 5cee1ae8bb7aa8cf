"""Whether a user of a world would take a turn: a script goes in order, and a condition keeps a step back.

A schedule that is followed loosely meets other situations than the one that it was written in. There a user who waits
for something waits on, and whoever goes by a script takes none of its later steps either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check.world.users import Script, act_name, steps_of

if TYPE_CHECKING:
    from attractor.check.world.looking import Look
    from attractor.check.world.users import Act
    from attractor.check.world.world import World
    from attractor.testing.replaying.turns import Turn


class Users:
    """The users of a world, asked turn by turn."""

    def __init__(self, world: World) -> None:
        self._acts: dict[tuple[str, frozenset[tuple[str, str]]], tuple[Act, str]] = {}
        for user in world.users:
            script = user.name if isinstance(user, Script) else ""
            for _, act, arguments, _ in steps_of(user):
                self._acts[act_name(act), frozenset(arguments)] = act, script
        self._waiting: set[str] = set()

    def would_act(self, turn: Turn, look: Look) -> bool:
        """Whether the turn is taken now; what is no turn of a user is."""
        words = frozenset((name, value) for name, value in turn.arguments.items() if name in {"object", "set", "as"})
        act, script = self._acts.get((turn.action, words), (None, ""))
        if act is None:
            return True
        acts = script not in self._waiting and (act.when is None or bool(act.when(look)))
        if script and not acts:
            self._waiting.add(script)
        return acts
