"""The tables are the tests: every state, actor and event, allowed and refused, against the design's own text."""

import pytest

from attractor.lifecycle import Lifecycle, Refused, WrongActor, WrongState
from attractor.operators.edge.api.states import AGENT, APP_INST, CLOUDLET, CLUSTER_INST, Actor

DESIGN = """
NotPresent      | User create         | CreateRequested
CreateRequested | CRM response        | Creating, Ready
CreateRequested | CRM error           | CreateError
Creating        | CRM response        | Ready
Creating        | CRM error           | CreateError
CreateError     | Controller undo     | NotPresent
Ready           | User update         | UpdateRequested
UpdateRequested | CRM response        | Updating, Ready
UpdateRequested | CRM error           | UpdateError
Updating        | CRM response        | Ready
Updating        | CRM error           | UpdateError
UpdateError     | Controller undo     | Ready
Ready           | User delete         | DeletePrepare
DeletePrepare   | Controller prepared | DeleteRequested
DeleteRequested | CRM response        | Deleting, NotPresent
DeleteRequested | CRM error           | DeleteError
Deleting        | CRM response        | NotPresent
Deleting        | CRM error           | DeleteError
DeleteError     | Controller undo     | Ready
"""
UPGRADE = """
NotPresent      | Controller CRM is Ready         | Ready
Ready           | User upgrade                    | UpdateRequested
UpdateRequested | Controller CRMv1 is UpgradeInit | Updating
UpdateRequested | Controller CRMv1 is Error       | UpdateError
Updating        | Controller CRMv2 is UpgradeDone | UpdateDone
Updating        | Controller CRMv2 is Error       | UpdateError
Updating        | Controller CRMv1 is Error       | UpdateError
UpdateDone      | Controller CRMv2 is Ready       | Ready
"""
AGENTS = """
Init        | CRMv2 bring up  | Ready
Init        | CRMv2 take over | UpgradeDone
Init        | CRMv2 error     | Error
UpgradeDone | CRMv2 serve     | Ready
Ready       | CRMv1 prepare   | UpgradeInit
Ready       | CRMv1 error     | Error
UpgradeInit | CRMv1 error     | Error
"""


def design(text: str) -> dict[tuple[str, str, str], set[str]]:
    rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return {(state, *by.split(" ", 1)): set(nexts.split(", ")) for state, by, nexts in rows}  # type: ignore[misc]


TRIPLES = [
    pytest.param(
        table,
        state,
        actor,
        event,
        design(text).get((state, actor, event), set()),
        id=f"{table.name} {state} {actor} {event}",
    )
    for table, text in ((CLUSTER_INST, DESIGN), (APP_INST, DESIGN), (CLOUDLET, UPGRADE), (AGENT, AGENTS))
    for state, actor, event, _ in table.triples()
    if actor is not Actor.ADMIN
]


@pytest.mark.parametrize(("table", "state", "actor", "event", "expected"), TRIPLES)
def test_a_triple_is_allowed_exactly_where_the_design_has_it(
    table: Lifecycle[str, str], state: str, actor: str, event: str, expected: set[str]
) -> None:
    if not expected:
        with pytest.raises(WrongState if table.owner(state) == actor else WrongActor):
            table.follow(state, actor, event)
    for after in table.states:
        if after in expected:
            assert table.follow(state, actor, event, to=after) == after
        else:
            with pytest.raises(Refused):
                table.follow(state, actor, event, to=after)


def test_the_triples_are_all_there() -> None:
    assert len(TRIPLES) == 2 * (12 * 3 * 10) + 6 * 2 * 8 + 5 * 2 * 6
    assert sum(bool(each.values[4]) for each in TRIPLES) == 2 * 19 + 8 + 7


OVERRIDES = """
CreateRequested | give up, declare ready, delete anyway
Creating        | give up, declare ready, delete anyway
CreateError     | give up, declare ready, delete anyway
UpdateRequested | give up, declare ready, delete anyway
Updating        | give up, declare ready, delete anyway
UpdateError     | declare ready
DeletePrepare   | give up
DeleteRequested | give up, declare ready, delete anyway
Deleting        | give up, declare ready, delete anyway
DeleteError     | give up
"""
LEADS_TO = {"give up": "NotPresent", "declare ready": "Ready", "delete anyway": "DeletePrepare"}


@pytest.mark.parametrize("table", [CLUSTER_INST, APP_INST], ids=lambda table: table.name)
def test_an_administrator_may_override_what_waits_and_what_failed_but_not_what_rests(
    table: Lifecycle[str, str],
) -> None:
    lines = [line.split("|") for line in OVERRIDES.strip().splitlines()]
    written = {(state.strip(), event.strip()) for state, events in lines for event in events.split(",")}
    for state, actor, event, nexts in table.triples():
        if actor is Actor.ADMIN:
            assert nexts == ({LEADS_TO[event]} if (state, event) in written else set()), (state, event)
    assert {state for state, _ in written} == {*table.states} - table.resting


def test_an_administrator_repairs_a_failed_upgrade_and_its_agents_and_nothing_else() -> None:
    for table, written in (
        (CLOUDLET, {("UpdateError", "Ready")}),
        (AGENT, {("Error", "Ready"), ("UpgradeInit", "Ready")}),
    ):
        found = {
            (state, after) for state, actor, _, nexts in table.triples() for after in nexts if actor is Actor.ADMIN
        }
        assert found == written


def test_no_work_in_progress_is_undone_because_it_takes_long() -> None:
    late = {state: CLUSTER_INST.overdue(state, 30 * 60) for state in CLUSTER_INST.states}
    assert {state for state, text in late.items() if text} == {
        state for state in CLUSTER_INST.states if CLUSTER_INST.owner(state) is Actor.CRM
    }
