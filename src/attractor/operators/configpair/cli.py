"""``attractor demo``: run an operator, let the checker break its naive version, prove the right one."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.terminal import Paint, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from attractor.client import Client

OPERATOR = "attractor.operators.configpair"
TRACES = Path("traces")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor demo configpair`` takes."""
    parser.description = (
        "Run the ConfigPair operator on a cluster in this process, let the checker find what is wrong with "
        "its naive version, carry that out on the runtime, and prove the right one."
    )
    parser.epilog = "example:\n  attractor demo configpair"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Run the demonstration."""
    stage = _Stage()
    say([f"A ConfigPair is two ConfigMaps that hold what its spec says. Its operator: {_source()}"])
    asyncio.run(_run(stage))
    _break(stage)
    _prove(stage)
    say(["", "next: docs/tutorial/first-proof.md tells how to get there; `attractor demo --help` lists more"])
    return 0


class _Stage:
    """Tells what happens: a word, a line, and how long it took."""

    def __init__(self) -> None:
        self.paint = Paint(sys.stdout)

    def say(self, word: str, text: str, colour: str = "bold") -> None:
        """One line."""
        say([f"{self.paint(f'{word:<9}', colour)} {text}"])

    def chapter(self, text: str) -> None:
        """A new part."""
        say(["", self.paint(text, "bold"), ""])


async def _run(stage: _Stage) -> None:
    from attractor.embedded import EmbeddedCluster
    from attractor.operators.configpair.controllers import configpair
    from attractor.operators.configpair.proofs import pair
    from attractor.runtime import Manager

    stage.chapter("1  Run it: the right controller on an API server in this process")
    began = time.perf_counter()
    async with EmbeddedCluster() as cluster, cluster.client() as user, cluster.client() as own:
        address = await cluster.listen()
        await _install(user)
        async with Manager(own, [configpair]).running():
            stage.say("serve", f"a Kubernetes API on {address.url}, the operator beside it, after {_since(began)}")
            await _shown(stage, user, "create", "the pair web with the value red", lambda: user.create(pair("red")))
            await _shown(stage, user, "edit", "its value to blue", lambda: _edit(user, "blue"))
            await _shown(stage, user, "delete", "web-cm1 behind the operator's back", lambda: _delete_child(user))


async def _install(user: Client) -> None:
    from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
    from attractor.operators.configpair.api import ConfigPair
    from attractor.testing import eventually

    await user.create(CustomResourceDefinition.from_dict(ConfigPair.crd()))

    async def is_served() -> bool:
        await user.list(ConfigPair, limit=1)
        return True

    await eventually(is_served)


async def _edit(user: Client, value: str) -> None:
    from attractor.operators.configpair.api import ConfigPair
    from attractor.operators.configpair.proofs import WEB

    await user.patch(ConfigPair, WEB, {"spec": {"value": value}})


async def _delete_child(user: Client) -> None:
    from attractor.k8s.core_v1 import ConfigMap
    from attractor.operators.configpair.controllers import child_key
    from attractor.operators.configpair.proofs import WEB

    await user.delete(ConfigMap, child_key(WEB, "cm1"))


async def _shown(stage: _Stage, user: Client, word: str, text: str, act: Callable[[], Awaitable[object]]) -> None:
    """Do something, wait until the operator has put everything right, and say what is there then."""
    from attractor.k8s.core_v1 import ConfigMap
    from attractor.operators.configpair.api import ConfigPair
    from attractor.operators.configpair.proofs import WEB, as_wanted_in
    from attractor.testing import eventually

    stage.say(word, text)
    began = time.perf_counter()
    await act()

    async def found() -> list[ConfigMap]:
        pairs, maps = await user.list(ConfigPair), await user.list(ConfigMap, WEB.namespace)
        own = [one for one in maps if one.metadata.controller]
        return own if as_wanted_in(pairs, own) else []

    maps = await eventually(found, interval_s=0.001)
    told = ", ".join(f"{one.metadata.name}: {one.data['value']}" for one in maps)
    stage.say("", f"-> {told}  {stage.paint(f'converged after {_since(began)}', 'dim')}", "dim")


def _break(stage: _Stage) -> None:
    from attractor.check import check
    from attractor.check.report.counterexample import save
    from attractor.check.report.verdict_text import story_lines
    from attractor.operators.configpair.proofs import naive_world

    stage.chapter("2  Break the naive one: it stops as soon as the first ConfigMap exists")
    world = naive_world()
    verdict = check(world)
    (found,) = save(verdict, world, TRACES, target=f"{OPERATOR}.proofs:naive_world").values()
    stage.say("violated", f"{verdict.distinct:,} states, {verdict.seconds:.2f} s; the shortest run:", "red")
    say(["", *story_lines(found.found, stage.paint), ""])
    stage.say("runtime", _replayed(world, found.found.trace))
    stage.say("diagram", f"{found.html}  {stage.paint('open it in a browser', 'dim')}")


def _replayed(world: Any, trace: Any) -> str:
    import logging

    from attractor.testing.replay import replay

    logging.getLogger("attractor").addHandler(logging.NullHandler())
    return str(asyncio.run(replay(world, trace)))


def _prove(stage: _Stage) -> None:
    from attractor.check import Delete, Edit, Faults, check
    from attractor.operators.configpair.api import ConfigPair
    from attractor.operators.configpair.proofs import WEB, world

    stage.chapter("3  Prove the right one: the same code, every interleaving")
    edit, delete = Edit(ConfigPair, WEB, spec=[{"value": "blue"}]), Delete(ConfigPair, WEB)
    for happening, judged in (
        ("an edit and a crash at any step", world()),
        ("a crash and a lost answer", world(users=(), faults=Faults(crash=1, lost_answer=1))),
        ("an edit and somebody else's writes", world(users=(edit,), faults=Faults(conflict=1))),
        ("deletion and a crash", world(users=(delete,), faults=Faults(crash=1))),
    ):
        verdict = check(judged).assert_holds(within=("lag", "incarnations"))
        stage.say("holds", f"under {happening}: {verdict.distinct:,} states, {verdict.seconds:.2f} s", "green")
        for bound in verdict.binding:
            stage.say("  within", bound.text, "green")


def _since(began: float) -> str:
    return f"{1000 * (time.perf_counter() - began):.0f} ms"


def _source() -> str:
    from attractor.operators.configpair import controllers

    found = Path(controllers.__file__)
    return str(found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found)
