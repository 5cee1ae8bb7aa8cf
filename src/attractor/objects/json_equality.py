"""Whether two JSON values are the same: Python takes ``1`` and ``True`` as equal, JSON does not.

>>> [1, {"a": True}] == [True, {"a": 1}], same_json([1, {"a": True}], [True, {"a": 1}])
(True, False)
"""

from __future__ import annotations

from typing import Any

import orjson


def same_json(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; unlike Python's ``==``, true is not 1."""
    if left is right:
        return True
    if left != right:
        return False
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
    if isinstance(left, dict):
        return isinstance(right, dict) and all(same_json(value, right[name]) for name, value in left.items())
    return isinstance(right, list) and all(map(same_json, left, right))


def differs(left: Any, right: Any) -> bool:
    """The opposite: what ``operator.ne`` is to ``==``."""
    return not same_json(left, right)
