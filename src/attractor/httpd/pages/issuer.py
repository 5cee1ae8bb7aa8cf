"""OpenID Connect discovery: where others find the key that checks service accounts' tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.auth.service_accounts.token_keys import ISSUER, STORE_KEY, token_key
from attractor.apiserver.request.bodies import JSON
from attractor.httpd.formats.negotiate import no_representation
from attractor.httpd.reply import Reply

if TYPE_CHECKING:
    from attractor.httpd.pages.page import Ask

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
_KEY_SET = "application/jwk-set+json"
_CACHED = {"Cache-Control": "public, max-age=3600"}


def issuer_page(ask: Ask) -> Reply | None:
    """The issuer's configuration and its public keys; None before the cluster has a key."""
    path = ask.request.path.rstrip("/")
    if path not in {CONFIGURATION, KEYS}:
        return None
    entry = ask.snapshot.get(STORE_KEY)
    if entry is None:
        return None
    media_type = _KEY_SET if path == KEYS else JSON
    refused = no_representation(ask.request.header(b"accept"), (media_type,))
    if refused is not None:
        raise refused
    if path == KEYS:
        return Reply(200, orjson.dumps(token_key(entry.value).key_set()), _KEY_SET, _CACHED)
    host = ask.request.header(b"host") or "kubernetes.default.svc"
    configuration = {
        "issuer": ISSUER,
        "jwks_uri": f"https://{host}{KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    return Reply(200, orjson.dumps(configuration), headers=_CACHED)
