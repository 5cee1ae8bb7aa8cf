"""``Entropy``: where passwords and certificates come from.

Randomness is an outside system: a reconcile asks for it through its context, and keeps what it got in a Secret before
anything else is written. So a reconcile stays deterministic, and the checker can bring a source of its own.
"""

from __future__ import annotations

import secrets
import string
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

_ALPHABET = string.ascii_letters + string.digits
VALID_DAYS = 3650
_USED = ("digital_signature", "key_cert_sign")
_USES = (
    *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"),
    *("encipher_only", "decipher_only"),
)


class Certificate(NamedTuple):
    """A certificate that signs itself, and its key, as PEM text."""

    certificate: str
    key: str


class Entropy(Protocol):
    """Source of randomness of the operator; a call has no other effect, so it may be repeated."""

    async def password(self, length: int) -> str:
        """A new password of letters and digits."""
        raise NotImplementedError

    async def certificate(self, name: str, alternatives: tuple[str, ...]) -> Certificate:
        """A new certificate for some DNS names."""
        raise NotImplementedError


class SystemEntropy:
    """Entropy from the operating system."""

    async def password(self, length: int) -> str:
        """A new password of letters and digits."""
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))

    async def certificate(self, name: str, alternatives: tuple[str, ...]) -> Certificate:
        """A new certificate on a P-256 key, valid for ten years, that strict clients take for an authority's, too."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=VALID_DAYS))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in (name, *alternatives)]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .add_extension(x509.KeyUsage(**dict.fromkeys(_USES, False) | dict.fromkeys(_USED, True)), True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .sign(key, hashes.SHA256())
        )
        return Certificate(
            made.public_bytes(serialization.Encoding.PEM).decode(),
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ).decode(),
        )
