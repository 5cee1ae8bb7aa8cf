"""Refuse bodies that would cost far more memory, or stack, than they have bytes: before they are decoded.

An empty object is two bytes on the wire and about seventy in memory, so that three megabytes of them cost a hundred;
what walks a value recursively needs stack for each level, and libyaml's composer needs so much of it that some
thousand levels end the process. JSON of ordinary size passes with three counts or fewer, YAML with six.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

import orjson
import yaml

from attractor.objects.errors import BadRequest, RequestEntityTooLarge
from attractor.objects.yaml_json import YamlError, refuse_directives

if TYPE_CHECKING:
    from attractor.httpd.limits import Limits

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OTHERS = bytes(c for c in range(256) if c not in b"[]{}")
_STEPS = bytes(1 if c in b"[{" else 255 if c in b"]}" else 0 for c in range(256))
FEW_BRACKETS = 8
"""Up to so many it is faster to look for each than to count all."""
_OPENS_YAML = (b"[", b"{", b"-", b"?", b":")
"""Every level of a YAML document needs one of these."""


def check_body(content_type: str, body: bytes, limits: Limits) -> None:
    """Raise ``BadRequest`` for too deep a body, ``RequestEntityTooLarge`` for one with too many values."""
    if "yaml" in content_type.lower() and not _is_json(body, limits):
        check_yaml(body, limits)
    else:
        check_json(body, limits)


def _is_json(body: bytes, limits: Limits) -> bool:
    """Whether a YAML body is in fact JSON, as most apply configurations are; raises as ``check_json`` does."""
    if body.lstrip()[:1] != b"{":
        return False
    check_json(body, limits)
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return True


def check_json(body: bytes, limits: Limits) -> None:
    """Refuse JSON that is too deep or too rich; what is not JSON at all is left to the decoder."""
    if len(body) <= limits.json_depth or (len(body) <= limits.json_values and _opens_little(body, limits.json_depth)):
        return  # neither has it so many bytes nor so many brackets as it would take
    opened = body.count(b"{") + body.count(b"[")
    if opened <= limits.json_depth and opened + body.count(b",") <= limits.json_values:
        return
    bare = _STRING.sub(b"", body)
    brackets = bare.translate(None, _OTHERS)
    values = bare.count(b",") + bare.count(b"{") + bare.count(b"[")
    if values > limits.json_values:
        raise _too_rich(limits)
    depth = max(accumulate(memoryview(brackets.translate(_STEPS)).cast("b")), default=0)
    if depth > limits.json_depth:
        raise _too_deep(limits)


def _opens_little(body: bytes, depth: int) -> bool:
    """Whether a body has but a few brackets, too few to be deep; to find them is faster than to count all bytes."""
    left = min(FEW_BRACKETS, depth)
    for bracket in (b"{", b"["):
        at = body.find(bracket)
        while at >= 0:
            left -= 1
            if left < 0:
                return False
            at = body.find(bracket, at + 1)
    return True


def check_yaml(body: bytes, limits: Limits) -> None:
    """Refuse YAML that is too deep or too rich, told from its events, which take no stack."""
    opened = sum(map(body.count, _OPENS_YAML))
    if opened <= limits.json_depth and opened + body.count(b",") <= limits.json_values:
        return
    depth = values = 0
    try:
        text = body.decode()
        refuse_directives(text)
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            values += 1
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > limits.json_depth:
                    raise _too_deep(limits)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if values > limits.json_values:
                raise _too_rich(limits)
    except (yaml.YAMLError, YamlError, UnicodeDecodeError):
        return  # the decoder says what is wrong with it, and gets no further than this


def _too_deep(limits: Limits) -> BadRequest:
    return BadRequest(f"the request's body nests deeper than {limits.json_depth} levels")


def _too_rich(limits: Limits) -> RequestEntityTooLarge:
    return RequestEntityTooLarge(f"Request entity too large: it holds more than {limits.json_values} values")
