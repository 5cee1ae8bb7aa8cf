"""The id under which a request is found again: in its answer's ``Audit-Id`` header and in the audit log."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.httpd.parser import HttpRequest

MAX_BYTES = 64


class AuditIds:
    """Gives each request an id, unlike those of other processes."""

    def __init__(self) -> None:
        self._prefix = (
            f"{secrets.token_hex(4)}-{secrets.token_hex(2)}-4{secrets.token_hex(2)[1:]}-8{secrets.token_hex(2)[1:]}"
        )
        self._numbers = itertools.count(1)

    def of(self, request: HttpRequest) -> str:
        """The id it has already, or the one that it brought, or a fresh one."""
        if request.audit_id is not None:
            return request.audit_id
        given = request.headers.get(b"audit-id")
        if given and len(given) <= MAX_BYTES and given.isascii() and given.decode().isprintable():
            return given.decode()
        return f"{self._prefix}-{next(self._numbers):012x}"
