"""Declarations for mypyc in compiled modules; without effect at run time.

A compiled class calls its own methods directly, so nobody may inherit from it, unless it says so:

    @mypyc_attr(allow_interpreted_subclasses=True)
    class Indexer: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_):
        """A decorator that leaves a class as it is."""
        return lambda cls: cls


__all__ = ["mypyc_attr"]
