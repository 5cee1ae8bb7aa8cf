"""In each session an agent first says what it has; what counts as one, and when a token is due."""

import base64
import json
from pathlib import Path

import pytest

from attractor.client import ClientConfig, load_kubeconfig
from attractor.client.configuration.credentials import StaticCredentials, bearer
from attractor.embedded.kubeconfig import kubeconfig
from attractor.operators.edge.controllers.progress import KEPT, ProgressLog
from attractor.operators.edge.controllers.sessions import Reports, Sessions
from attractor.operators.edge.drivers.protocols import Ref, Step
from attractor.operators.edge.drivers.token_renewal import Life, life_of, renewable, token_in

ONE, SHOP = Ref("ClusterInst", "berlin", "one"), Ref("AppInst", "berlin", "shop")


def test_a_session_begins_with_the_first_answer_and_again_after_a_broken_one() -> None:
    sessions = Sessions("a")
    assert not sessions.is_up
    sessions.heard()
    sessions.heard()
    assert (sessions.is_up, sessions.current) == (True, "a.1")
    sessions.broke()
    sessions.broke()
    assert (sessions.is_up, sessions.current) == (False, "a.1")
    sessions.heard()
    assert (sessions.is_up, sessions.current) == (True, "a.2")


def test_a_report_is_complete_when_all_was_said_in_that_session() -> None:
    completed: list[str] = []
    reports = Reports(lambda: completed.append(reports.session))
    reports.begin("a.1", [ONE, SHOP])
    reports.told(ONE, "a.1")
    assert reports.owed == {SHOP}
    reports.begin("a.2", [ONE, SHOP])
    reports.told(SHOP, "a.1")
    assert reports.owed == {ONE, SHOP}
    reports.told(ONE, "a.2")
    reports.told(SHOP, "a.2")
    reports.told(SHOP, "a.2")
    assert completed == ["a.2"]


def token(issued_s: int, expires_s: int) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"iat": issued_s, "exp": expires_s}).encode()).rstrip(b"=").decode()
    return f"head.{claims}.signature"


def test_a_token_is_due_when_half_of_its_life_is_over() -> None:
    life = life_of(token(1000, 1600))
    assert life == Life(1000, 1600)
    assert life.due_in_s(1000) == 300
    assert life.due_in_s(1290) == 10
    assert life.due_in_s(9999) == 0


def test_a_renewal_that_fails_is_tried_again_the_sooner_the_nearer_the_end() -> None:
    life = Life(0, 1000)
    assert life.retry_in_s(500) == 10
    assert life.retry_in_s(990) == 1
    assert life.retry_in_s(2000) == 0.1


@pytest.mark.parametrize("text", ["opaque", "a.b.c", "a.e30.c", "a.bnVsbA.c"])
def test_a_token_that_does_not_say_when_it_expires_is_left_alone(text: str, tmp_path: Path) -> None:
    assert life_of(text) is None
    config = ClientConfig("http://localhost", StaticCredentials(bearer(text)))
    assert renewable(config, tmp_path / "config") == (config, None)


async def test_a_new_token_is_written_down_and_one_that_somebody_else_wrote_is_found(tmp_path: Path) -> None:
    path, first, second = tmp_path / "config", token(0, 100), token(50, 150)
    path.write_bytes(kubeconfig("http://localhost:1", first, None))
    config, credentials = renewable(load_kubeconfig(path), path)
    assert credentials is not None
    assert await config.credentials.current() == bearer(first)
    assert not credentials.rejected(bearer(first))
    credentials.replace(second)
    assert (await config.credentials.current(), token_in(path)) == (bearer(second), second)
    path.write_bytes(kubeconfig("http://localhost:1", first, None))
    assert credentials.rejected(bearer(second))
    assert await config.credentials.current() == bearer(first)
    path.unlink()
    assert not credentials.rejected(bearer(first))


def test_progress_keeps_what_was_said_of_an_operation_and_begins_anew_with_the_next() -> None:
    log = ProgressLog()
    log.note(ONE, Step(1, 2, "starts"))
    log.note(ONE, Step(2, 2, "adds node 1 of 2"))
    log.note(SHOP, Step(1, 1, "ends it"))
    log.note(ONE, Step(2, 2, "adds node 2 of 2"))
    assert log.take() == (ONE, (Step(1, 2, "starts"), Step(2, 2, "adds node 1 of 2"), Step(2, 2, "adds node 2 of 2")))
    assert log.take() == (SHOP, (Step(1, 1, "ends it"),))
    assert log.take() is None
    log.note(ONE, Step(1, 1, "ends its API server"))
    assert log.take() == (ONE, (Step(1, 1, "ends its API server"),))


def test_progress_forgets_the_oldest_of_many_messages() -> None:
    log = ProgressLog()
    for number in range(100):
        log.note(ONE, Step(2, 2, f"adds node {number}"))
    news = log.take()
    assert news is not None
    assert len(news[1]) == KEPT
    assert news[1][-1].text == "adds node 99"
