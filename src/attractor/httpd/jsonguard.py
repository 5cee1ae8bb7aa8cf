"""Refuse JSON that would cost far more memory, or stack, than it has bytes: before it is decoded.

An empty object is two bytes on the wire and about seventy in memory, so that three megabytes of them cost a hundred;
and what walks a value recursively needs stack for each level. Bodies of ordinary size pass with three counts.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from attractor.objects.errors import BadRequest, RequestEntityTooLarge

if TYPE_CHECKING:
    from attractor.httpd.limits import Limits

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OTHERS = bytes(c for c in range(256) if c not in b"[]{}")
_STEPS = bytes(1 if c in b"[{" else 255 if c in b"]}" else 0 for c in range(256))


def check_json(body: bytes, limits: Limits) -> None:
    """Raise ``BadRequest`` for too deep a body, ``RequestEntityTooLarge`` for one with too many values."""
    opened = body.count(b"{") + body.count(b"[")
    if opened <= limits.json_depth and opened + body.count(b",") <= limits.json_values:
        return
    bare = _STRING.sub(b"", body)
    brackets = bare.translate(None, _OTHERS)
    values = bare.count(b",") + bare.count(b"{") + bare.count(b"[")
    if values > limits.json_values:
        raise RequestEntityTooLarge(f"Request entity too large: it holds more than {limits.json_values} values")
    depth = max(accumulate(memoryview(brackets.translate(_STEPS)).cast("b")), default=0)
    if depth > limits.json_depth:
        raise BadRequest(f"the request's body nests {depth} levels deep; the limit is {limits.json_depth}")
