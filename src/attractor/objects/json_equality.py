"""Two JSON values compared: whether they are the same, and where they differ.

Python takes ``1`` and ``True`` as equal, JSON does not.

>>> [1, {"a": True}] == [True, {"a": 1}], same_json([1, {"a": True}], [True, {"a": 1}])
(True, False)
>>> [str(each.path) for each in differences({"a": [1, 2], "b": {"c": 1}}, {"a": [1, 3], "b": {"d": 1}})]
['a[1]', 'b.c', 'b.d']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "(absent)"})()
"""The value of a field that is not there."""


class FieldChange(NamedTuple):
    """One field, before and after; ``ABSENT`` where it is not there."""

    path: str
    before: Any
    after: Any


def same_json(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal, however deep; unlike Python's ``==``, true is not 1."""
    if left is right:
        return True
    try:
        if left != right:
            return False
    except RecursionError:
        return _is_same_inside(left, right)
    if not isinstance(left, dict | list):
        return isinstance(left, bool) == isinstance(right, bool)
    return _is_same_text(left, right) or _is_same_inside(left, right)


def _is_same_text(left: Any, right: Any) -> bool:
    """Whether two values are written alike, in one order: the common case, and far faster than walking both."""
    try:
        return orjson.dumps(left) == orjson.dumps(right)
    except orjson.JSONEncodeError:
        return False


def _is_same_inside(left: Any, right: Any) -> bool:
    pending = [(left, right)]
    while pending:
        a, b = pending.pop()
        if isinstance(a, dict):
            if not isinstance(b, dict) or a.keys() != b.keys():
                return False
            pending += [(member, b[name]) for name, member in a.items()]
        elif isinstance(a, list):
            if not isinstance(b, list) or len(a) != len(b):
                return False
            pending += zip(a, b, strict=True)
        elif isinstance(b, dict | list) or a != b or isinstance(a, bool) != isinstance(b, bool):
            return False
    return True


def differences(
    before: Any,
    after: Any,
    path: str = "",
    *,
    skips: Callable[[str, str], bool] = lambda _path, _name: False,
    in_lists: bool = True,
    in_absent: bool = True,
) -> Iterator[FieldChange]:
    """Each field that differs, named by its path (``spec.containers[0].image``).

    ``skips`` tells of the path of an object and a name in it whether to look away. Lists are compared item by item, if
    not as a whole, and what only one side has is told field by field, if not as a whole.
    """
    sides = [side for side in (before, after) if side is not ABSENT]
    if len(sides) != 1 and same_json(before, after):
        return
    inside = any(sides) and (in_absent or len(sides) == 2)
    if inside and all(isinstance(side, dict) for side in sides):
        one, other = (({} if side is ABSENT else side) for side in (before, after))
        names = [name for name in dict.fromkeys([*one, *other]) if not skips(path, name)]
        parts = [(f"{path}.{name}" if path else name, one.get(name, ABSENT), other.get(name, ABSENT)) for name in names]
    elif inside and in_lists and all(isinstance(side, list) for side in sides):
        longest = range(max(map(len, sides)))
        parts = [(f"{path}[{number}]", _item(before, number), _item(after, number)) for number in longest]
    else:
        yield FieldChange(path, before, after)
        return
    for below, was, now in parts:
        yield from differences(was, now, below, skips=skips, in_lists=in_lists, in_absent=in_absent)


def _item(value: Any, number: int) -> Any:
    return value[number] if value is not ABSENT and number < len(value) else ABSENT
