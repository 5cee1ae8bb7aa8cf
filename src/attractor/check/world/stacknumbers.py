"""Numbers on a suspended frame's value stack that are no objects, so that the cycle collector does not show them.

CPython 3.15 loops over a list or a tuple without an iterator: the stack holds the list, and beside it how far the loop
has come, as a tagged machine word. CPython 3.14 does so with the place where a handled exception was raised. Without
them two rounds of one loop would look alike. They are read where ``_Py_DebugOffsets``, which CPython keeps in every
process for debuggers, says that the stack is.

A version that nobody has looked at, or one without the global lock, may hide more, so its frames are ``Unfreezable``:
worlds are then larger, not wrong.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from attractor.check.world.freezing import Unfreezable

if TYPE_CHECKING:
    from collections.abc import Callable

    Numbers: TypeAlias = tuple[tuple[int, int], ...]

_TAG = 3
"""Both low bits of a word are set where it is a number and no pointer; the number is above them."""


class _Places(NamedTuple):
    """Which words of ``_Py_DebugOffsets`` tell where a coroutine's frame and a frame's stack are."""

    variables: int
    stack_end: int
    frame: int


_KNOWN = {(3, 14): _Places(35, 37, 85), (3, 15): _Places(43, 45, 101)}


def _none(_: Any) -> Numbers:
    return ()


def _refuse(_: Any) -> Numbers:
    raise Unfreezable("nobody has looked at what a suspended frame holds in this version of Python")


def reader(version: tuple[int, int]) -> Callable[[Any], Numbers]:
    """What reads the numbers on a suspended coroutine's stack, each with its place, in a version of CPython."""
    is_free_threaded = "t" in sys.abiflags
    if sys.implementation.name != "cpython" or is_free_threaded or version > max(_KNOWN):
        return _refuse
    places = _KNOWN.get(version)
    return _none if places is None else _reading(places)


def _reading(places: _Places) -> Callable[[Any], Numbers]:
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    if ctypes.string_at(runtime, 8) != b"xdebugpy":
        return _refuse
    variables, stack_end, frame = (ctypes.c_uint64.from_address(runtime + 8 * each).value for each in places)

    def read(coroutine: Any) -> Numbers:
        start = id(coroutine) + frame
        end = ctypes.c_size_t.from_address(start + stack_end).value
        words = memoryview(ctypes.string_at(start + variables, end - start - variables)).cast("P")
        return tuple((at, word >> 2) for at, word in enumerate(words) if word & _TAG == _TAG)

    return read


numbers_of = reader(sys.version_info[:2])
