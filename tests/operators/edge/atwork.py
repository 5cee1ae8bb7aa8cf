"""A cloudlet at work: wishes for apps and clusters on it, and the judge of what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.core_v1 import Node
from attractor.objects.gvk import Key
from attractor.operators.edge.api.types import AppInst, ClusterInst
from attractor.operators.edge.drivers.protocols import Ref
from attractor.testing import eventually
from tests.operators.edge.programs import GATED, WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.operators.edge.api.types import Instance
    from tests.operators.edge.programs import Program, Programs


class AtWork:
    """A cloudlet with a cluster, its agent and a coordinator, which are killed and started again."""

    def __init__(self, programs: Programs, coordinator: Program, agent: Program) -> None:
        self.programs = programs
        self.coordinator = coordinator
        self.agent = agent
        self._count = 0

    def new_name(self) -> str:
        self._count += 1
        return f"inst-{self._count}"

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

    async def wish(self, operation: str, name: str, kind: type[Instance] = AppInst) -> None:
        if operation == "create":
            await (self.programs.create_app(name) if kind is AppInst else self.programs.create_cluster(name))
        elif operation == "update":
            change = {"revision": "2"} if kind is AppInst else {"nodes": 2}
            await self.programs.admin.patch(kind, Key("berlin", name), {"spec": change})
        else:
            await self.programs.admin.delete(kind, Key("berlin", name))

    async def judge(self, operation: str, name: str, *, failed: bool, kind: type[Instance] = AppInst) -> None:
        """Wait until the wish has come to its end, and see that what runs is what was wished for, or was before."""
        ref, expected = Ref(kind.__name__, "berlin", name), {Ref("ClusterInst", "berlin", "one")}
        if operation == "delete":
            await self.programs.wait_gone(kind, name)
        elif operation == "create" and failed:
            status = await self.programs.wait(kind, name, "NotPresent")
            assert status.message == "CreateError: told to fail"
        else:
            number = 2 if operation == "update" and not failed else 1
            is_there = self.serves(name, str(number)) if kind is AppInst else self.has_nodes(name, number)
            await eventually(is_there, within_s=WITHIN_S)
            assert (await self.programs.status(kind, name)).error == ("told to fail" if failed else "")
            expected.add(ref)
        await eventually(lambda: self.programs.running() == expected, within_s=WITHIN_S)
        claims = {name: 0} if ref in expected and kind is AppInst else {}
        await eventually(lambda: self._are_claimed(claims), within_s=WITHIN_S)

    async def _are_claimed(self, claims: dict[str, int]) -> bool:
        """Whether these are the apps in the cluster, and nothing more is claimed."""
        found = (await self.programs.status(ClusterInst, "one")).apps
        assert found == claims, found
        return True

    def has_nodes(self, cluster: str, count: int) -> Callable[[], Awaitable[bool]]:
        """Whether a cluster is Ready, and its own API server says that it has so many nodes."""

        async def is_so() -> bool:
            status = await self.programs.status(ClusterInst, cluster)
            assert status.state == "Ready", status
            config = self.programs.state_dir() / "instances" / f"ClusterInst.berlin.{cluster}" / "kubeconfig"
            async with Client(HttpTransport(load_kubeconfig(config))) as client:
                assert len(await client.list(Node)) == count, status
            return True

        return is_so

    def serves(self, app: str, revision: str) -> Callable[[], Awaitable[bool]]:
        """Whether an app is Ready, and says that it is of a revision."""

        async def is_so() -> bool:
            status = await self.programs.status(AppInst, app)
            assert status.state == "Ready", status
            assert status.current is not None, status
            try:
                answer = await self.programs.ask(status.current.endpoint)
            except OSError as error:
                raise AssertionError(f"{status} does not answer") from error
            assert answer["revision"] == revision, status
            return True

        return is_so

    async def leave(self, name: str, kind: type[Instance] = AppInst) -> None:
        """Take down what a test has left."""
        await self.programs.admin.delete(kind, Key("berlin", name))
        await self.programs.wait_gone(kind, name)
