"""A certificate authority of one's own, made on first start and kept in a directory.

    ca.crt, ca.key            the authority: lives ten years; trust it once
    server.crt, server.key    made again whenever a host is missing or a third of its year is left
    server.json               which hosts the certificate is for and when it must be made again

Keys are readable by their owner only, and every file is replaced atomically. ``cryptography`` is imported only when
something has to be made: it takes longer to import than the server takes to start.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=365)
CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Where the certificates are."""

    ca: Path
    cert: Path
    key: Path


def ensure_certificates(directory: Path, hosts: Sequence[str], now: datetime | None = None) -> CertificateFiles:
    """The files of a directory, made where they are missing, too old, or not for all of the hosts."""
    now = now or datetime.now(UTC)
    files = CertificateFiles(directory / "ca.crt", directory / "server.crt", directory / "server.key")
    if _is_good(files, directory, hosts, now):
        return files
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (files.ca.exists() and (directory / "ca.key").exists()):
        _make_authority(directory, now)
    _make_server(directory, files, hosts, now)
    return files


def _is_good(files: CertificateFiles, directory: Path, hosts: Sequence[str], now: datetime) -> bool:
    try:
        about = orjson.loads((directory / "server.json").read_bytes())
        renew = datetime.fromisoformat(about["renew"])
        known = set(about["hosts"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    present = all(path.exists() for path in (files.ca, files.cert, files.key))
    return present and now < renew and known >= set(hosts)


def _make_authority(directory: Path, now: datetime) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("attractor")
    usage = _key_usage(signs_certificates=True)
    builder = (
        _builder(name, name, key, key, now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    _write_pair(directory / "ca.crt", directory / "ca.key", builder, key, key)


def _make_server(directory: Path, files: CertificateFiles, hosts: Sequence[str], now: datetime) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    authority = x509.load_pem_x509_certificate(files.ca.read_bytes())
    authority_key = load_pem_private_key((directory / "ca.key").read_bytes(), password=None)
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name("attractor-server"), authority.subject, key, authority_key, now, SERVER_LIFE)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    _write_pair(files.cert, files.key, builder, key, authority_key)
    about = {"hosts": sorted(hosts), "renew": (now + SERVER_LIFE * 2 / 3).isoformat()}
    write_private(directory / "server.json", orjson.dumps(about))


def issue_client_certificate(directory: Path, user: str, groups: Sequence[str], life: timedelta) -> tuple[bytes, bytes]:
    """A client certificate of the directory's authority and its key, both PEM: the user is the common name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    authority = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
    authority_key = load_pem_private_key((directory / "ca.key").read_bytes(), password=None)
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name(user, groups), authority.subject, key, authority_key, datetime.now(UTC), life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    return builder.sign(authority_key, hashes.SHA256()).public_bytes(Encoding.PEM), _private_pem(key)


def _name(common: str, organizations: Sequence[str] = ()) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

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
    from cryptography import x509

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
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_pair(
    cert: Path,
    key: Path,
    builder: x509.CertificateBuilder,
    own: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding

    write_private(key, _private_pem(own))
    write_private(cert, builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM))


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def write_private(path: Path, data: bytes) -> None:
    """Replace a file atomically with one that only its owner may read."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
