"""Exceptions as values: type, arguments, attributes and cause; what they share with the place of the raise is dropped.

A copy has no traceback and no context, and an ``AttributeError`` does not know of which object. So no code under check
sees these of an error that it is given, and they need not be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.values.class_layouts import attributes_of, hidden_base
from attractor.check.values.snapshot import Same, Unfreezable, copied, fill_own, freeze, own_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from attractor.check.values.snapshot import Memo

_KEEPS: dict[type, tuple[str, ...]] = {
    BaseExceptionGroup: (),
    ExceptionGroup: (),
    OSError: ("errno", "strerror", "filename", "filename2"),
    ImportError: ("msg", "name", "path"),
    AttributeError: ("name",),
    NameError: ("name",),
    UnicodeDecodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeEncodeError: ("encoding", "object", "start", "end", "reason"),
    BaseException: (),
}
"""What builtin exceptions hold besides their arguments."""


def form_of_failures(kind: type[BaseException]) -> tuple[Any, Any, Any]:
    """How exceptions of a type are frozen; how a copy of one is begun, and how it is filled."""
    behind = _builtin(kind)
    keeps = _KEEPS.get(_layout(behind))
    if keeps is None or hidden_base(kind, {behind: None}) is None:
        return _refuse, None, None
    own = attributes_of(kind)

    def content(value: BaseException, memo: Memo) -> Hashable:
        kept = [freeze(getattr(value, name, None), memo) for name in keeps]
        given = (value.message, value.exceptions) if isinstance(value, BaseExceptionGroup) else value.args
        cause = freeze((value.__cause__, value.__suppress_context__), memo)
        return (Same(kind), freeze(given, memo), cause, *kept, *own_parts(kind, own, value, memo))

    def empty(value: BaseException) -> BaseException:
        new: Callable[..., BaseException] = behind.__new__
        if isinstance(value, BaseExceptionGroup):
            return new(kind, value.message, [copied(each) for each in value.exceptions])
        return new(kind)

    def fill(made: Any, value: BaseException, memo: Memo) -> None:
        if isinstance(made, BaseExceptionGroup):
            made.args = (made.message, list(made.exceptions))
        else:
            made.args = copied(value.args, memo)
        for name in keeps:
            setattr(made, name, copied(getattr(value, name, None), memo))
        made.__cause__ = copied(value.__cause__, memo)
        made.__suppress_context__ = value.__suppress_context__
        fill_own(own, made, value, memo)

    return content, empty, fill


def _builtin(kind: type[BaseException]) -> type[BaseException]:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def _layout(builtin: type[BaseException]) -> type:
    """The builtin exception that says what this one holds besides its arguments."""
    base: Any = builtin
    while base not in _KEEPS and base.__basicsize__ == base.__base__.__basicsize__:
        base = base.__base__
    found: type = base
    return found


def _refuse(value: Any, _: Memo) -> Hashable:
    kind = type(value)
    raise Unfreezable(f"is a {kind.__module__}.{kind.__qualname__}, whose content cannot be compared")
