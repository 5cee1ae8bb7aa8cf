"""Counterexamples on the production runtime: ``replay`` confirms or refutes one.

Read ``turns`` first (a step of a world as something that a directed runtime can do), then ``replay`` (every step
compared), ``ending`` (is the claim broken there too?) and ``matching`` (what may differ, and why).
"""

from attractor.testing.replaying.replay import Replayed, replay
from attractor.testing.replaying.turns import CannotReplay, Player, Turn, turn_of

__all__ = ["CannotReplay", "Player", "Replayed", "Turn", "replay", "turn_of"]
