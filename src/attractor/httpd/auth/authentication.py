"""Authentication: bearer tokens, client certificates, or nobody in particular.

A token that is not known is refused; a request without credentials comes from ``system:anonymous``. Tokens are looked
up by their digest, so that the time of a look-up says nothing about them, and they are never kept in the clear.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING, Any

from attractor.apiserver.auth.authorizer import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from attractor.apiserver.request.caller import User
from attractor.objects.errors import Unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attractor.httpd.connection import Peer
    from attractor.httpd.parser import HttpRequest

ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
ADMIN = User("attractor:admin", groups=(MASTERS, AUTHENTICATED))


class TokenFileError(ValueError):
    """A token file cannot be used; the text says which line, and what is wrong with it."""


def parse_token_file(text: str) -> dict[str, User]:
    """Kubernetes' static token file: ``token,user,uid,"group1,group2"``, the groups optional.

    >>> parse_token_file('abc,jane,7,"dev,ops"')["abc"].groups
    ('dev', 'ops', 'system:authenticated')
    """
    users: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            row = next(csv.reader([line], skipinitialspace=True, strict=True))
        except csv.Error as error:  # a quote that nobody closes would make one user of all the lines that follow
            raise TokenFileError(f"line {number} has a quote that is not closed, or text behind one: {error}") from None
        if len(row) < 3:
            raise TokenFileError(f"line {number} has {len(row)} columns; write token,user,uid and optional groups")
        token, name, uid = (column.strip() for column in row[:3])
        if not token:
            raise TokenFileError(f"line {number} has an empty token")
        if token in users:
            raise TokenFileError(f"line {number} repeats the token of an earlier line; every token needs one owner")
        groups = tuple(group.strip() for group in row[3].split(",") if group.strip()) if len(row) > 3 else ()
        users[token] = User(name, uid, (*groups, AUTHENTICATED))
    return users


def certificate_user(certificate: Mapping[str, Any]) -> User | None:
    """The user of a verified client certificate: its common name, with its organizations as groups."""
    names: list[str] = []
    groups: list[str] = []
    for relative_name in certificate.get("subject", ()):
        for attribute, value in relative_name:
            if attribute == "commonName":
                names.append(value)
            elif attribute == "organizationName":
                groups.append(value)
    return User(names[-1], groups=(*groups, AUTHENTICATED)) if names else None


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


class Authenticator:
    """Tells who is asking."""

    def __init__(self, tokens: Mapping[str, User] | Iterable[tuple[str, User]] = ()) -> None:
        self._by_digest: dict[bytes, User] = {}
        self.others: list[Callable[[bytes], User | None]] = []
        """Who else may know a token, such as service accounts'; asked in order."""
        for token, user in dict(tokens).items():
            self.add(token, user)

    def add(self, token: str, user: User) -> None:
        """Accept a token."""
        self._by_digest[_digest(token.encode())] = user

    def static_user_of(self, token: bytes) -> User | None:
        """Whose token that is, among those that were added here."""
        return self._by_digest.get(_digest(token))

    def user_of(self, token: bytes) -> User | None:
        """Whose token that is; None when it is not known."""
        return self.static_user_of(token) or self._user_elsewhere(token)

    def _user_elsewhere(self, token: bytes) -> User | None:
        return next((found for ask in self.others if (found := ask(token)) is not None), None)

    def authenticate(self, request: HttpRequest, peer: Peer) -> User:
        """The user; raises ``Unauthorized`` for credentials that are not known."""
        header = request.headers.get(b"authorization")
        if header is not None and header[:7].lower() == b"bearer ":
            head = request.head
            if head.token_digest is None:
                head.token_digest = _digest(header[7:].strip())
            user = self._by_digest.get(head.token_digest) or self._user_elsewhere(header[7:].strip())
            if user is None:
                raise Unauthorized("Unauthorized")
            return user
        if peer.certificate is not None:
            return certificate_user(peer.certificate) or ANONYMOUS
        return ANONYMOUS
