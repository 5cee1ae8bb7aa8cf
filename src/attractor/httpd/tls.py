"""TLS contexts: what the server shows, and which client certificates it believes."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def server_context(cert: Path, key: Path, client_ca: Path | None = None) -> ssl.SSLContext:
    """A context for a listener; clients may show a certificate of ``client_ca``, and need not.

    As in Go, and whatever Python's own default is, it need not say by which of the authority's keys it was signed.
    Raises ``OSError`` or ``ssl.SSLError`` when the files cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(cert, key)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError as error:
            error.filename = str(client_ca)
            raise
    return context
