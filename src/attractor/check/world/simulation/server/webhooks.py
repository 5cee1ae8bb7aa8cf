"""Webhooks of a world: the author's functions, asked by the world's server within the step that writes.

A function is run twice on each new review, the second time with nothing from outside, and must answer the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.admission.outside_calls import Answer, Answers
from attractor.check.errors import SpecError, line_of, raising_line
from attractor.check.sandbox.outside import barred, meeting
from attractor.check.sandbox.purity import Guard
from attractor.webhooks import UserInfo, WebhookError, WebhookSet
from attractor.webhooks.conversion import PATH as CONVERSION_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import FrameType

    from attractor.apiserver.admission.outside_calls import Question
    from attractor.objects.json_types import JsonObject
    from attractor.webhooks import Webhook


class _Somebody(UserInfo):
    """The user of a world, of whom nothing is known."""

    def __getattribute__(self, name: str) -> Any:
        if name in {"name", "uid", "groups", "extra"}:
            raise SpecError(
                f"a webhook asks for the user's {name}, and in a world nobody has one; judge the object and the one "
                "before, or test this rule by calling it with AdmissionRequest(user=UserInfo(...))"
            )
        return super().__getattribute__(name)


class WorldWebhooks(Answers):
    """Answers the server's questions by calling functions; equal questions have equal answers."""

    def __init__(self, hooks: Iterable[Webhook]) -> None:
        super().__init__()
        self.hooks = _checked(hooks)
        self._answered: dict[Question, Answer] = {}
        self._guards: dict[str, list[tuple[Any, Guard]]] = {}
        """For each path the functions behind it, with what they must leave as it is."""
        for hook in self.hooks:
            self._guard(hook.path, hook.function)
        for versions in self.hooks.versions():
            for function in versions.functions():
                self._guard(CONVERSION_PATH, function)

    def _guard(self, path: str, function: Any) -> None:
        self._guards.setdefault(path, []).append((function, Guard(function)))

    def forget(self) -> None:
        """Call the functions again for whatever is asked from now on."""
        self._answered.clear()

    def get(self, questions: Sequence[Question]) -> list[Answer]:
        """The functions' answers, in order."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Answer:
        known = self._answered.get(question)
        if known is None:
            known = self._answered[question] = self._asked(question)
        return known

    def _asked(self, question: Question) -> Answer:
        service = question.endpoint.service
        assert service is not None, "a world has no webhooks but its own"
        first = self._called(service.path, question)
        with barred(), meeting(lambda frame: self._meet(service.path, frame)):
            second = self._called(service.path, question)
        if first != second:
            functions = ", ".join(
                f"{line_of(function)} `{_name(function)}`" for function, *_ in self._guards[service.path]
            )
            raise SpecError(
                f"{functions}: asked twice about the same, it answered differently; "
                "a webhook must depend on the object and the request only"
            )
        for function, guard in self._guards[service.path]:
            if guard.changed() is not None:
                raise SpecError(
                    f"{line_of(function)}: webhook {_name(function)!r} changes a variable outside of itself; "
                    "a webhook judges, and remembers nothing"
                )
        return Answer(response=first)

    def _meet(self, path: str, frame: FrameType) -> None:
        for _, guard in self._guards[path]:
            guard.meet(frame)

    def _called(self, path: str, question: Question) -> JsonObject:
        try:
            return self.hooks.answer(path, orjson.loads(question.body), _Somebody())
        except SpecError:
            raise
        except Exception as error:
            (function, *_), *_ = self._guards[path]
            told = f"{type(error).__name__}: {error}"
            raise SpecError(
                f"{raising_line(error) or line_of(function)}: webhook {_name(function)!r} fails with {told}; "
                "refuse a write with `raise Denied(...)` or `request.refuse(field, why)`"
            ) from error


def _name(function: Any) -> str:
    return getattr(function, "__name__", repr(function))


def _checked(hooks: Iterable[Webhook]) -> WebhookSet:
    try:
        made = WebhookSet(hooks)
    except WebhookError as problem:
        raise SpecError(str(problem)) from None
    for hook in made:
        if hook.fails_open:
            raise SpecError(
                f"webhook {hook.name!r} is `fails_open`, so any write may pass without it, which no world explores; "
                "check the world without this webhook, which is the worse case if it only refuses"
            )
    return made
