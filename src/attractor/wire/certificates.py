"""Certificates as PEM texts: an authority of one's own, and what it issues to servers and clients.

Importing this imports ``cryptography``, which takes longer than a server takes to start: import it where it is needed.
"""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

CLOCK_SKEW = timedelta(hours=1)
"""Certificates are good from so long before they are made: clocks differ."""


class Pair(NamedTuple):
    """A certificate and its private key, both PEM."""

    cert: bytes
    key: bytes


def make_authority(now: datetime, life: timedelta) -> Pair:
    """A fresh certificate authority, which signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("attractor")
    builder = (
        _builder(name, name, key, key, now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    return _signed(builder, key, key)


def issue_server(authority: Pair, hosts: Sequence[str], now: datetime, life: timedelta) -> Pair:
    """A certificate for a server that is reached under these names and addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer, signer = _opened(authority)
    builder = (
        _builder(_name("attractor-server"), issuer.subject, key, signer, now, life)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    return _signed(builder, key, signer)


def issue_client(authority: Pair, user: str, groups: Sequence[str], now: datetime, life: timedelta) -> Pair:
    """A certificate for a client: the user is its common name, groups are its organizations."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer, signer = _opened(authority)
    builder = (
        _builder(_name(user, groups), issuer.subject, key, signer, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    return _signed(builder, key, signer)


def _opened(authority: Pair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = load_pem_private_key(authority.key, password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey), "an authority of ours has such a key"
    return x509.load_pem_x509_certificate(authority.cert), key


def _name(common: str, organizations: Sequence[str] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    own: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    """What all certificates say; strict clients, such as Python 3.13's, insist on the names of both keys."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _signed(
    builder: x509.CertificateBuilder, own: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> Pair:
    key = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM), key)
