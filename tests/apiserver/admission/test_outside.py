"""The core asks the outside without I/O: the same request, run again with answers in hand, comes to the same place."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from attractor.apiserver.admission.outside_calls import Answer, Answers, NeedsAnswers, Question, RecordedSource
from attractor.apiserver.core import Core, Request
from attractor.apiserver.request.caller import User
from attractor.apiserver.response import Response
from attractor.apiserver.server import Server
from attractor.apiserver.transaction import Transaction
from attractor.store.memory import MemoryStore
from tests.apiserver.admission.conftest import CONFIGMAP_RULE, REGISTRATIONS
from tests.apiserver.conftest import CONFIGMAPS
from tests.deterministic import CountingSource


def post(path: str, body: object) -> Request:
    return Request("POST", path, body=json.dumps(body).encode(), content_type="application/json", user=User("admin"))


async def store_with_webhooks(*kinds: str) -> MemoryStore:
    store = MemoryStore()
    server = Server(store, CountingSource())
    await server.start()
    for number, kind in enumerate(kinds):
        hook = {
            "name": f"{kind}{number}.example.org",
            "clientConfig": {"url": f"https://example.org/{number}"},
            "rules": [CONFIGMAP_RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        body = {"metadata": {"name": f"w{number}"}, "webhooks": [hook]}
        assert (await server.handle(post(f"{REGISTRATIONS}/{kind}webhookconfigurations", body))).code == 201
    return store


def answered(store: MemoryStore, allowed: dict[str, bool]) -> tuple[Response, list[list[Question]], Transaction]:
    """Run the core by hand, as the checker does; each webhook answers by its URL."""
    core, source, answers = Core(), RecordedSource(CountingSource()), Answers()
    asked: list[list[Question]] = []
    while True:
        source.rewind()
        txn = Transaction(store.snapshot_nowait(), source, answers=answers)
        try:
            return core.handle(post(CONFIGMAPS, {"metadata": {"generateName": "c-"}}), txn), asked, txn
        except NeedsAnswers as needs:
            asked.append(list(needs.questions))
            for question in needs.questions:
                answers.file(question, Answer(response={"allowed": allowed[question.endpoint.url]}))


async def test_mutating_webhooks_are_asked_in_turn_and_validating_ones_together() -> None:
    store = await store_with_webhooks("mutating", "mutating", "validating", "validating")
    urls = [f"https://example.org/{number}" for number in range(4)]
    response, asked, txn = answered(store, dict.fromkeys(urls, True))
    assert response.code == 201
    assert [[question.endpoint.url for question in batch] for batch in asked] == [[urls[0]], [urls[1]], urls[2:]]
    (written,) = txn.puts.values()
    seen = json.loads(asked[-1][0].body)["object"]["metadata"]
    assert seen["uid"].encode() in written
    assert seen["name"].encode() in written


async def test_every_combination_of_answers_admits_only_if_all_do() -> None:
    store = await store_with_webhooks("mutating", "validating", "validating")
    urls = [f"https://example.org/{number}" for number in range(3)]
    for answers in itertools.product([True, False], repeat=3):
        response, _, txn = answered(store, dict(zip(urls, answers, strict=True)))
        assert (response.code == 201) is all(answers)
        assert txn.is_dirty is all(answers)


async def test_a_server_without_a_way_out_says_so() -> None:
    store = await store_with_webhooks("validating")
    answer = await Server(store, CountingSource()).handle(post(CONFIGMAPS, {"metadata": {"name": "a"}}))
    assert answer.code == 500
    assert "this server was started without a way to call webhooks" in answer.json()["message"]


CALLS = st.lists(st.sampled_from(["uid", "suffix", "now", "now_micro", "draw"]), max_size=12)


@given(first=CALLS, second=CALLS)
def test_a_recorded_source_repeats_what_it_gave_and_then_goes_on(first: list[str], second: list[str]) -> None:
    source = RecordedSource(CountingSource())

    def call(kind: str) -> object:
        return source.draw(1000) if kind == "draw" else getattr(source, kind)()

    given_first = [(kind, call(kind)) for kind in first]
    source.rewind()
    given_second = [(kind, call(kind)) for kind in second]
    for kind in ("uid", "suffix", "now", "now_micro", "draw"):
        before = [value for name, value in given_first if name == kind]
        after = [value for name, value in given_second if name == kind]
        common = min(len(before), len(after))
        assert before[:common] == after[:common]
        if kind in {"uid", "suffix"}:
            fresh = after[common:]
            assert len({*fresh, *before}) == len(fresh) + len(before)
