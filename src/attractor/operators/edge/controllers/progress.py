"""Progress: what an agent says while it works, step by step, for people only.

A driver calls ``tell`` with each step. What it said of an operation is kept in a ``Progress`` object beside the
instance, written by the agent alone and in the background. It never holds the work, and it may be lost: each message
has all that was said before it, and nobody decides by it. It is no part of the instance's status, so that it cannot
get in the way of those who do decide; it goes with its instance.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, OwnerReference
from attractor.operators.edge.api.intents import status_of
from attractor.operators.edge.api.types import AppInst, ClusterInst, Progress
from attractor.operators.edge.drivers.protocols import APP, Step
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from attractor.client import Client
    from attractor.operators.edge.api.types import Instance
    from attractor.operators.edge.drivers.protocols import Ref

KEPT = 20
"""How many messages of an operation are kept."""
MANAGER = "edge-agent"


def progress_name(ref: Ref) -> str:
    """The name of the Progress of an instance."""
    return f"{ref.kind.lower()}-{ref.name}"


class ProgressLog:
    """Progress of the operations at work, and which of it was not told yet."""

    def __init__(self) -> None:
        self._steps: dict[Ref, list[Step]] = {}
        self._news: dict[Ref, None] = {}

    def note(self, ref: Ref, step: Step) -> None:
        """One more step; the first of an operation begins anew."""
        known = self._steps.get(ref, [])
        if step.number == 1 and known and known[-1].number > 1:
            known = []
        self._steps[ref] = [*known, step][-KEPT:]
        self._news[ref] = None

    def take(self) -> tuple[Ref, tuple[Step, ...]] | None:
        """Return an instance with news, and all that was said of it; None when there is none."""
        if not self._news:
            return None
        ref = next(iter(self._news))
        del self._news[ref]
        return ref, tuple(self._steps[ref])


def as_progress(obj: Instance, ref: Ref, steps: tuple[Step, ...]) -> Progress:
    """Return the progress as an object that goes with its instance."""
    owner = OwnerReference(api_version=obj.api_version, kind=obj.kind, name=obj.metadata.name, uid=obj.metadata.uid)
    meta = ObjectMeta(name=progress_name(ref), namespace=ref.namespace, owner_references=[owner])
    return Progress(
        metadata=meta,
        operation=status_of(obj).operation,
        step=steps[-1].number,
        steps=steps[-1].of,
        message=steps[-1].text,
        messages=[str(step) for step in steps],
    )


class ProgressTeller:
    """Runs beside an agent's controllers; ``tell`` is what a driver calls."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._said = ProgressLog()
        self._wake = asyncio.Event()
        self._log = FieldLogger("attractor.edge.progress")

    def tell(self, ref: Ref, step: Step) -> None:
        """Say that a step begins; never waits."""
        self._said.note(ref, step)
        self._wake.set()

    async def run(self) -> None:
        """Write down what is said, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (news := self._said.take()) is not None:
                try:
                    await self._write(*news)
                except ApiError as error:
                    self._log.info("a progress message was lost", error=error.message)

    async def _write(self, ref: Ref, steps: tuple[Step, ...]) -> None:
        kind: Any = AppInst if ref.kind == APP else ClusterInst
        obj = await self._client.get(kind, Key(ref.namespace, ref.name))
        await self._client.apply(as_progress(obj, ref, steps), field_manager=MANAGER, force=True)
