"""Redaction: the contents of Secrets, and tokens that the server issues, are never recorded.

Requests are recorded without headers, so credentials of the client itself are in none of them. Of calls to outside
systems only the name of the method is recorded, and of a controller's memory nothing.
"""

from __future__ import annotations

from typing import Any

HIDDEN = "REDACTED"
_SECRET_FIELDS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def redacted(value: Any, *, is_secret: bool = False) -> Any:
    """A JSON value without what nobody may read; ``is_secret`` when it is known to be a Secret, or a patch of one."""
    if isinstance(value, list):
        return [redacted(each, is_secret=is_secret) for each in value]
    if not isinstance(value, dict):
        return value
    is_secret = is_secret or str(value.get("kind", "")) in {"Secret", "SecretList"}
    is_token = value.get("kind") in {"TokenRequest", "TokenReview"}
    return {name: _field(name, each, is_secret=is_secret, is_token=is_token) for name, each in value.items()}


def _field(name: str, value: Any, *, is_secret: bool, is_token: bool) -> Any:
    if is_secret and name in _SECRET_FIELDS:
        return dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else HIDDEN
    if is_secret and name in {_LAST_APPLIED, "value"}:
        return HIDDEN
    if is_token and name in {"status", "spec"} and isinstance(value, dict) and "token" in value:
        return {**value, "token": HIDDEN}
    return redacted(value, is_secret=is_secret)


def is_about_secrets(path: str) -> bool:
    """Return whether a request's body or answer has Secrets in it, or a patch of one."""
    return "/secrets" in path
