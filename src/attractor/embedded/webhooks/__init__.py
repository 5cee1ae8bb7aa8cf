"""Calls to webhooks of a running server: admission and conversion reviews over HTTPS.

Read ``caller`` first (a question as a review, and its answer), then ``https_call`` (one POST) and ``service_addresses``
(where a Service is, in a cluster without a network of its own).
"""

from attractor.embedded.webhooks.caller import UnknownService, Webhooks
from attractor.embedded.webhooks.service_addresses import ServiceAddresses

__all__ = ["ServiceAddresses", "UnknownService", "Webhooks"]
