"""One script, run on the model of a container runtime and on a real one: both answer the same.

What is compared is what controllers build on: states, names, labels, networks, which calls are refused and how. Ids and
times are the runtime's own matter.
"""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from attractor.operators.local.containers.engine import ContainerEngine
from attractor.operators.local.containers.model import ContainerRuntimeModel
from attractor.operators.local.containers.runtime import (
    Attachment,
    ContainerOrder,
    ExecOrder,
    FoundContainer,
    FoundExec,
    FoundNetwork,
    FoundVolume,
    RuntimeProblem,
)
from tests.operators.podman import IMAGE, Podman

LABELS = (("key", "default/web"), ("uid", "one"))


class Script:
    """Calls of a runtime, each with its answer in words that do not depend on the runtime."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self.answers: list[tuple[str, Any]] = []

    async def ask(self, name: str, *args: Any, **options: Any) -> Any:
        try:
            answer = getattr(self._runtime, name)(*args, **options)
            answer = await answer if inspect.isawaitable(answer) else answer
        except RuntimeProblem as problem:
            answer = problem
        self.answers.append((name, plain(answer)))
        return answer


def plain(answer: Any) -> Any:
    """What an answer says, without ids and times."""
    match answer:
        case FoundContainer():
            over = answer.exit_code is not None
            return answer.name, answer.state, answer.labels, answer.networks, over, answer.started_at is not None
        case FoundNetwork():
            return answer.name, answer.labels, answer.driver
        case FoundVolume() | FoundExec():
            return answer
        case RuntimeProblem():
            return type(answer).__name__
        case tuple():
            return [plain(one) for one in answer]
        case str():
            return "some text"
        case _:
            return answer


def order(name: str = "web", **fields: Any) -> ContainerOrder:
    """A container that runs until it is told to stop."""
    command = ("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done")
    return ContainerOrder(name, IMAGE, command=command, **{"labels": LABELS, "networks": (), **fields})


async def life_of_a_container(script: Script) -> None:
    await script.ask("find", "web")
    await script.ask("labelled", "uid", "one")
    await script.ask("provide_image", order())
    identity = await script.ask("create", order())
    await script.ask("create", order())
    await script.ask("find", "web")
    await script.ask("find", identity)
    await script.ask("labelled", "uid", "one")
    await script.ask("labelled", "uid", "two")
    await script.ask("stop", identity, 1)
    await script.ask("find", "web")
    await script.ask("remove", identity)
    await script.ask("remove", identity)
    await script.ask("start", identity)
    await script.ask("stop", identity, 1)
    again = await script.ask("create", order())
    await script.ask("start", identity)
    await script.ask("start", again)
    await script.ask("start", again)
    await script.ask("find", "web")
    await script.ask("remove", again)
    await script.ask("stop", again, 1)
    await script.ask("stop", again, 1)
    await script.ask("find", "web")
    await script.ask("start", again)
    await script.ask("find", "web")
    await script.ask("stop", again, 1)
    await script.ask("remove", again)
    await script.ask("labelled", "uid", "one")


async def networks_and_volumes(script: Script) -> None:
    await script.ask("find_network", "inner")
    await script.ask("create", order(networks=(Attachment("inner"),)))
    await script.ask("create_network", "inner", LABELS, ipv6=False, internal=False)
    await script.ask("create_network", "inner", (), ipv6=False, internal=False)
    await script.ask("create_network", "outer", (), ipv6=False, internal=True)
    await script.ask("find_network", "inner")
    identity = await script.ask("create", order(networks=(Attachment("inner", ("alias",)),)))
    await script.ask("start", identity)
    await script.ask("find", "web")
    await script.ask("remove_network", "inner")
    await script.ask("connect", "outer", identity, ("other",))
    await script.ask("connect", "outer", identity, ("other",))
    await script.ask("connect", "nothing", identity, ())
    await script.ask("find", "web")
    await script.ask("disconnect", "outer", identity)
    await script.ask("disconnect", "outer", identity)
    await script.ask("find", "web")
    await script.ask("stop", identity, 1)
    await script.ask("remove", identity)
    await script.ask("connect", "outer", identity, ())
    await script.ask("disconnect", "outer", identity)
    for name in ("inner", "outer", "inner"):
        await script.ask("remove_network", name)
    await script.ask("find_network", "inner")
    await script.ask("find_volume", "data")
    await script.ask("create_volume", "data", LABELS)
    await script.ask("create_volume", "data", LABELS)
    await script.ask("find_volume", "data")
    await script.ask("remove_volume", "data")
    await script.ask("remove_volume", "data")


async def commands_inside(script: Script) -> None:
    await script.ask("create_exec", "nobody", ExecOrder(("true",)))
    identity = await script.ask("create", order())
    await script.ask("create_exec", identity, ExecOrder(("true",)))
    await script.ask("start", identity)
    command = await script.ask("create_exec", identity, ExecOrder(("sh", "-c", "echo done")))
    await script.ask("find_exec", command)
    await script.ask("run_exec", command)
    await script.ask("find_exec", command)
    await script.ask("run_exec", command)
    await script.ask("find_exec", "nobody")
    await script.ask("run_exec", "nobody")
    await script.ask("stop", identity, 1)
    await script.ask("remove", identity)


@pytest.mark.parametrize(
    "run", [life_of_a_container, networks_and_volumes, commands_inside], ids=lambda run: run.__name__
)
async def test_the_model_answers_as_the_runtime_does(run: Callable[[Script], Any], podman: Podman) -> None:
    async with ContainerEngine(podman.socket) as engine:
        real, model = Script(engine), Script(ContainerRuntimeModel("key"))
        await run(real)
        await run(model)
    assert model.answers == real.answers
