"""Objects that code under check changes: one that two runs change, and that is the same in both, outlives them.

    with watched(look) as first: ...            what it assigns to, or calls methods of, is noted and kept alive
    with watched(look, first) as second: ...    what the first had, too, is looked at when it is met, and
    second.changed()                            once more at the end

Names tell where state may be kept (``purity``); this tells of state wherever it is kept: attributes of a logger, of a
client that a library hands out, of an object of an extension type. The code in which it is noted is the author's own,
compiled once more (``set_order``). Answers are copied for each run, so two runs share nothing else.
"""

from __future__ import annotations

import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

_NEVER = frozenset({str, bytes, int, float, bool, complex, type(None), types.CoroutineType, frozenset, range, tuple})
_BY_NAME = (type, types.ModuleType, types.FunctionType)


class Touched(NamedTuple):
    """An object, and the line at which a run first touched it."""

    value: Any
    line: str


class Run:
    """What one run touches, by the ids of objects, which are kept so that the ids stay their own."""

    def __init__(self, before: Run | None, look: Callable[[Any], Hashable]) -> None:
        self.touched: dict[int, Touched] = {}
        self._before, self._look = before, look
        self._contents: dict[int, Hashable] = {}

    def touch(self, value: Any, at: types.FrameType) -> None:
        """Note an object that may be about to change."""
        if id(value) not in self.touched:
            self.touched[id(value)] = Touched(value, f"{at.f_code.co_filename}:{at.f_lineno}")
            if self._before is not None and id(value) in self._before.touched:
                self._contents[id(value)] = self._look(value)

    @property
    def lines(self) -> set[str]:
        """Where something was touched."""
        return {each.line for each in self.touched.values()}

    def changed(self) -> Touched | None:
        """The first object that the run before touched too, and that this one changed."""
        for known, before in self._contents.items():
            if self._look(self.touched[known].value) != before:
                return self.touched[known]
        return None


class _Watch:
    run: Run | None = None


_watch = _Watch()


@contextmanager
def watched(look: Callable[[Any], Hashable], before: Run | None = None) -> Iterator[Run]:
    """Note what is touched inside; ``look`` tells all that can be seen of an object."""
    _watch.run = run = Run(before, look)
    try:
        yield run
    finally:
        _watch.run = None


def assigned(value: Any, at: types.FrameType) -> Any:
    """The object to which something is assigned, or of which something is deleted."""
    if _watch.run is not None and type(value) not in _NEVER:
        _watch.run.touch(value, at)
    return value


def used(value: Any, at: types.FrameType) -> Any:
    """An object of which a method is called, or that is handed to a function, which may change it."""
    if _watch.run is not None and type(value) not in _NEVER and not issubclass(type(value), _BY_NAME):
        _watch.run.touch(value, at)
        if type(value) is types.BuiltinMethodType:
            used(value.__self__, at)
    return value
