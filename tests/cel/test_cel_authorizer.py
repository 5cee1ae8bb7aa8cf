"""Expressions that ask what somebody may do: what is asked, about whom, and what an answer says."""

import pytest

from attractor.cel import CelCheckError, CelError, CelProgram, CostExceeded
from attractor.cel.authorizer import (
    AUTHORIZER,
    REQUEST_RESOURCE,
    VARIABLES,
    Authorizer,
    Question,
    ResourceCheck,
    ServiceAccount,
)


class Clerk:
    """Allows reading, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[ServiceAccount | None, Question]] = []

    def __call__(self, account: ServiceAccount | None, question: Question) -> tuple[bool, str]:
        self.asked.append((account, question))
        return question.verb == "get", "because"


def answer(text: str, clerk: Clerk) -> object:
    authorizer = Authorizer(clerk)
    values = {AUTHORIZER: authorizer, REQUEST_RESOURCE: ResourceCheck(authorizer, Question("", "apps", "deployments"))}
    return CelProgram.compile(text, dict(VARIABLES)).evaluate(values)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("authorizer.path('/healthz')", Question("get", path="/healthz")),
        ("authorizer.requestResource", Question("get", "apps", "deployments")),
        (
            "authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('d')",
            Question("get", "apps", "deployments", "scale", "a", "d"),
        ),
        (
            "authorizer.group('').resource('pods').labelSelector('a=b').fieldSelector('c=d')",
            Question("get", "", "pods"),
        ),
    ],
)
def test_a_check_asks_what_was_built_up_before_it(text: str, asked: Question) -> None:
    clerk = Clerk()
    assert answer(f"{text}.check('get').allowed()", clerk) is True
    assert answer(f"{text}.check('put').allowed()", clerk) is False
    assert clerk.asked == [(None, asked), (None, asked._replace(verb="put"))]


def test_it_may_be_asked_about_a_service_account_instead_of_the_author() -> None:
    clerk = Clerk()
    text = "authorizer.serviceAccount('a', 'robot').group('').resource('pods').check('get')"
    assert answer(f"{text}.reason() == 'because' && !{text}.errored()", clerk) is True
    assert answer(f"{text}.error()", clerk) == ""
    assert clerk.asked[0] == (ServiceAccount("a", "robot"), Question("get", "", "pods"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("authorizer.path('')", "path must not be empty"),
        ("authorizer.group('').resource('')", "resource must not be empty"),
        ("authorizer.serviceAccount('A', 'robot').path('/x')", "Invalid service account namespace"),
        ("authorizer.serviceAccount('a', 'Robot').path('/x')", "Invalid service account name"),
    ],
)
def test_what_cannot_be_asked_is_an_error(text: str, why: str) -> None:
    with pytest.raises(CelError, match=why):
        answer(f"{text}.check('get').allowed()", Clerk())


def test_three_questions_are_too_many_for_one_expression() -> None:
    one = "!authorizer.path('/x').check('put').allowed()"
    assert answer(f"{one} && {one}", Clerk()) is True
    with pytest.raises(CostExceeded):
        answer(f"{one} && {one} && {one}", Clerk())


def test_a_question_needs_its_steps_in_order() -> None:
    with pytest.raises(CelCheckError, match="found no matching overload for 'check'"):
        CelProgram.compile("authorizer.group('').check('get')", dict(VARIABLES))
