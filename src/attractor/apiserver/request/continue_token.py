"""The tokens by which a client asks for the next page of a list.

A token is built like Kubernetes' own, and is refused in the same words: it names a version and where in the collection
to go on, relative to the collection, so that it never leads out of it.
"""

from __future__ import annotations

import base64
import posixpath
import re
import string
from typing import Any, NamedTuple

import orjson

from attractor.objects.errors import BadRequest
from attractor.objects.go_wording import syntax_error

_VERSION = "meta.k8s.io/v1"
_ALPHABET = frozenset(string.ascii_letters + string.digits + "-_")
_INT64 = range(-(2**63), 2**63)
_NEXT = "\0"
"""What follows a key to make the smallest key that is greater."""


class Continue(NamedTuple):
    """Where the next page starts: which snapshot (the newest, if negative), after which key."""

    revision: int
    after: str

    def encode(self, prefix: str) -> str:
        """An opaque token for the collection below ``prefix``."""
        start = self.after.removeprefix(prefix) + _NEXT
        raw = orjson.dumps({"v": _VERSION, "rv": self.revision, "start": start})
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    @classmethod
    def decode(cls, token: str, prefix: str) -> Continue:
        """Read a token for the collection below ``prefix``; raises ``BadRequest``."""
        said = _json(token)
        version, revision, start = said.get("v") or "", said.get("rv") or 0, said.get("start") or ""
        if version != _VERSION:
            raise _invalid(f"server does not recognize this encoded version {version}")
        if revision == 0:
            raise _invalid(f"incorrect encoded start resourceVersion (version {_VERSION})")
        if not start:
            raise _invalid(f"encoded start key empty (version {_VERSION})")
        key = start if start.startswith("/") else f"/{start}"
        if posixpath.normpath(key) != key:
            raise _invalid(start)
        return cls(revision, prefix + key[1:].removesuffix(_NEXT))


def _number_of(raw: bytes) -> str:
    """The version as the token has it, as far as it is worth showing."""
    found = re.search(rb'"rv"\s*:\s*([-+0-9.eE]{1,40})', raw)
    return found.group(1).decode() if found else "too large"


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")


def _json(token: str) -> dict[str, Any]:
    bad = next((index for index, character in enumerate(token) if character not in _ALPHABET), None)
    if bad is None and len(token) % 4 == 1:
        bad = len(token) - 1
    if bad is not None:
        raise _invalid(f"illegal base64 data at input byte {bad}")
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    try:
        said = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise _invalid(syntax_error(raw) or "invalid UTF-8 in string") from None
    if (
        isinstance(said, dict)
        and type(rv := said.get("rv")) in {int, float}
        and (type(rv) is float or rv not in _INT64)  # a float is looked for in a range one number after the other
    ):
        number = _number_of(raw)
        raise _invalid(f"json: cannot unmarshal number {number} into Go struct field continueToken.rv of type int64")
    types = {"v": str, "rv": int, "start": str}
    if not isinstance(said, dict) or not all(isinstance(said.get(name), kind | None) for name, kind in types.items()):
        raise _invalid("json: cannot unmarshal a value into Go value of type storage.continueToken")
    return said
