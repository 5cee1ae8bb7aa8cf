"""Claims of a service account token, and their check against stored objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.apiserver.auth.authorizer import AUTHENTICATED
from attractor.apiserver.auth.service_accounts.token_keys import ISSUER, ISSUERS, STORE_KEY, token_key
from attractor.apiserver.request.caller import User

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

API_AUDIENCES = (ISSUER,)
"""The audiences that this server itself is; a token for others only is not good here."""

PREFIX = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"
_EXTRA = "authentication.kubernetes.io/"
_LEEWAY_S = 10
"""How far the clocks of two servers of one cluster may be apart."""


class Bound(NamedTuple):
    """An object that a token is bound to."""

    kind: str
    """``pod``, ``secret`` or ``node``, as the claim has it."""
    name: str
    uid: str


def claims_for(
    account: JsonObject, bound: Bound | None, audiences: Sequence[str], *, now_s: int, lifetime_s: int, token_id: str
) -> JsonObject:
    """The claims of a new token."""
    metadata = account["metadata"]
    about: JsonObject = {
        "namespace": metadata["namespace"],
        "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
    }
    if bound is not None:
        about[bound.kind] = {"name": bound.name, "uid": bound.uid}
    return {
        "aud": list(audiences),
        "exp": now_s + lifetime_s,
        "iat": now_s,
        "iss": ISSUER,
        "jti": token_id,
        "kubernetes.io": about,
        "nbf": now_s,
        "sub": f"{PREFIX}{metadata['namespace']}:{metadata['name']}",
    }


class Known(NamedTuple):
    """Whose token it is, and for which of the asked audiences it is good."""

    user: User
    audiences: tuple[str, ...]


def known_token(token: str, snapshot: Snapshot, now_s: float, audiences: Sequence[str] = API_AUDIENCES) -> Known | None:
    """The service account of a token; None when it is not ours, not yet or no longer good, or for somebody else."""
    entry = snapshot.get(STORE_KEY)
    claims = token_key(entry.value).claims_of(token) if entry else None
    if claims is None or claims.get("iss") not in ISSUERS:
        return None
    if not claims["nbf"] - _LEEWAY_S <= now_s < claims["exp"]:
        return None
    meant = {ISSUER if audience in ISSUERS else audience for audience in claims["aud"]}
    shared = tuple(audience for audience in audiences if audience in meant)
    about = claims["kubernetes.io"]
    if not shared or not _all_there(about, snapshot):
        return None
    return Known(_user(claims, about), shared)


def _all_there(about: JsonObject, snapshot: Snapshot) -> bool:
    """Whether everything that the token names is still the same thing."""
    namespace = about["namespace"]
    places = {
        "serviceaccount": f"core/serviceaccounts/{namespace}/",
        "pod": f"core/pods/{namespace}/",
        "secret": f"core/secrets/{namespace}/",
        "node": "core/nodes/",
    }
    for kind, named in about.items():
        if kind == "namespace":
            continue
        entry = snapshot.get(f"{places[kind]}{named['name']}")
        if entry is None or orjson.loads(entry.value)["metadata"]["uid"] != named["uid"]:
            return False
    return True


def _user(claims: JsonObject, about: JsonObject) -> User:
    namespace = about["namespace"]
    extra: list[tuple[str, tuple[str, ...]]] = [(f"{_EXTRA}credential-id", (f"JTI={claims['jti']}",))]
    for kind in ("node", "pod"):
        named: dict[str, Any] | None = about.get(kind)
        if named:
            extra += [(f"{_EXTRA}{kind}-name", (named["name"],)), (f"{_EXTRA}{kind}-uid", (named["uid"],))]
    return User(
        claims["sub"],
        about["serviceaccount"]["uid"],
        (_GROUP, f"{_GROUP}:{namespace}", AUTHENTICATED),
        tuple(extra),
    )
