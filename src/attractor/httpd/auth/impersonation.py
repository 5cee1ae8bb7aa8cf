"""Acting as somebody else (``kubectl --as``): the ``Impersonate-*`` headers, for those who may.

Each part of the other identity needs the verb ``impersonate``: on ``users`` or ``serviceaccounts`` for the name, on
``groups``, on ``uids`` and ``userextras/KEY`` of ``authentication.k8s.io`` for the rest. From then on the request is
the other user's: what it may do is decided for that user alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from attractor.apiserver.asked import User
from attractor.apiserver.authorization import AUTHENTICATED, UNAUTHENTICATED, Attributes
from attractor.objects.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.httpd.parser import HttpRequest

_USER, _UID, _GROUP, _EXTRA = b"impersonate-user", b"impersonate-uid", b"impersonate-group", b"impersonate-extra-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(request: HttpRequest) -> User:
    """The other user; raises ``BadRequest`` when the headers name no user."""
    name = request.header(_USER)
    if not name:
        raise BadRequest("requested impersonation of groups, a uid or extra fields without impersonating a user")
    groups = [group.strip() for group in request.header(_GROUP).split(",") if group.strip()]
    if name.startswith(_SERVICE_ACCOUNT) and not groups:
        namespace = name.removeprefix(_SERVICE_ACCOUNT).split(":", 1)[0]
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    everybody = UNAUTHENTICATED if name == "system:anonymous" else AUTHENTICATED
    if everybody not in groups:
        groups.append(everybody)
    extra = tuple(
        (unquote(header.removeprefix(_EXTRA).decode("latin-1")), (request.header(header),))
        for header in sorted(request.headers)
        if header.startswith(_EXTRA)
    )
    return User(name, request.header(_UID), tuple(groups), extra)


def needed(request: HttpRequest, other: User) -> Iterator[Attributes]:
    """What the asking user must be allowed for it."""
    if other.name.startswith(_SERVICE_ACCOUNT):
        namespace, _, account = other.name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        yield Attributes("impersonate", "", "v1", "serviceaccounts", "", namespace, account)
    else:
        yield Attributes("impersonate", "", "v1", "users", name=other.name)
    if request.header(_GROUP):
        for group in other.groups:
            if group not in {AUTHENTICATED, UNAUTHENTICATED}:
                yield Attributes("impersonate", "", "v1", "groups", name=group)
    if other.uid:
        yield Attributes("impersonate", _AUTHENTICATION, "v1", "uids", name=other.uid)
    for key, values in other.extra:
        for value in values:
            yield Attributes("impersonate", _AUTHENTICATION, "v1", "userextras", key, "", value)
