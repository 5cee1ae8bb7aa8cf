"""HTTP/1.1 for the client, on ``wire`` and httptools.

Read ``connection`` first (one request, one answer), then ``pool``, ``dial`` (TLS and proxies) and ``transport``.
"""

from attractor.client.http.transport import HttpTransport

__all__ = ["HttpTransport"]
