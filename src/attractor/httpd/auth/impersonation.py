"""Acting as somebody else (``kubectl --as``): the ``Impersonate-*`` headers, for those who may.

Each part of the other identity needs the verb ``impersonate``: on ``users`` or ``serviceaccounts`` for the name, on
``groups``, on ``uids`` and ``userextras/KEY`` of ``authentication.k8s.io`` for the rest. From then on the request is
the other user's: what it may do is decided for that user alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from attractor.apiserver.auth.authorizer import AUTHENTICATED, UNAUTHENTICATED, Attributes
from attractor.apiserver.request.caller import User
from attractor.httpd.heads import LINE_BREAK
from attractor.objects import names
from attractor.objects.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.httpd.parser import HttpRequest

_USER, _UID, _GROUP, _EXTRA = b"impersonate-user", b"impersonate-uid", b"impersonate-group", b"impersonate-extra-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(request: HttpRequest) -> User:
    """The other user; raises ``BadRequest`` when the headers name no user."""
    name = next(iter(_values(request, _USER)), "")
    if not name:
        raise BadRequest("requested impersonation of groups, a uid or extra fields without impersonating a user")
    groups = _values(request, _GROUP)
    account = split_account(name)
    if account is not None and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    if name == "system:anonymous":
        groups += [UNAUTHENTICATED] if UNAUTHENTICATED not in groups else []
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups.append(AUTHENTICATED)
    extra: dict[str, list[str]] = {}
    for header in sorted(request.headers):
        if header.startswith(_EXTRA):
            extra.setdefault(_extra_key(header), []).extend(_values(request, header))
    uid = next(iter(_values(request, _UID)), "")
    return User(name, uid, tuple(groups), tuple((key, tuple(values)) for key, values in extra.items()))


def _values(request: HttpRequest, header: bytes) -> list[str]:
    """The values of a header, one for each time that it was sent; what is in a value, commas too, belongs to it."""
    sent = request.headers.get(header)
    return [] if sent is None else [value.decode(errors="replace") for value in sent.split(LINE_BREAK)]


def _extra_key(header: bytes) -> str:
    return unquote(header.removeprefix(_EXTRA).decode(errors="replace"), errors="replace")


def split_account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name; None for any other, however it begins.

    >>> split_account("system:serviceaccount:shop:robot"), split_account("system:serviceaccount:a:b:c")
    (('shop', 'robot'), None)
    """
    parts = name.removeprefix(_SERVICE_ACCOUNT).split(":")
    if not name.startswith(_SERVICE_ACCOUNT) or len(parts) != 2:
        return None
    if names.dns1123_label(parts[0]) or names.dns1123_subdomain(parts[1]):
        return None
    return parts[0], parts[1]


def needed(request: HttpRequest, other: User) -> Iterator[Attributes]:
    """What the asking user must be allowed for it: every group that was asked for, whichever it is."""
    account = split_account(other.name)
    if account is not None:
        yield Attributes("impersonate", "", "v1", "serviceaccounts", "", *account)
    else:
        yield Attributes("impersonate", "", "v1", "users", name=other.name)
    for group in _values(request, _GROUP):
        yield Attributes("impersonate", "", "v1", "groups", name=group)
    for key, values in other.extra:
        for value in values:
            yield Attributes("impersonate", _AUTHENTICATION, "v1", "userextras", key, "", value)
    if other.uid:
        yield Attributes("impersonate", _AUTHENTICATION, "v1", "uids", name=other.uid)
