"""The tables are the design document's, line by line: its text stands here as it was written, and is read."""

import re
from collections.abc import Iterator

from attractor.lifecycle import Row
from attractor.operators.edge.api.states import AGENT, CREATE, DELETE, UPDATE, UPGRADE, Actor, TrackedState

INSTANCES = """
Create:
Current State      Actor            Next State
=============      =====            ==========
NotPresent         User create      CreateRequested
CreateRequested    CRM response     Creating
                   CRM response     Ready (if Creating message was missed)
                   CRM error        CreateError
Creating           CRM response     Ready
                   CRM error        CreateError
CreateError        Controller       NotPresent (undo)

Update:
Current State      Actor            Next State
=============      =====            ==========
Ready              User update      UpdateRequested
UpdateRequested    CRM response     Updating
                   CRM response     Ready (if Updating message was missed)
                   CRM error        UpdateError
Updating           CRM response     Ready
                   CRM error        UpdateError
UpdateError        Controller       Ready (undo, commits previous state)

Delete:
Current State      Actor            Next State
=============      =====            ==========
Ready              User delete      DeletePrepare
DeletePrepare      Controller       DeleteRequested
DeleteRequested    CRM response     Deleting
                   CRM response     Deleted (if Deleting message was missed)
                   CRM error        DeleteError
Deleting           CRM response     NotPresent
                   CRM error        DeleteError
DeleteError        Controller       Ready (undo)
"""
CLOUDLETS = """
+-----------------+------------------------------------+------------------+-----------------------------------------------+
|                 |                                    |                  |         Cloudlet State Transition             |
|    Controller   |               Actor                |    Controller    +-----------------------+-----------------------+
|  Current State  |                                    |    Next State    |         CRMv1         |    CRMv2              |
+-------------------------------------------------------------------------------------------------------------------------+
| Ready           | User initiated UpgradeCloudlet     | UpdateRequested  | Ready                 |                       |
+-------------------------------------------------------------------------------------------------------------------------+
| UpdateRequested | CRMv1 response                     |                  | Ready -> UpgradeInit  |                       |
|                 | Controller response                | Updating         |                       |                       |
|                 +-------------------------------------------------------------------------------------------------------+
|                 | CRMv1 error                        |                  | Ready -> Error        |                       |
|                 | Controller response                | UpdateError      |                       |                       |
+-------------------------------------------------------------------------------------------------------------------------+
| Updating        | CRMv1 brings up CRMv2 (success)    |                  | UpgradeInit           | Init                  |
|                 | CRMv2 response                     |                  |                       | Init -> UpgradeDone   |
|                 | Controller response                | UpdateDone       |                       |                       |
|                 +-------------------------------------------------------------------------------------------------------+
|                 | CRMv1 brings up CRMv2 (success)    |                  | UpgradeInit           | Init                  |
|                 | CRMv2 error                        |                  |                       | Init -> Error         |
|                 | Controller response                | UpdateError      |                       |                       |
|                 +-------------------------------------------------------------------------------------------------------+
|                 | CRMv1 brings up CRMv2 (failure)    |                  | UpgradeInit -> Error  |                       |
|                 | Controller response                | UpdateError      |                       |                       |
+-------------------------------------------------------------------------------------------------------------------------+
| UpdateDone      | CRMv2 response                     |                  |                       | UpgradeDone -> Ready  |
|                 | Controller response                | Ready            |                       |                       |
+-----------------+------------------------------------+------------------+-----------------------+-----------------------+"""
SECTIONS = {"Create": CREATE, "Update": UPDATE, "Delete": DELETE}
SAME = {"Deleted": "NotPresent"}
"""The design's other word, once, for an object that does not exist."""
Line = tuple[str, str, str, str]
"""Current state, actor with what it does, next state, remark."""


def lines_of(text: str) -> dict[str, list[Line]]:
    """The lines of each section of the design."""
    found: dict[str, list[Line]] = {}
    section = state = ""
    for line in text.splitlines():
        if line.endswith(":"):
            section = line.removesuffix(":")
        elif line and not line.startswith(("Current State", "=")):
            cells = re.split(r"\s{2,}", line)
            state = cells[0] or state
            after, _, remark = cells[2].partition(" (")
            found.setdefault(section, []).append((state, cells[1], SAME.get(after, after), remark.rstrip(")")))
    return found


def as_designed(row: Row[TrackedState, Actor]) -> Line:
    """A row in the design's words; what the coordinator does has no name there."""
    who = str(row.actor) if row.actor is Actor.CONTROLLER else f"{row.actor} {row.event}"
    return (str(row.state), who, str(row.next), row.remark)


def test_creation_update_and_deletion_are_the_designs_line_by_line() -> None:
    written = lines_of(INSTANCES)
    assert written.keys() == SECTIONS.keys()
    for section, rows in SECTIONS.items():
        assert [as_designed(row) for row in rows] == written[section]


def cells_of(text: str) -> Iterator[list[str]]:
    """The lines of the upgrade's table: current state, actor, next state, CRMv1, CRMv2."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].startswith(("User", "CRM", "Controller")):
            yield cells


def upgrade_as_written() -> tuple[list[tuple[str, str, str]], set[tuple[str, str, str]]]:
    """The coordinator's rows (state, what it hears, next state), and the agents' own moves (who, from, to)."""
    tracked, own, state, heard = [], set(), "", ""
    for current, actor, after, *agents in cells_of(CLOUDLETS):
        state = current or state
        for who, said in zip(("CRMv1", "CRMv2"), agents, strict=True):
            if " -> " in said:
                before, _, then = said.partition(" -> ")
                own.add((who, before, then))
                heard = f"{who} is {then}"
        if actor.startswith("User initiated"):
            tracked.append((state, "upgrade", after))
        elif after:
            tracked.append((state, heard, after))
    return tracked, own


def test_the_upgrade_is_the_designs_row_by_row() -> None:
    tracked, own = upgrade_as_written()
    assert [(str(row.state), row.event, str(row.next)) for row in UPGRADE] == tracked
    moves = {(str(row.actor), str(row.state), str(row.next)) for row in AGENT.steps if row.event != "bring up"}
    assert moves == own
    assert len(tracked) == len(own) + 1 == 7
