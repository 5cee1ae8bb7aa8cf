"""The states and actors of the edge operator, and their tables: two actors and a coordinator.

``CLUSTER_INST`` and ``APP_INST`` say how an instance is created, updated and deleted; ``CLOUDLET`` and ``AGENT`` how a
cloudlet's agent is replaced by its next version. The tables are the design, the tests, the admission of the API server
and the specification that is checked; nothing else repeats them.
"""

from __future__ import annotations

from enum import StrEnum

from attractor.lifecycle import Lifecycle, Row, missed, move, override, undo


class TrackedState(StrEnum):
    """State of an instance, or of the upgrade of a cloudlet, as the coordinator has committed it."""

    NOT_PRESENT = "NotPresent"
    CREATE_REQUESTED = "CreateRequested"
    CREATING = "Creating"
    CREATE_ERROR = "CreateError"
    READY = "Ready"
    UPDATE_REQUESTED = "UpdateRequested"
    UPDATING = "Updating"
    UPDATE_ERROR = "UpdateError"
    DELETE_REQUESTED = "DeleteRequested"
    DELETING = "Deleting"
    DELETE_ERROR = "DeleteError"
    DELETE_PREPARE = "DeletePrepare"
    UPDATE_DONE = "UpdateDone"


class CloudletState(StrEnum):
    """State of an agent by its own account, or by the coordinator's where the agent is silent.

    The first three are the coordinator's alone, and never an agent's own: nobody has heard of an agent (NotPresent),
    one has reported but never given a sign of life (Unknown), or gave none for too long (Offline).
    """

    NOT_PRESENT = "NotPresent"
    UNKNOWN = "Unknown"
    OFFLINE = "Offline"
    INIT = "Init"
    READY = "Ready"
    UPGRADE_INIT = "UpgradeInit"
    UPGRADE_DONE = "UpgradeDone"
    ERROR = "Error"


class Actor(StrEnum):
    """Owner of states: the user, the coordinator (Controller), the agent on a cloudlet (CRM), an administrator."""

    USER = "User"
    CONTROLLER = "Controller"
    CRM = "CRM"
    CRM_V1 = "CRMv1"
    CRM_V2 = "CRMv2"
    ADMIN = "Administrator"


T, C = TrackedState, CloudletState
USER, CONTROLLER, CRM, ADMIN = Actor.USER, Actor.CONTROLLER, Actor.CRM, Actor.ADMIN
CRM_V1, CRM_V2 = Actor.CRM_V1, Actor.CRM_V2

CREATE: list[Row[TrackedState, Actor]] = [
    move(T.NOT_PRESENT, USER, "create", T.CREATE_REQUESTED),
    move(T.CREATE_REQUESTED, CRM, "response", T.CREATING),
    missed(T.CREATE_REQUESTED, CRM, "response", T.READY, skips=T.CREATING),
    move(T.CREATE_REQUESTED, CRM, "error", T.CREATE_ERROR),
    move(T.CREATING, CRM, "response", T.READY),
    move(T.CREATING, CRM, "error", T.CREATE_ERROR),
    undo(T.CREATE_ERROR, CONTROLLER, "undo", T.NOT_PRESENT),
]
UPDATE: list[Row[TrackedState, Actor]] = [
    move(T.READY, USER, "update", T.UPDATE_REQUESTED),
    move(T.UPDATE_REQUESTED, CRM, "response", T.UPDATING),
    missed(T.UPDATE_REQUESTED, CRM, "response", T.READY, skips=T.UPDATING),
    move(T.UPDATE_REQUESTED, CRM, "error", T.UPDATE_ERROR),
    move(T.UPDATING, CRM, "response", T.READY),
    move(T.UPDATING, CRM, "error", T.UPDATE_ERROR),
    undo(T.UPDATE_ERROR, CONTROLLER, "undo", T.READY, "commits previous state"),
]
DELETE: list[Row[TrackedState, Actor]] = [
    move(T.READY, USER, "delete", T.DELETE_PREPARE),
    move(T.DELETE_PREPARE, CONTROLLER, "prepared", T.DELETE_REQUESTED),
    move(T.DELETE_REQUESTED, CRM, "response", T.DELETING),
    missed(T.DELETE_REQUESTED, CRM, "response", T.NOT_PRESENT, skips=T.DELETING),
    move(T.DELETE_REQUESTED, CRM, "error", T.DELETE_ERROR),
    move(T.DELETING, CRM, "response", T.NOT_PRESENT),
    move(T.DELETING, CRM, "error", T.DELETE_ERROR),
    undo(T.DELETE_ERROR, CONTROLLER, "undo", T.READY),
]

WAITING_FOR_CRM = (
    T.CREATE_REQUESTED,
    T.CREATING,
    T.UPDATE_REQUESTED,
    T.UPDATING,
    T.DELETE_REQUESTED,
    T.DELETING,
)
OVERRIDES = [
    *override([*WAITING_FOR_CRM, T.CREATE_ERROR, T.DELETE_ERROR, T.DELETE_PREPARE], ADMIN, "give up", T.NOT_PRESENT),
    *override([*WAITING_FOR_CRM, T.CREATE_ERROR, T.UPDATE_ERROR], ADMIN, "declare ready", T.READY),
    *override([*WAITING_FOR_CRM, T.CREATE_ERROR], ADMIN, "delete anyway", T.DELETE_PREPARE),
]


def _instance(name: str, create_min: float, update_min: float, delete_min: float) -> Lifecycle[TrackedState, Actor]:
    limits_min = {
        T.CREATE_REQUESTED: create_min,
        T.CREATING: create_min,
        T.UPDATE_REQUESTED: update_min,
        T.UPDATING: update_min,
        T.DELETE_REQUESTED: delete_min,
        T.DELETING: delete_min,
    }
    return Lifecycle(
        name,
        initial=T.NOT_PRESENT,
        requester=USER,
        rows=[*CREATE, *UPDATE, *DELETE, *OVERRIDES],
        timeouts_s={state: 60 * limit for state, limit in limits_min.items()},
    )


CLUSTER_INST = _instance("ClusterInst", 30, 20, 20)
APP_INST = _instance("AppInst", 30, 30, 20)

BRING_UP: list[Row[TrackedState, Actor]] = [move(T.NOT_PRESENT, CONTROLLER, "CRM is Ready", T.READY)]
UPGRADE: list[Row[TrackedState, Actor]] = [
    move(T.READY, USER, "upgrade", T.UPDATE_REQUESTED),
    move(T.UPDATE_REQUESTED, CONTROLLER, "CRMv1 is UpgradeInit", T.UPDATING),
    move(T.UPDATE_REQUESTED, CONTROLLER, "CRMv1 is Error", T.UPDATE_ERROR),
    move(T.UPDATING, CONTROLLER, "CRMv2 is UpgradeDone", T.UPDATE_DONE),
    move(T.UPDATING, CONTROLLER, "CRMv2 is Error", T.UPDATE_ERROR),
    move(T.UPDATING, CONTROLLER, "CRMv1 is Error", T.UPDATE_ERROR),
    move(T.UPDATE_DONE, CONTROLLER, "CRMv2 is Ready", T.READY),
]
CLOUDLET: Lifecycle[TrackedState, Actor] = Lifecycle(
    "Cloudlet",
    initial=T.NOT_PRESENT,
    requester=USER,
    rows=[*BRING_UP, *UPGRADE, *override([T.UPDATE_ERROR], ADMIN, "repair", T.READY)],
    final=frozenset({T.UPDATE_ERROR}),
    timeouts_s={T.UPDATE_REQUESTED: 1200, T.UPDATING: 1200, T.UPDATE_DONE: 1200},
)

AGENT: Lifecycle[CloudletState, Actor] = Lifecycle(
    "Agent",
    initial=C.INIT,
    requester=CRM_V1,
    rows=[
        move(C.INIT, CRM_V2, "bring up", C.READY),
        move(C.READY, CRM_V1, "prepare", C.UPGRADE_INIT),
        move(C.READY, CRM_V1, "error", C.ERROR),
        move(C.UPGRADE_INIT, CRM_V1, "error", C.ERROR),
        move(C.INIT, CRM_V2, "take over", C.UPGRADE_DONE),
        move(C.INIT, CRM_V2, "error", C.ERROR),
        move(C.UPGRADE_DONE, CRM_V2, "serve", C.READY),
        *override([C.ERROR, C.UPGRADE_INIT], ADMIN, "repair", C.READY),
    ],
    final=frozenset({C.ERROR}),
)
"""One agent's own state. An agent that is new to its cloudlet is CRMv2 until it is Ready, and CRMv1 from then on."""
