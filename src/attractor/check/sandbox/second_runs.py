"""Second runs: whether code under check is run again, and watched, to see that it depends on nothing but its answers.

A check audits always. Who executes again what was checked (a verifier of certificates) need not::

    with unaudited(): ...
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_audits = ContextVar("audits", default=True)


def audits() -> bool:
    """Whether code is audited here."""
    return _audits.get()


@contextmanager
def unaudited() -> Iterator[None]:
    """Run a block in which code is executed once and not watched."""
    before = _audits.set(False)
    try:
        yield
    finally:
        _audits.reset(before)
