"""Errors on the way to the server and back, as part of the API's own tree of errors.

    ApiError
    ├── Unauthorized
    │   └── CredentialsUnavailable   a plugin or a file gives none now, so nothing was sent; later it may
    ├── ServiceUnavailable
    │   └── ServerUnreachable   nobody answers there; nothing was sent, so nothing was written
    ├── Timeout
    │   └── AnswerLost          the connection broke or time ran out; a write may or may not have happened
    └── GarbledAnswer           an answer came and makes no sense; a write may or may not have happened

``ConfigError`` stands apart: a kubeconfig or its credentials cannot be used, and no request was tried.
``CredentialsUnavailable`` is both, so that what outlives a server's absence outlives that of its credentials too.
"""

from __future__ import annotations

from attractor.objects.errors import ApiError, InsufficientStorage, ServiceUnavailable, Timeout, Unauthorized


class ServerUnreachable(ServiceUnavailable):
    """No connection; nothing was sent, so it is safe to try again."""


class AnswerLost(Timeout):
    """The request was sent and no whole answer came: a write may or may not have happened."""


class GarbledAnswer(ApiError):
    """The answer is not what an API server sends: not HTTP, not JSON, or not of the kind that was asked for."""

    code, reason = 502, "GarbledAnswer"


class ConfigError(Exception):
    """A kubeconfig, a certificate or a credential cannot be used; the text says which, and what to do."""


class CredentialsUnavailable(Unauthorized, ConfigError):
    """There is no credential that can be used now; nothing was sent. The text says why."""


def outcome_is_known(error: ApiError) -> bool:
    """Return whether a write with this error certainly did not happen; a server's own failure does not say."""
    return error.code < 500 or isinstance(error, ServerUnreachable | InsufficientStorage)
