"""The key that signs tokens: JSON Web Tokens with ES256, and the key set that others check them with.

Only what this server writes is read: compact form, ES256, this key. Everything else is not a token of ours.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

STORE_KEY = "internal/tokenkeys/signing"
"""Where the private key is kept: in the store, so that every server of a cluster has it, and out of the API's reach."""

ISSUER = "https://kubernetes.default.svc"
FORMER_ISSUER = "https://kubernetes.default.svc.cluster.local"
"""How this server called itself in tokens until it took the name that kubeadm gives; the key is the same."""
ISSUERS = (ISSUER, FORMER_ISSUER)
"""Whose tokens are known: the first issues new ones, as with several ``--service-account-issuer`` in Kubernetes."""
_SIZE_BYTES = 32
_VERIFIED_TOKENS = 4096


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """The bytes of a part of a token; raises ``ValueError`` for any text but the one that is written for them.

    So a token has one spelling: no padding, no other alphabet, no spare bits that say something.
    """
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encode(data) != text:
        raise ValueError("not base64 as tokens are written")
    return data


class TokenKey:
    """A private key, and what is done with it."""

    def __init__(self, pem: bytes) -> None:
        key = serialization.load_pem_private_key(pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise ValueError("the key that signs tokens must be an ECDSA key on P-256")
        self._key = key
        self._public = key.public_key()
        spki = self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = _encode(hashlib.sha256(spki).digest())
        self._head = _encode(orjson.dumps({"alg": "ES256", "kid": self.key_id}))
        self._algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        self.claims_of = lru_cache(maxsize=_VERIFIED_TOKENS)(self._claims_of)
        """The claims of a token that this key signed; None for any other text. Says nothing about expiry."""

    def sign(self, claims: JsonObject) -> str:
        """A token."""
        signed = f"{self._head}.{_encode(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), self._algorithm))
        return f"{signed}.{_encode(r.to_bytes(_SIZE_BYTES, 'big') + s.to_bytes(_SIZE_BYTES, 'big'))}"

    def _claims_of(self, token: str) -> JsonObject | None:
        parts = token.split(".")
        if len(parts) != 3 or parts[0] != self._head:
            return None
        try:
            signature = _decode(parts[2])
            if len(signature) != 2 * _SIZE_BYTES:
                return None
            halves = signature[:_SIZE_BYTES], signature[_SIZE_BYTES:]
            der = encode_dss_signature(*(int.from_bytes(half, "big") for half in halves))
            self._public.verify(der, f"{parts[0]}.{parts[1]}".encode(), ec.ECDSA(hashes.SHA256()))
            claims: Any = orjson.loads(_decode(parts[1]))
        except (InvalidSignature, binascii.Error, ValueError):
            return None
        return claims if isinstance(claims, dict) else None

    def key_set(self) -> JsonObject:
        """The public half, as a JSON Web Key Set."""
        numbers = self._public.public_numbers()
        key = {
            "use": "sig",
            "kty": "EC",
            "kid": self.key_id,
            "crv": "P-256",
            "alg": "ES256",
            "x": _encode(numbers.x.to_bytes(_SIZE_BYTES, "big")),
            "y": _encode(numbers.y.to_bytes(_SIZE_BYTES, "big")),
        }
        return {"keys": [key]}


@lru_cache(maxsize=8)
def token_key(pem: bytes) -> TokenKey:
    """The key of a PEM text, read once."""
    return TokenKey(pem)
