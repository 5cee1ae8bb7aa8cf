"""A certificate authority of one's own, made on first start and kept in a directory.

    ca.crt, ca.key            the authority: lives ten years; trust it once
    server.crt, server.key    made again whenever a host is missing or a third of its year is left
    server.json               which hosts the certificate is for and when it must be made again

Keys are readable by their owner only, and every file is replaced atomically. ``cryptography`` is imported only when
something has to be made: it takes longer to import than the server takes to start.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.wire.certificates import Pair

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=365)


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
    from attractor.wire.certificates import make_authority

    _write_pair(directory / "ca.crt", directory / "ca.key", make_authority(now, AUTHORITY_LIFE))


def _make_server(directory: Path, files: CertificateFiles, hosts: Sequence[str], now: datetime) -> None:
    from attractor.wire.certificates import issue_server

    _write_pair(files.cert, files.key, issue_server(_authority(directory), hosts, now, SERVER_LIFE))
    about = {"hosts": sorted(hosts), "renew": (now + SERVER_LIFE * 2 / 3).isoformat()}
    write_private(directory / "server.json", orjson.dumps(about))


def issue_client_certificate(directory: Path, user: str, groups: Sequence[str], life: timedelta) -> tuple[bytes, bytes]:
    """A client certificate of the directory's authority and its key, both PEM: the user is the common name."""
    from attractor.wire.certificates import issue_client

    return issue_client(_authority(directory), user, groups, datetime.now(UTC), life)


def _authority(directory: Path) -> Pair:
    from attractor.wire.certificates import Pair

    return Pair((directory / "ca.crt").read_bytes(), (directory / "ca.key").read_bytes())


def _write_pair(cert: Path, key: Path, made: Pair) -> None:
    write_private(key, made.key)
    write_private(cert, made.cert)


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
