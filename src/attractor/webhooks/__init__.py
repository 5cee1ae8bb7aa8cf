"""Webhooks as Python functions: declarations, the reviews that they answer, and how they are registered.

    @validate(WebService)
    def fits(service: WebService, request: AdmissionRequest[WebService]) -> None:
        if request.old is not None and request.old.spec.tier != service.spec.tier:
            request.refuse("spec.tier", "cannot be changed")

Nothing here does I/O: a review is JSON that goes in, its answer is JSON that comes out. Who carries it is somebody
else's matter: the embedded server asks in process, ``attractor.webhookserver`` serves HTTPS, and a world of the checker
asks while it explores. So the same function gives the same answer in all three.

Read ``admission`` and ``conversion`` first (what an author writes), then ``review`` (what a server is answered), then
``registration`` (what a server is told about them).
"""

from attractor.webhooks.admission import AdmissionRequest, AdmissionWebhook, Denied, UserInfo, WebhookError
from attractor.webhooks.admission import mutate as mutate
from attractor.webhooks.admission import validate as validate
from attractor.webhooks.conversion import Conversion
from attractor.webhooks.conversion import convert as convert
from attractor.webhooks.registration import Webhook, WebhookSet

__all__ = [
    "AdmissionRequest",
    "AdmissionWebhook",
    "Conversion",
    "Denied",
    "UserInfo",
    "Webhook",
    "WebhookError",
    "WebhookSet",
    "convert",
    "mutate",
    "validate",
]
