"""AdmissionReview: the question that a webhook is asked, and what its answer means."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.admission.outside_calls import Answer, Question
from attractor.apiserver.admission.request import request_of
from attractor.objects.errors import ApiError, BadRequest, InternalError

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.request import Versioned
    from attractor.apiserver.admission.webhooks.configuration import Webhook
    from attractor.objects.json_types import Json, JsonObject

ERROR_CODES = range(400, 600)


def question_of(webhook: Webhook, attributes: Attributes, seen: Versioned) -> Question:
    """What the webhook is sent."""
    if attributes.is_dry_run and webhook.has_side_effects:
        raise BadRequest(f'admission webhook "{webhook.name}" does not support dry run')
    request = {**request_of(attributes, seen), "object": seen.obj, "oldObject": seen.old}
    return Question(
        endpoint=webhook.endpoint,
        review="AdmissionReview",
        body=orjson.dumps(request),
        api_version=webhook.api_version,
        timeout_s=webhook.timeout_s,
    )


@dataclass(frozen=True, slots=True)
class Ruling:
    """An answer that was understood."""

    denial: ApiError | None = None
    patch: Json = None
    warnings: tuple[str, ...] = ()


class CallFailed(Exception):
    """The webhook gave no usable answer; the text is Kubernetes'."""


def ruling_of(webhook: Webhook, answer: Answer) -> Ruling:
    """What an answer means; raises ``CallFailed`` when it means nothing."""
    response = answer.response
    if response is None:
        raise CallFailed(answer.failure or "received invalid webhook response: webhook response was absent")
    allowed = response.get("allowed")
    if not isinstance(allowed, bool):
        raise CallFailed("received invalid webhook response: response.allowed is not a boolean")
    said = response.get("warnings") or ()
    warnings = tuple(text for text in said if isinstance(text, str)) if isinstance(said, list) else ()
    if not allowed:
        return Ruling(denial=denial(webhook.name, response.get("status")), warnings=warnings)
    return Ruling(patch=_patch(response), warnings=warnings)


def _patch(response: JsonObject) -> Json:
    text, kind = response.get("patch"), response.get("patchType")
    if not text:
        if kind:
            raise CallFailed("received invalid webhook response: webhook returned response.patchType but not patch")
        return None
    if not kind:
        raise CallFailed("received invalid webhook response: webhook returned response.patch but not patchType")
    if kind != "JSONPatch":
        raise CallFailed(f'received invalid webhook response: webhook returned invalid response.patchType of "{kind}"')
    try:
        patch: Json = orjson.loads(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise CallFailed(f"received invalid webhook response: response.patch cannot be read: {error}") from None
    return patch


def denial(webhook: str, status: Any) -> ApiError:
    """The refusal that a webhook's ``status`` asks for, in Kubernetes' words."""
    given: JsonObject = status if isinstance(status, dict) else {}
    message = f'admission webhook "{webhook}" denied the request'
    reason = given["reason"] if isinstance(given.get("reason"), str) else ""
    why = given.get("message") or reason
    message = f"{message}: {why}" if why else f"{message} without explanation"
    code = given.get("code")
    code = code if isinstance(code, int) and code in ERROR_CODES else ERROR_CODES.start
    details = given.get("details") if isinstance(given.get("details"), dict) else None
    return ApiError.from_status({"code": code, "reason": reason, "message": message, "details": details})


def failure(webhook: str, why: CallFailed) -> InternalError:
    """The refusal of a request whose webhook cannot be asked and must be."""
    text = f'failed calling webhook "{webhook}": {why}'
    return InternalError(f"Internal error occurred: {text}", details={"causes": [{"message": text}]})
