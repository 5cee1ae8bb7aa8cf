"""Counterexamples on the production runtime: ``replay`` confirms or refutes one, ``withstand`` keeps it as a test.

Read ``turns`` first (a step of a world as something that a directed runtime can do), then ``replay`` (every step
compared), ``ending`` (is the claim broken there too?), ``match`` (what may differ, and why) and ``regression``.
"""

from attractor.testing.replay.regression import Broken, withstand
from attractor.testing.replay.replay import Replayed, replay
from attractor.testing.replay.turns import CannotReplay, Player, Turn, turn_of

__all__ = ["Broken", "CannotReplay", "Player", "Replayed", "Turn", "replay", "turn_of", "withstand"]
