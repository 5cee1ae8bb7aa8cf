"""The two plug-ins that ask webhooks: one lets them change an object, the other lets them refuse it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple

from attractor.apiserver.admission.match_conditions import bindings_of
from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.request import convert, versioned
from attractor.apiserver.admission.webhooks.configuration import GROUP, MUTATING, VALIDATING, webhooks
from attractor.apiserver.admission.webhooks.review import CallFailed, Ruling, failure, question_of, ruling_of
from attractor.apiserver.kinds.builtin.decode import decoder
from attractor.apiserver.kinds.metadata import set_managed_fields
from attractor.apiserver.request.decode_errors import DecodeError
from attractor.k8s import catalog
from attractor.objects.errors import ApiError, InternalError
from attractor.patch.json_patch import PatchFailed, apply_json_patch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.apiserver.admission.outside_calls import Answer
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.request import Versioned
    from attractor.apiserver.admission.webhooks.configuration import Webhook
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.objects.json_types import Json, JsonObject


class _Call(NamedTuple):
    """A webhook that is to be asked, and the request as it wants to see it."""

    webhook: Webhook
    seen: Versioned


def _call(webhook: Webhook, attributes: Attributes, authorizer: Authorizer) -> _Call | None:
    """The call to a webhook; None when the request is none of its business."""
    target = webhook.match(attributes)
    if target is None:
        return None
    seen = versioned(attributes, target)
    conditions = webhook.conditions
    if conditions.conditions and not conditions.match(attributes, bindings_of(attributes, seen, authorizer)):
        return None
    return _Call(webhook, seen)


def _concerned(attributes: Attributes, resource: str) -> Iterable[Webhook]:
    """The webhooks that may have a say."""
    return webhooks(attributes.txn, resource) if attributes.kind.gvk.group != GROUP else ()


def _ruling(call: _Call, answer: Answer, attributes: Attributes) -> Ruling:
    """What a webhook decided; one that cannot be asked admits or refuses as its failure policy says."""
    try:
        ruling = ruling_of(call.webhook, answer)
    except CallFailed as why:
        if call.webhook.fails_open:
            return Ruling()
        raise failure(call.webhook.name, why) from None
    for text in ruling.warnings:
        attributes.txn.warn(text)
    return ruling


class MutatingWebhooks(Plugin):
    """Asks mutating webhooks one after the other; one that asks for it is asked again if a later one changed more."""

    obeys_registrations = True

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, attributes: Attributes) -> None:
        """Apply their patches, or refuse."""
        stale: list[Webhook] = []
        """Asked already, wants to be asked again, and has not seen the newest state."""
        asked: list[Webhook] = []
        for webhook in _concerned(attributes, MUTATING):
            changed = self._ask(webhook, attributes)
            if changed is None:
                continue
            if changed:
                stale = [*asked]
            if webhook.is_reinvoked:
                asked.append(webhook)
        for webhook in stale:
            self._ask(webhook, attributes)

    def _ask(self, webhook: Webhook, attributes: Attributes) -> bool | None:
        """Whether a webhook changed the object; None when it was not asked."""
        call = _call(webhook, attributes, self._authorizer)
        if call is None:
            return None
        (answer,) = attributes.txn.ask([question_of(webhook, attributes, call.seen)])
        ruling = _ruling(call, answer, attributes)
        if ruling.denial is not None:
            raise ruling.denial
        if ruling.patch is None or attributes.obj is None or call.seen.obj is None:
            return False
        before = deepcopy(attributes.obj)
        replace_object(attributes.obj, _patched(call, attributes, ruling.patch))
        return attributes.obj != before


def _patched(call: _Call, attributes: Attributes, patch: Json) -> JsonObject:
    """The object after a webhook's patch, in the request's own version, decoded and defaulted like any other.

    What it is and who owns its fields are not the webhook's to change.
    """
    seen = call.seen
    assert seen.obj is not None, "there is nothing to patch"
    try:
        document = apply_json_patch(seen.obj, patch)
    except PatchFailed as error:
        raise _unusable(call, error.why) from None
    except ApiError as error:
        raise _unusable(call, error.message) from None
    if not isinstance(document, dict):
        raise _unusable(call, "the patch leaves no object")
    try:
        return changed_object(seen, attributes, document)
    except DecodeError as error:
        raise _unusable(call, str(error)) from None


def changed_object(seen: Versioned, attributes: Attributes, document: JsonObject) -> JsonObject:
    """What admission made of an object, in the request's own version; raises ``DecodeError``."""
    assert seen.obj is not None, "there is nothing to change"
    identity = {name: seen.obj[name] for name in ("kind", "apiVersion")}
    if {name: document.get(name) for name in identity} != identity:
        raise DecodeError("a patch may not change kind or apiVersion")
    decoded = _decode(seen, document)
    metadata = decoded.get("metadata")
    if metadata is not None:
        metadata.pop("resourceVersion", None)
        set_managed_fields(metadata, (seen.obj.get("metadata") or {}).get("managedFields") or [])
    return decoded if seen.kind is attributes.kind else convert(decoded, seen.kind, attributes.kind)


def _decode(seen: Versioned, document: JsonObject) -> JsonObject:
    """The document in the shape of the resource's kind, or of the subresource's; raises ``DecodeError``."""
    if seen.gvk == seen.kind.gvk:
        decoded = seen.kind.strategy.decode(document).obj
        seen.kind.strategy.default(decoded)
        return decoded
    definition = catalog.definition_of(seen.gvk)
    if definition is None:  # the options of a connection, of which nothing is kept
        return document
    return decoder(definition)(document).obj


def _unusable(call: _Call, why: str) -> InternalError:
    text = f'the patch of admission webhook "{call.webhook.name}" cannot be used: {why}'
    return InternalError(f"Internal error occurred: {text}", details={"causes": [{"message": text}]})


def replace_object(obj: JsonObject, new: JsonObject) -> None:
    """Change an object in place, so that whoever holds it sees the new state."""
    metadata = obj.get("metadata")
    obj.clear()
    obj.update(new)
    if isinstance(metadata, dict) and isinstance(obj.get("metadata"), dict):
        fresh = dict(obj["metadata"])
        metadata.clear()
        metadata.update(fresh)
        obj["metadata"] = metadata


class ValidatingWebhooks(Plugin):
    """Asks validating webhooks, all of them at once."""

    obeys_registrations = True

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def validate(self, attributes: Attributes) -> None:
        """Refuse what one of them refuses; the first refusal, in their order, is the answer."""
        concerned = _concerned(attributes, VALIDATING)
        calls = [call for one in concerned if (call := _call(one, attributes, self._authorizer)) is not None]
        if not calls:
            return
        answers = attributes.txn.ask([question_of(call.webhook, attributes, call.seen) for call in calls])
        refusals: list[ApiError] = []
        for call, answer in zip(calls, answers, strict=True):
            try:
                ruling = _ruling(call, answer, attributes)
            except ApiError as error:
                refusals.append(error)
                continue
            if ruling.denial is not None:
                refusals.append(ruling.denial)
        if refusals:
            raise refusals[0]
