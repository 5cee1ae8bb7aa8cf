"""A table that breaks a rule is refused when it is built; one that keeps them says what is allowed."""

from enum import StrEnum

import pytest

from attractor.lifecycle import (
    Lifecycle,
    Row,
    TableError,
    WrongActor,
    WrongState,
    missed,
    move,
    override,
    undo,
)


class Door(StrEnum):
    CLOSED = "Closed"
    ASKED = "Asked"
    OPENING = "Opening"
    OPEN = "Open"
    JAMMED = "Jammed"


class Who(StrEnum):
    VISITOR = "visitor"
    PORTER = "porter"
    OWNER = "owner"


ROWS: list[Row[Door, Who]] = [
    move(Door.CLOSED, Who.VISITOR, "knock", Door.ASKED),
    move(Door.ASKED, Who.PORTER, "answer", Door.OPENING),
    missed(Door.ASKED, Who.PORTER, "answer", Door.OPEN, skips=Door.OPENING),
    move(Door.OPENING, Who.PORTER, "answer", Door.OPEN),
    move(Door.OPENING, Who.PORTER, "fail", Door.JAMMED),
    undo(Door.JAMMED, Who.PORTER, "undo", Door.CLOSED),
    move(Door.OPEN, Who.VISITOR, "leave", Door.CLOSED),
]


def door(rows: list[Row[Door, Who]], **options: object) -> Lifecycle[Door, Who]:
    return Lifecycle("Door", initial=Door.CLOSED, requester=Who.VISITOR, rows=rows, **options)  # type: ignore[arg-type]


@pytest.fixture
def table() -> Lifecycle[Door, Who]:
    return door([*ROWS, *override([Door.OPENING, Door.JAMMED], Who.OWNER, "force", Door.OPEN)])


def test_every_state_has_one_owner(table: Lifecycle[Door, Who]) -> None:
    assert {state: table.owner(state) for state in table.states} == {
        Door.CLOSED: Who.VISITOR,
        Door.ASKED: Who.PORTER,
        Door.OPENING: Who.PORTER,
        Door.OPEN: Who.VISITOR,
        Door.JAMMED: Who.PORTER,
    }


def test_states_are_of_rest_of_work_or_of_failure(table: Lifecycle[Door, Who]) -> None:
    assert table.resting == {Door.CLOSED, Door.OPEN}
    assert table.busy == {Door.ASKED, Door.OPENING}
    assert table.errors == {Door.JAMMED}


def test_an_event_leads_on_and_a_missed_message_is_skipped_only_on_request(table: Lifecycle[Door, Who]) -> None:
    assert table.follow(Door.ASKED, Who.PORTER, "answer") is Door.OPENING
    assert table.follow(Door.ASKED, Who.PORTER, "answer", to=Door.OPEN) is Door.OPEN


def test_the_refusal_of_a_wrong_actor_names_the_state_and_both_actors(table: Lifecycle[Door, Who]) -> None:
    with pytest.raises(WrongActor, match="Door is Opening, which only the porter may move: the visitor may not do"):
        table.follow(Door.OPENING, Who.VISITOR, "leave")


def test_the_refusal_of_a_wrong_state_says_where_it_leads(table: Lifecycle[Door, Who]) -> None:
    with pytest.raises(
        WrongState, match=r"Door front is Opening, .* may not move it to Closed; it leads to Jammed, Op"
    ):
        table.check(Door.OPENING, [Who.PORTER], Door.CLOSED, "Door front")


def test_an_override_is_allowed_to_the_administrator_and_owns_nothing(table: Lifecycle[Door, Who]) -> None:
    table.check(Door.JAMMED, [Who.OWNER], Door.OPEN)
    assert table.owner(Door.JAMMED) is Who.PORTER
    with pytest.raises(WrongActor):
        table.check(Door.JAMMED, [Who.VISITOR], Door.OPEN)


def test_triples_cover_every_state_actor_and_event(table: Lifecycle[Door, Who]) -> None:
    triples = list(table.triples())
    assert len(triples) == len(table.states) * len(table.actors) * len(table.events) == 5 * 3 * 6
    assert sum(bool(nexts) for *_, nexts in triples) == 8


def test_a_timeout_tells_people_and_undoes_nothing() -> None:
    table = door(ROWS, timeouts_s={Door.OPENING: 120})
    assert table.overdue(Door.OPENING, 119) == ""
    assert table.overdue(Door.OPENING, 120).startswith("still Opening after 2 min: the porter is at work or away")
    assert table.overdue(Door.ASKED, 1e9) == ""


@pytest.mark.parametrize(
    ("rows", "options", "why"),
    [
        ([*ROWS, move(Door.OPENING, Who.VISITOR, "pull", Door.OPEN)], {}, "Opening belongs to porter and to visitor"),
        ([*ROWS[:5], *ROWS[6:]], {}, "Jammed has no way out; add a row, or say that it is final"),
        ([*ROWS[:4], *ROWS[5:]], {}, "no way leads from Closed to Jammed"),
        ([*ROWS, ROWS[0]], {}, "stands twice"),
        (
            [*ROWS[:2], move(Door.ASKED, Who.PORTER, "answer", Door.OPEN), *ROWS[3:]],
            {},
            "'answer' leads to Opening and to Open; .* declare the shortcut past a lost message with missed",
        ),
        (
            [*ROWS[:2], missed(Door.ASKED, Who.PORTER, "answer", Door.OPEN, skips=Door.JAMMED), *ROWS[3:]],
            {},
            "there is no way Asked to Jammed to Open; name the state that lies between",
        ),
        (ROWS, {"final": {Door.JAMMED}}, "Jammed is final, but porter moves it"),
        ([*ROWS, move(Door.OPEN, Who.VISITOR, "stay", Door.OPEN)], {}, "Open leads to itself"),
        ([*ROWS[:4], *ROWS[6:]], {"timeouts_s": {Door.JAMMED: 1}}, "a timeout of Jammed, which no row names"),
        ([*ROWS[1:]], {}, "nobody moves the initial state Closed"),
    ],
    ids=[
        "two owners",
        "no way out",
        "unreachable",
        "twice",
        "undeclared shortcut",
        "shortcut past nothing",
        "final but moved",
        "to itself",
        "unknown timeout",
        "nobody begins",
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(
    rows: list[Row[Door, Who]], options: dict[str, object], why: str
) -> None:
    with pytest.raises(TableError, match=why):
        door(rows, **options)


def test_a_state_without_a_way_out_is_allowed_where_it_is_said_to_be_final() -> None:
    table = door([*ROWS[:5], *ROWS[6:]], final={Door.JAMMED})
    assert table.owner(Door.JAMMED) is None
    assert Door.JAMMED in table.errors
    with pytest.raises(WrongActor, match="Jammed, which is final: the porter may not"):
        table.check(Door.JAMMED, [Who.PORTER], Door.OPEN)
