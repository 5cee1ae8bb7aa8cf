"""``Certificates``: authorities and a server's certificate as one value, and ``renewed``, which says what comes next.

    authority   |-------------------- ten years --------------------|
    next one                                    |--- made when a third is left, and trusted from then on
    signs with it                                 |--- a day later, when every server has heard of it
    certificate |-- 90 days --|
    next one             |-- made when a third is left

So at any time, whoever trusts what was published a day ago or later can verify what is shown. Nothing here does I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from cryptography import x509

from attractor.wire.certificates import CLOCK_SKEW, Pair, issue_server, make_authority

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=90)
PUBLICATION = timedelta(days=1)
"""How long an authority is published before it signs."""
_END = b"-----END "


@dataclass(frozen=True)
class Certificates:
    """What a webhook server shows, and the authorities that vouch for it, oldest first."""

    authorities: tuple[Pair, ...]
    shown: Pair

    @property
    def bundle(self) -> bytes:
        """The authorities to trust, PEM."""
        return b"".join(authority.cert for authority in self.authorities)

    def data(self) -> dict[str, bytes]:
        """The content of a Secret, under the names that Kubernetes gives them."""
        return {
            "ca.crt": self.bundle,
            "ca.key": b"".join(authority.key for authority in self.authorities),
            "tls.crt": self.shown.cert,
            "tls.key": self.shown.key,
        }

    @classmethod
    def of(cls, data: Mapping[str, bytes]) -> Certificates | None:
        """What a Secret holds; None when it holds no certificates of ours."""
        certs, keys = _parts(data.get("ca.crt", b"")), _parts(data.get("ca.key", b""))
        if not certs or len(certs) != len(keys) or not data.get("tls.crt") or not data.get("tls.key"):
            return None
        authorities = tuple(Pair(cert, key) for cert, key in zip(certs, keys, strict=True))
        try:
            made = cls(authorities, Pair(data["tls.crt"], data["tls.key"]))
            for cert in (*certs, data["tls.crt"]):
                x509.load_pem_x509_certificate(cert)
        except ValueError:
            return None
        return made


def renewed(held: Certificates | None, hosts: Sequence[str], now: datetime) -> Certificates:
    """What to hold from now on; ``held`` itself where that is still good."""
    if held is None:
        authority = make_authority(now, AUTHORITY_LIFE)
        return Certificates((authority,), issue_server(authority, hosts, now, SERVER_LIFE))
    authorities = tuple(one for one in held.authorities if _read(one).not_valid_after_utc > now)
    if not authorities or _is_old(authorities[-1], now):
        authorities = (*authorities, make_authority(now, AUTHORITY_LIFE))
    shown = held.shown
    if _is_old(shown, now) or not _is_for(shown, hosts) or len(authorities) == 1 < len(held.authorities):
        known = [one for one in authorities if _made(one) + PUBLICATION <= now]
        shown = issue_server((known or list(authorities))[-1 if known else 0], hosts, now, SERVER_LIFE)
    made = Certificates(authorities, shown)
    return held if made == held else made


def _parts(text: bytes) -> list[bytes]:
    """The PEM blocks of a text."""
    blocks, block = [], b""
    for line in text.splitlines(keepends=True):
        block += line
        if line.startswith(_END):
            blocks.append(block)
            block = b""
    return blocks


def _read(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.cert)


def _made(pair: Pair) -> datetime:
    return _read(pair).not_valid_before_utc + CLOCK_SKEW


def _is_old(pair: Pair, now: datetime) -> bool:
    """Whether a third of its life, or less, is left."""
    cert = _read(pair)
    return now >= cert.not_valid_after_utc - (cert.not_valid_after_utc - _made(pair)) / 3


def _is_for(pair: Pair, hosts: Sequence[str]) -> bool:
    names = _read(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(hosts) <= {str(name.value) for name in names}
