"""Service accounts' tokens in a running server: the key is made once for each cluster, and tokens are users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from attractor.apiserver.auth.reviews import Verified
from attractor.apiserver.auth.service_accounts.claims import API_AUDIENCES, known_token
from attractor.apiserver.auth.service_accounts.token_keys import STORE_KEY
from attractor.objects.timestamps import parse_time
from attractor.store.contract import Stale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.request.caller import User
    from attractor.apiserver.transaction import Source
    from attractor.store.contract import Store


async def ensure_token_key(store: Store) -> None:
    """Make the cluster's key unless it has one; of several servers that start at once, one makes it."""
    if (await store.snapshot()).get(STORE_KEY) is not None:
        return
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        await store.commit({STORE_KEY: 0}, puts={STORE_KEY: pem})
    except Stale:
        return


class ServiceAccountTokens:
    """Verifies service account tokens, as of now."""

    def __init__(self, store: Store, source: Source) -> None:
        self._store = store
        self._source = source

    def user_of(self, token: bytes) -> User | None:
        """The user of a token that is good for this server."""
        verified = self.verify(token.decode("latin-1"), API_AUDIENCES)
        return verified.user if verified else None

    def verify(self, token: str, audiences: Sequence[str]) -> Verified | None:
        """The user, and for which of the audiences the token is good (the server's own when none are named)."""
        now_s = parse_time(self._source.now()).seconds
        known = known_token(token, self._store.snapshot_nowait(), now_s, audiences or API_AUDIENCES)
        return Verified(known.user, known.audiences) if known else None
