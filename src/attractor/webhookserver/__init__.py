"""Webhooks of an operator over HTTPS: reviews answered, certificates made and renewed, servers told whom to trust.

    server = WebhookServer(WebhookSet([fits]), SecretCertificates(client, Key("ops", "web-certificate"), hosts))
    async with server.serving("0.0.0.0", 9443):
        ...

Read ``server`` first, then ``certificates`` (when which certificate is made, as data), ``keeping`` (where they are
kept: a Secret that replicas share, memory, or files that somebody else renews) and ``publishing`` (``caBundle``).
"""

from attractor.webhookserver.certificate_stores import FileCertificates, MemoryCertificates, SecretCertificates
from attractor.webhookserver.publisher import Publisher
from attractor.webhookserver.server import WebhookServer

__all__ = ["FileCertificates", "MemoryCertificates", "Publisher", "SecretCertificates", "WebhookServer"]
