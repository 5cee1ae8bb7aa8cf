"""Acting as somebody else: the ``Impersonate-*`` headers, as ``kubectl --as`` sends them.

Guarantee: a request is answered as another user only when the one who asks may ``impersonate`` the user and each group,
uid and extra value that is named; otherwise it is refused. Impersonating nobody leaves the user as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from attractor.apiserver.authorization import AUTHENTICATED, UNAUTHENTICATED, Attributes, forbidden
from attractor.apiserver.operation import User
from attractor.objects.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attractor.apiserver.authorization import Authorizer
    from attractor.store.contract import Snapshot

_USER, _GROUP, _UID, _EXTRA = b"impersonate-user", b"impersonate-group", b"impersonate-uid", b"impersonate-extra-"
_ANONYMOUS = "system:anonymous"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_GROUP_OF_EXTRAS = "authentication.k8s.io"


def impersonated(user: User, headers: Mapping[bytes, bytes], authorizer: Authorizer, snapshot: Snapshot) -> User:
    """Whom the request speaks for; raises ``Forbidden``, and ``BadRequest`` when no user is named."""
    asked = {name: value.decode("latin-1") for name, value in headers.items() if name.startswith(b"impersonate-")}
    if not asked:
        return user
    name = asked.get(_USER, "")
    if not name:
        raise BadRequest("requested impersonation without impersonating a user; name one in Impersonate-User")
    groups = tuple(_values(asked.get(_GROUP, "")))
    extra = {key[len(_EXTRA) :].decode("latin-1"): value for key, value in asked.items() if key.startswith(_EXTRA)}
    other = User(
        name,
        asked.get(_UID, ""),
        _all_groups(name, groups),
        tuple((unquote(key).lower(), tuple(_values(value))) for key, value in sorted(extra.items())),
    )
    for attributes in _asked_for(other, groups):
        decision = authorizer.decide(user, attributes, snapshot)
        if not decision.allowed:
            raise forbidden(user, attributes, decision.reason)
    return other


def _values(header: str) -> Iterator[str]:
    return (value for value in header.split(", ") if value)


def _service_account(name: str) -> tuple[str, str] | None:
    namespace, colon, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return (namespace, account) if name.startswith(_SERVICE_ACCOUNT) and colon and namespace and account else None


def _all_groups(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    account = _service_account(name)
    if not groups and account is not None:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, UNAUTHENTICATED if name == _ANONYMOUS else AUTHENTICATED)


def _asked_for(other: User, groups: tuple[str, ...]) -> Iterator[Attributes]:
    account = _service_account(other.name)
    if account is not None:
        namespace, name = account
        yield Attributes("impersonate", version="v1", resource="serviceaccounts", namespace=namespace, name=name)
    else:
        yield Attributes("impersonate", version="v1", resource="users", name=other.name)
    for group in groups:
        yield Attributes("impersonate", version="v1", resource="groups", name=group)
    if other.uid:
        yield Attributes("impersonate", _GROUP_OF_EXTRAS, "v1", "uids", name=other.uid)
    for key, values in other.extra:
        for value in values:
            yield Attributes("impersonate", _GROUP_OF_EXTRAS, "v1", "userextras", subresource=key, name=value)
