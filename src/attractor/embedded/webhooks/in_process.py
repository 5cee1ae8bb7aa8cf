"""Webhooks that are Python functions of this process: registered like any other, asked without a socket."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.admission.outside_calls import Answer
from attractor.apiserver.request.operation import APPLY_PATCH, Operation, WriteOptions
from attractor.webhooks import WebhookSet
from attractor.webhooks.registration import GROUP, IN_PROCESS, NoSuchWebhook, in_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attractor.apiserver.admission.outside_calls import Outside, Question
    from attractor.apiserver.server import Server
    from attractor.objects.json_types import JsonObject
    from attractor.webhooks import Webhook

NAME = IN_PROCESS[1]

log = logging.getLogger("attractor.webhooks")


class InProcessWebhooks:
    """Answers questions to functions of this process, and passes all others on."""

    def __init__(self, others: Outside) -> None:
        self._others = others
        self.hooks = WebhookSet()

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """The answers, in order."""
        known = {question: self._answered(question) for question in questions if _is_own(question)}
        others = [question for question in questions if question not in known]
        if others:
            known |= dict(zip(others, await self._others.answer(others), strict=True))
        return [known[question] for question in questions]

    def _answered(self, question: Question) -> Answer:
        """A function's answer; what it raises is what an operator would answer with 500."""
        service = question.endpoint.service
        assert service is not None, "only services stand for this process"
        try:
            return Answer(response=self.hooks.answer(service.path, orjson.loads(question.body)))
        except NoSuchWebhook as error:
            return Answer(failure=f"failed to call webhook: {error}")
        except Exception as error:
            log.exception("webhook failed", extra={"path": service.path})
            why = f"{type(error).__name__}: {error}"
            return Answer(failure=f'failed to call webhook: an error on the server ("{why}") has prevented the request')

    async def register(self, server: Server, hooks: Iterable[Webhook]) -> None:
        """Have a server ask these functions from now on; raises ``ApiError``."""
        self.hooks.add(*hooks)
        for document in self.hooks.configurations(NAME, in_process):
            await server.perform(_applied(document))

    async def forget(self, server: Server) -> None:
        """Delete the registrations that an earlier process left in the store."""
        for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            if server.store.snapshot_nowait().get(f"{GROUP}/{resource}/{NAME}") is not None:
                await server.perform(Operation(verb="delete", group=GROUP, version="v1", resource=resource, name=NAME))


def _is_own(question: Question) -> bool:
    service = question.endpoint.service
    return service is not None and (service.namespace, service.name) == IN_PROCESS


def _applied(document: JsonObject) -> Operation:
    return Operation(
        verb="patch",
        group=GROUP,
        version="v1",
        resource=f"{document['kind'].lower()}s",
        name=NAME,
        body=document,
        patch_type=APPLY_PATCH,
        write=WriteOptions(field_manager="attractor", force=True),
    )
