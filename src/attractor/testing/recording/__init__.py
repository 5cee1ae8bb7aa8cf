"""Real runs as files, and whether a world admits them.

``attractor run --record FILE`` writes one JSON object a line: what caches were told, when reconciles began and ended,
what they asked and were answered, with the requests that it took. ``attractor check MODULE:WORLD --against FILE``
follows that in the world. Read ``recorder`` (how it is written), ``recording`` (how it is read), ``redaction`` (what is
never written), then ``admission`` (how the world is made to follow) and ``equality`` (what is compared).
"""

from attractor.testing.recording.recorder import Recorder
from attractor.testing.recording.recording import BadRecording, Recording

__all__ = ["BadRecording", "Recorder", "Recording"]
