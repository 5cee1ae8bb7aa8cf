"""Tokens of service accounts: signed, short-lived, and good only while their account exists.

A token is a JSON Web Token with the claims that Kubernetes puts into it, signed with HMAC-SHA-256 under a key that only
the cluster's servers have. It stops to count when it expires, when the account is deleted, and when one of the same
name but another uid takes its place.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.authorization import AUTHENTICATED
from attractor.apiserver.operation import User
from attractor.objects.errors import BadRequest, Invalid, NotFound
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupKind, GroupResource
from attractor.objects.timestamps import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.routing import Target
    from attractor.objects.jsontypes import JsonObject
    from attractor.store.contract import Snapshot

ISSUER = "https://kubernetes.default.svc.cluster.local"
KEY_BYTES = 32
DEFAULT_S, MIN_S, MAX_S = 3600, 600, 1 << 32
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_ACCOUNTS = GroupResource("", "serviceaccounts")
_REQUEST = GroupKind("authentication.k8s.io", "TokenRequest")


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


_HEADER = _encode(orjson.dumps({"alg": "HS256", "typ": "JWT"}))


class AccountTokens:
    """Issues and verifies tokens under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def _signature(self, signed: bytes) -> bytes:
        return _encode(hmac.digest(self._key, signed, hashlib.sha256))

    def issue(self, account: JsonObject, audiences: Sequence[str], seconds: int, now_s: int) -> str:
        """A token for an account."""
        metadata = account["metadata"]
        claims = {
            "aud": list(audiences),
            "exp": now_s + seconds,
            "iat": now_s,
            "iss": ISSUER,
            "jti": secrets.token_hex(16),
            "kubernetes.io": {
                "namespace": metadata["namespace"],
                "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
            },
            "nbf": now_s,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        }
        signed = _HEADER + b"." + _encode(orjson.dumps(claims))
        return (signed + b"." + self._signature(signed)).decode()

    def user_of(self, token: bytes, snapshot: Snapshot, now_s: int) -> User | None:
        """The account that a token speaks for; None when it does not count, for whatever reason."""
        signed, _, signature = token.rpartition(b".")
        header, _, payload = signed.partition(b".")
        if header != _HEADER or not hmac.compare_digest(signature, self._signature(signed)):
            return None
        try:
            claims: dict[str, Any] = orjson.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        except (binascii.Error, orjson.JSONDecodeError):
            return None
        if not claims["nbf"] <= now_s < claims["exp"] or ISSUER not in claims["aud"]:
            return None
        namespace, account = claims["kubernetes.io"]["namespace"], claims["kubernetes.io"]["serviceaccount"]
        entry = snapshot.get(f"core/serviceaccounts/{namespace}/{account['name']}")
        if entry is None or orjson.loads(entry.value)["metadata"]["uid"] != account["uid"]:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        return User(claims["sub"], account["uid"], groups, ((_CREDENTIAL, (f"JTI={claims['jti']}",)),))


def answer_token_request(tokens: AccountTokens, target: Target, body: bytes, snapshot: Snapshot) -> JsonObject:
    """Answer ``serviceaccounts/NAME/token``; raises ``NotFound``, ``BadRequest`` or ``Invalid``."""
    entry = snapshot.get(f"core/serviceaccounts/{target.namespace}/{target.name}")
    if entry is None:
        raise NotFound.of(_ACCOUNTS, target.name)
    spec = _spec(body)
    audiences = spec.get("audiences") or [ISSUER]
    seconds = spec.get("expirationSeconds") or DEFAULT_S
    if spec.get("boundObjectRef"):
        raise BadRequest(
            f'cannot bind token for serviceaccount "{target.name}" to an object: tokens here are not bound'
        )
    now_s = int(time.time())
    token = tokens.issue(orjson.loads(entry.value), audiences, seconds, now_s)
    metadata = {"name": target.name, "namespace": target.namespace, "creationTimestamp": format_time(now_s)}
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": metadata,
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": None},
        "status": {"token": token, "expirationTimestamp": format_time(now_s + seconds)},
    }


def _spec(body: bytes) -> JsonObject:
    try:
        asked = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the TokenRequest cannot be read: {error}") from None
    spec = (asked.get("spec") or {}) if isinstance(asked, dict) else None
    if not isinstance(spec, dict):
        raise BadRequest("the TokenRequest cannot be read: its spec must be an object")
    audiences, seconds = spec.get("audiences") or [], spec.get("expirationSeconds") or DEFAULT_S
    if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
        raise BadRequest("the TokenRequest cannot be read: spec.audiences must be a list of strings")
    if not isinstance(seconds, int):
        raise BadRequest("the TokenRequest cannot be read: spec.expirationSeconds must be a number")
    at = "spec.expirationSeconds"
    if seconds < MIN_S:
        why = "may not specify a duration less than 10 minutes"
        raise Invalid.of(_REQUEST, "", [FieldError.invalid(at, seconds, why)])
    if seconds > MAX_S:
        raise Invalid.of(
            _REQUEST, "", [FieldError.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")]
        )
    return spec
