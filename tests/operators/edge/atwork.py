"""A cloudlet at work: wishes for apps on it, and the judge of what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.edge.driver import Ref
from attractor.operators.edge.types import AppInst, ClusterInst
from attractor.testing import eventually
from tests.operators.edge.programs import GATED, WITHIN_S

if TYPE_CHECKING:
    from tests.operators.edge.programs import Program, Programs


class AtWork:
    """A cloudlet with a cluster, its agent and a coordinator, which are killed and started again."""

    def __init__(self, programs: Programs, coordinator: Program, agent: Program) -> None:
        self.programs = programs
        self.coordinator = coordinator
        self.agent = agent
        self._count = 0

    def new_app(self) -> str:
        self._count += 1
        return f"app-{self._count}"

    async def kill_and_start(self, victims: str) -> None:
        """Kill first, let the rest go on, then start again."""
        if "coordinator" in victims:
            self.coordinator.kill()
        if "agent" in victims:
            self.agent.kill()
        assert self.programs.holds is not None
        self.programs.holds.release()
        self.programs.gate("")
        if "agent" in victims:
            self.agent = self.programs.agent("berlin", *GATED)
        if "coordinator" in victims:
            self.coordinator = await self.programs.coordinator()

    async def kill_upgrade(self, victims: str, cloudlet: str) -> None:
        """The same, with all agents of a cloudlet; the machine starts the one that last took over there."""
        if "coordinator" in victims:
            self.coordinator.kill()
        if "agents" in victims:
            self.programs.end_cloudlet(cloudlet)
        assert self.programs.holds is not None
        self.programs.holds.release()
        if "agents" in victims:
            self.programs.agent(cloudlet)
        if "coordinator" in victims:
            self.coordinator = await self.programs.coordinator()

    async def wish(self, operation: str, app: str) -> None:
        if operation == "create":
            await self.programs.create_app(app, revision="1")
        elif operation == "update":
            await self.programs.admin.merge_patch(AppInst, Key("berlin", app), {"spec": {"revision": "2"}})
        else:
            await self.programs.admin.delete(AppInst, Key("berlin", app))

    async def judge(self, operation: str, app: str, *, failed: bool) -> None:
        """Wait until the wish has come to its end, and see that what runs is what was wished for, or was before."""
        cluster, ref = Ref("ClusterInst", "berlin", "one"), Ref("AppInst", "berlin", app)
        if operation == "delete":
            await self.programs.wait_gone(AppInst, app)
            expected = {cluster}
        elif operation == "create" and failed:
            status = await self.programs.wait(AppInst, app, "NotPresent")
            assert status.message == "CreateError: told to fail"
            expected = {cluster}
        else:
            await eventually(
                lambda: self.serves(app, "2" if operation == "update" and not failed else "1"), within_s=60
            )
            assert (await self.programs.status(AppInst, app)).error == ("told to fail" if failed else "")
            expected = {cluster, ref}
        await eventually(lambda: self.programs.running() == expected, within_s=WITHIN_S)

        async def nothing_is_claimed() -> bool:
            claims = (await self.programs.status(ClusterInst, "one")).apps
            assert claims == ({app: 0} if ref in expected else {}), claims
            return True

        await eventually(nothing_is_claimed, within_s=WITHIN_S)

    async def serves(self, app: str, revision: str) -> bool:
        """Whether an app is Ready, and says that it is of a revision."""
        status = await self.programs.status(AppInst, app)
        assert status.state == "Ready", status
        assert status.current is not None, status
        answer = await self.programs.ask(status.current.endpoint)
        assert answer["revision"] == revision, status
        return True

    async def leave(self, app: str) -> None:
        """Take down what a test has left."""
        await self.programs.admin.delete(AppInst, Key("berlin", app))
        await self.programs.wait_gone(AppInst, app)
