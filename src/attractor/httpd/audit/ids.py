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
        ).encode()
        self._numbers = itertools.count(1)

    def of(self, request: HttpRequest) -> bytes:
        """The request's own id if it brought one, else a fresh one; the same however often it is asked for."""
        if not request.audit_id:
            given = request.headers.get(b"audit-id")
            if given and len(given) <= MAX_BYTES and given.isascii() and given.decode().isprintable():
                request.audit_id = given
            else:
                request.audit_id = b"%b-%012x" % (self._prefix, next(self._numbers))
        return request.audit_id
