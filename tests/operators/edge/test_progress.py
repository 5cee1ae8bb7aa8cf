"""What people are shown: states, steps and messages, as the agents say them; and nobody needs them."""

from pathlib import Path

import pytest

from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.api.states import CloudletState, TrackedState
from attractor.operators.edge.api.types import (
    AppInst,
    AppInstSpec,
    Cloudlet,
    CloudletStatus,
    ClusterInst,
    ClusterInstStatus,
    InstanceStatus,
    Progress,
)
from attractor.operators.edge.cli.status import Line, lines_of, news, table
from attractor.testing import eventually
from tests.operators.edge.holds import Holds
from tests.operators.edge.programs import WITHIN_S, Programs

T = TrackedState


def meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="berlin")


def found(operation: int = 1) -> dict[str, list[object]]:
    status = CloudletStatus(state=T.READY, cloudlet_state=CloudletState.OFFLINE, message="agent 1 serves")
    cluster = ClusterInstStatus(state=T.CREATING, operation=1, message="agent 1 is at work")
    app = InstanceStatus(state=T.NOT_PRESENT, message="ClusterInst one not ready, it is Creating")
    progress = Progress(
        metadata=meta("clusterinst-one"), operation=operation, step=2, steps=2, message="adds node 1 of 3"
    )
    return {
        "Cloudlet": [Cloudlet(metadata=meta("berlin"), status=status)],
        "ClusterInst": [ClusterInst(metadata=meta("one"), status=cluster)],
        "AppInst": [AppInst(metadata=meta("shop"), spec=AppInstSpec(cluster="one"), status=app)],
        "Progress": [progress],
    }


def test_the_view_shows_states_and_how_far_the_agent_has_come() -> None:
    assert table(lines_of(found())) == (
        "CLOUDLET  KIND         NAME    STATE            STEP  DOING\n"
        "berlin    Cloudlet     berlin  Ready (Offline)        agent 1 serves\n"
        "berlin    ClusterInst  one     Creating         2/2   adds node 1 of 3\n"
        "berlin    AppInst      shop    NotPresent             ClusterInst one not ready, it is Creating"
    )


def test_progress_of_an_operation_that_is_over_is_not_shown() -> None:
    assert "adds node" not in table(lines_of(found(operation=7)))


def test_only_what_changes_is_told_and_what_is_gone() -> None:
    before = lines_of(found())
    after = [line._replace(state="Ready", step="") if line.name == "one" else line for line in before[:2]]
    known = {line.about: line for line in before}
    assert news(known, after, [0] * 6) == [
        "berlin  ClusterInst  one  Ready    adds node 1 of 3",
        "berlin  AppInst  shop  gone",
    ]
    assert Line("berlin", "AppInst", "shop", "gone").about in known


@pytest.mark.slow
async def test_steps_are_shown_while_an_agent_works_and_go_with_their_instance(tmp_path: Path) -> None:
    async with Programs(tmp_path, Holds()) as programs:
        assert programs.holds is not None
        await programs.coordinator()
        await programs.started()
        view = programs.program("view", "edge", "status", "--watch", "--kubeconfig", str(programs.admin_config))
        await eventually(lambda: "agent 1 serves" in view.log.read_text(), within_s=WITHIN_S)
        await programs.create_cluster(nodes=3)
        await programs.wait(ClusterInst, "one", "Ready")

        async def said() -> bool:
            progress = await programs.admin.get(Progress, Key("berlin", "clusterinst-one"))
            expected = ["1/2 starts its API server", *(f"2/2 adds node {number} of 3" for number in (1, 2, 3))]
            assert (progress.messages, progress.operation) == (expected, 1)
            return True

        await eventually(said, within_s=WITHIN_S)
        await eventually(lambda: "ClusterInst  one         Ready" in view.log.read_text(), within_s=WITHIN_S)
        assert "Creating                1/2   starts its API server" in view.log.read_text()

        programs.holds.lose_progress = True
        await programs.create_app()
        await programs.wait(AppInst, "shop", "Ready")
        assert [one.metadata.name for one in await programs.admin.list(Progress)] == ["clusterinst-one"]
        programs.holds.lose_progress = False
        await programs.admin.delete(AppInst, Key("berlin", "shop"))
        await programs.wait_gone(AppInst, "shop")
        await programs.admin.delete(ClusterInst, Key("berlin", "one"))
        await programs.wait_gone(ClusterInst, "one")

        async def nothing_is_left() -> bool:
            return await programs.admin.list(Progress) == []

        await eventually(nothing_is_left, within_s=WITHIN_S)
