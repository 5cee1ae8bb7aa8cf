"""Errors of reading an object as its kind.

DecodeError    what the decoder says, of no object in particular
Undecodable    the refusal of a request that comes of it
"""

from __future__ import annotations

from attractor.objects.errors import BadRequest


class DecodeError(ValueError):
    """The object cannot be read as its kind; the text is the decoder's, without saying which object it was."""

    def __init__(self, text: str, restored: str = "") -> None:
        super().__init__(text)
        self.restored = restored or text
        """The same in the words of Go's converter from maps, which reads what a strategic merge patch made."""


class Undecodable(BadRequest):
    """The refusal of an object that cannot be read as its kind."""

    def __init__(self, text: str, restored: str) -> None:
        super().__init__(text)
        self.restored = restored
        """The decoder's text, in the words of Go's converter from maps."""
