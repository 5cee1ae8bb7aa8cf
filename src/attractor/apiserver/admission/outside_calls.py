"""Asking the world outside: how the pure core calls webhooks without doing I/O.

A webhook's answer is an input of the core, like the snapshot and the clock. When the core needs one that it does not
have, it raises ``NeedsAnswers`` with the questions as data. The driver gets the answers in whatever way it likes (HTTPS
in ``attractor.embedded.webhooks``, a function in a test, a nondeterministic choice in the checker), files them in
``Answers``, and runs the core again from the start. The core is deterministic, so the second run comes to the same
questions, finds them answered and goes on::

    answers = Answers()
    while True:
        try:
            return core.handle(request, Transaction(snapshot, source, answers=answers))
        except NeedsAnswers as needs:
            for question in needs.questions:
                answers.file(question, ask_somebody(question))

Two runs of one request must ask the same, so times, uids and name suffixes have to be the same in both:
``RecordedSource`` sees to that.
"""

from __future__ import annotations

import base64
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.apiserver.transaction import Source
    from attractor.objects.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Service:
    """A Service that stands in front of a webhook."""

    namespace: str
    name: str
    port: int = 443
    path: str = ""

    @property
    def host(self) -> str:
        """The name that the webhook's certificate has to be for."""
        return f"{self.name}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a webhook is: at a URL or behind a Service, and which authority vouches for it."""

    url: str = ""
    service: Service | None = None
    ca_bundle: bytes = b""
    """PEM; empty means the system's authorities."""

    @classmethod
    def of(cls, client: JsonObject) -> Endpoint:
        """The endpoint of a WebhookClientConfig."""
        bundle = base64.b64decode(client.get("caBundle") or "")
        service = client.get("service")
        if service is None:
            return cls(url=client.get("url") or "", ca_bundle=bundle)
        where = Service(service["namespace"], service["name"], service.get("port") or 443, service.get("path") or "")
        return cls(service=where, ca_bundle=bundle)


Review = Literal["AdmissionReview", "ConversionReview"]


@dataclass(frozen=True, slots=True)
class Question:
    """One call: a review to be sent. Equal questions have equal answers within one request."""

    endpoint: Endpoint
    review: Review
    body: bytes
    """The review's ``request`` as JSON, without its uid, which the driver makes."""
    api_version: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The ``response`` of a review, or why there is none."""

    response: JsonObject | None = None
    failure: str = ""
    """In the words of Kubernetes' client, for people: ``failed to call webhook: ...``."""


class NeedsAnswers(Exception):
    """The core cannot go on without these answers; file them and run it again."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = tuple(questions)
        super().__init__(f"{len(self.questions)} questions to the outside are open")


class Answers:
    """Answers of outside systems that one request has so far."""

    def __init__(self) -> None:
        self._known: dict[Question, Answer] = {}

    def file(self, question: Question, answer: Answer) -> None:
        """Remember an answer."""
        self._known[question] = answer

    def get(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers, in order; raises ``NeedsAnswers`` with those that are missing, asked together."""
        missing = [question for question in questions if question not in self._known]
        if missing:
            raise NeedsAnswers(missing)
        return [self._known[question] for question in questions]


class Outside(Protocol):
    """Somebody who can answer."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """The answers, in order; what cannot be answered is an ``Answer`` with a failure, never an exception."""
        ...


class NobodyOutside:
    """A server that was given no way to call out: every question is answered with the reason."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """No."""
        why = "failed to call webhook: this server was started without a way to call webhooks"
        return [Answer(failure=why) for _ in questions]


class RecordedSource:
    """A source that gives the same again after ``rewind``, and something new beyond that."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._given: dict[str, list[str]] = {}
        self._ahead: dict[str, deque[str]] = {}

    def rewind(self) -> None:
        """Start over: what was given is given again, in the same order."""
        self._ahead = {kind: deque(values) for kind, values in self._given.items()}

    def _next(self, kind: str, fresh: Callable[[], str]) -> str:
        ahead = self._ahead.get(kind)
        if ahead:
            return ahead.popleft()
        value = fresh()
        self._given.setdefault(kind, []).append(value)
        return value

    def now(self) -> str:
        """The time."""
        return self._next("now", self._source.now)

    def now_micro(self) -> str:
        """The time, to the microsecond."""
        return self._next("now_micro", self._source.now_micro)

    def uid(self) -> str:
        """A uid."""
        return self._next("uid", self._source.uid)

    def suffix(self) -> str:
        """The end of a generated name."""
        return self._next("suffix", self._source.suffix)

    def draw(self, below: int) -> int:
        """A number below a limit."""
        return int(self._next(f"draw {below}", lambda: str(self._source.draw(below))))
