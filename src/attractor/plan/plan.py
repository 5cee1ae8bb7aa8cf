"""``Plan``: a graph with an action at each vertex, shown (``diff``) or carried out (``execute``).

Expected flow: a snapshot is taken, the wanted objects are put into an ``ObjectGraph``, a ``Chain`` decides the actions,
and the plan is executed inside the reconcile: leaves first, what does not depend on each other at once, the root last.

Guarantees: a cycle is refused before anything is written. An object is touched only after all that it depends on was
done, and is no longer awaited. A failure leaves alone what depends on it, and nothing else; what was done stays done.
Executing twice does nothing more: what exists needs no creation if it is ours, what is gone needs no deletion, and an
update or deletion meets only the very object (its uid) that the plan was made for.

Assumptions: every kind of the plan is watched by the controller, so that a plan made from a stale cache is made again.

Errors: ``NameTaken``; ``Conflict`` when somebody else was faster; whatever the requests raised, joined in an
``ExceptionGroup`` when there are several kinds of failure.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from attractor.objects.errors import AlreadyExists, Conflict, Invalid, NotFound
from attractor.patch.merge_patch import merge_patch_between
from attractor.plan.comparison import marked, overlay
from attractor.plan.difference import Change, change_of
from attractor.plan.object_graph import Action
from attractor.runtime import Result, effects
from attractor.runtime.toolkit.owners import is_controlled_by

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.plan.chain import Chain, Requeue
    from attractor.plan.object_graph import ObjectGraph, Ref, Vertex
    from attractor.runtime import Context
    from attractor.runtime.effects import Effect


class NameTaken(Exception):
    """An object of the wanted name is there, and somebody else's; the text names both."""


class Outcome(StrEnum):
    """Outcome of one vertex."""

    DONE = "done"
    NOTHING = "nothing to do"
    STALE = "stale"
    """The object is not what the snapshot showed; the watch will tell, and the plan is made again."""
    FAILED = "failed"
    BLOCKED = "blocked"
    """Something that it depends on is stale, failed or blocked: it was not touched."""
    WAITING = "waiting"
    """It was done and is awaited still, or it depends on such a vertex and was not touched. The root does not wait."""


class Step(NamedTuple):
    """Progress: one vertex is over."""

    vertex: Vertex
    outcome: Outcome
    number: int
    """How many vertices are over, this one included."""
    total: int


Progress: TypeAlias = Callable[[Step], None]


class Plan:
    """A graph of actions, in order; make it with ``Plan.build``."""

    def __init__(self, graph: ObjectGraph, requeue: Requeue | None = None) -> None:
        self.graph = graph
        self.requeue = requeue

    @classmethod
    def build(cls, graph: ObjectGraph, chain: Chain) -> Plan:
        """Apply a chain. Raises what a transformer raised, and ``DagError`` on a cycle: then there is no plan."""
        transformed = chain.apply(graph)
        transformed.graph.dag.validate()
        return cls(transformed.graph, transformed.requeue)

    @property
    def changes(self) -> list[Vertex]:
        """The vertices with something to do, in the order of work."""
        return [vertex for wave in self.graph.waves() for vertex in wave if vertex.action is not Action.NONE]

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return all(vertex.action is Action.NONE for vertex in self.graph)

    def diff(self) -> list[Change]:
        """Return the changes, field by field, in the order of work; nothing is asked of anybody."""
        return [change_of(vertex) for vertex in self.changes]

    async def execute(self, ctx: Context, progress: Progress | None = None) -> Result | None:
        """Carry the plan out; answers when to come again. See the module for guarantees and errors."""
        self.graph.dag.validate()
        run = _Run(self.graph, progress)
        for wave in self.graph.waves():
            await run.do(ctx, wave)
        run.raise_failures()
        if self.requeue is not None:
            return Result(requeue_after_s=self.requeue.after_s)
        return Result(requeue=True) if run.is_stale else None


class _Run:
    """One execution of a plan."""

    def __init__(self, graph: ObjectGraph, progress: Progress | None) -> None:
        self._graph = graph
        self._progress = progress
        self._outcomes: dict[Ref, Outcome] = {}
        self._failures: list[Exception] = []

    @property
    def is_stale(self) -> bool:
        return Outcome.STALE in self._outcomes.values()

    async def do(self, ctx: Context, wave: list[Vertex]) -> None:
        """One wave: all that is not blocked, at once."""
        ready = []
        for vertex in wave:
            obstacle = self._obstacle(vertex)
            if obstacle is not None:
                self._settle(vertex, obstacle)
            elif vertex.action is Action.NONE:
                self._settle(vertex, Outcome.NOTHING)
            else:
                ready.append(vertex)
        answers = await _ask(ctx, [effect_of(vertex) for vertex in ready])
        exist = []
        for vertex, answer in zip(ready, answers, strict=True):
            if vertex.action is Action.CREATE and isinstance(answer, AlreadyExists):
                exist.append(vertex)
            else:
                self._judge(vertex, answer)
        found = await _ask(ctx, [ctx.find(*vertex.ref, cached=False) for vertex in exist])
        for vertex, answer in zip(exist, found, strict=True):
            self._judge_existing(vertex, answer)

    def _obstacle(self, vertex: Vertex) -> Outcome | None:
        """Return why it is not this vertex' turn."""
        below = {self._outcomes[ref] for ref in self._graph.dag.dependencies(vertex.ref)}
        if below & {Outcome.STALE, Outcome.FAILED, Outcome.BLOCKED}:
            return Outcome.BLOCKED
        if Outcome.WAITING in below and vertex.ref != self._graph.root:
            return Outcome.WAITING
        return None

    def _judge(self, vertex: Vertex, answer: Any) -> None:
        answer = _of_another_object(answer) or answer
        is_gone = vertex.action is Action.DELETE and isinstance(answer, NotFound | Conflict)
        if is_gone or not isinstance(answer, Exception):
            self._settle(vertex, Outcome.DONE)
        elif isinstance(answer, NotFound):
            self._settle(vertex, Outcome.STALE)
        else:
            self._fail(vertex, answer)

    def _judge_existing(self, vertex: Vertex, found: Any) -> None:
        """A creation met an object: ours, and the cache has not seen it yet; or somebody else's."""
        if isinstance(found, Exception):
            self._fail(vertex, found)
        elif found is None or found.metadata.is_deleting:
            self._settle(vertex, Outcome.STALE)
        elif is_controlled_by(found, self._graph.root_object):
            self._settle(vertex, Outcome.DONE)
        else:
            owner = found.metadata.controller
            whose = f"{owner.kind} {owner.name}" if owner is not None else "nobody"
            self._fail(
                vertex,
                NameTaken(
                    f"{vertex.ref} cannot be created for {self._graph.root}: there is one already, controlled by "
                    f"{whose}; delete or rename it"
                ),
            )

    def _fail(self, vertex: Vertex, error: Exception) -> None:
        self._failures.append(error)
        self._settle(vertex, Outcome.FAILED)

    def _settle(self, vertex: Vertex, outcome: Outcome) -> None:
        if vertex.is_awaited and outcome in {Outcome.DONE, Outcome.NOTHING}:
            outcome = Outcome.WAITING
        self._outcomes[vertex.ref] = outcome
        if self._progress is not None:
            self._progress(Step(vertex, outcome, len(self._outcomes), len(self._graph)))

    def raise_failures(self) -> None:
        """Raise what went wrong, if anything did."""
        if not self._failures:
            return
        serious = [error for error in self._failures if not isinstance(error, Conflict)]
        if len(serious) > 1:
            raise ExceptionGroup(f"the plan for {self._graph.root} failed in {len(serious)} places", serious)
        raise (serious or self._failures)[0]


def _of_another_object(answer: Any) -> Conflict | None:
    """A patch that names the uid of a predecessor: Kubernetes calls it invalid; it means that somebody was faster."""
    if not isinstance(answer, Invalid):
        return None
    return Conflict(answer.message) if any(cause.get("field") == "metadata.uid" for cause in answer.causes) else None


async def _ask(ctx: Context, asked: list[Effect[Any]]) -> tuple[Any, ...]:
    """Each one's answer or exception; a single effect is asked for by itself."""
    if not asked:
        return ()
    if len(asked) > 1:
        return await ctx.gather(*asked)
    try:
        return (await asked[0],)
    except Exception as error:  # judged, not hidden: the caller decides what it means for the plan
        return (error,)


def effect_of(vertex: Vertex) -> Effect[Any]:
    """The request that carries a vertex' action out."""
    match vertex.action:
        case Action.CREATE:
            return effects.Create(marked(vertex.object))
        case Action.PATCH:
            return effects.Patch(*vertex.ref, patch_of(vertex))
        case Action.UPDATE:
            return effects.Update(_whole(vertex))
        case Action.DELETE:
            return effects.Delete(*vertex.ref, uid=_before(vertex).metadata.uid)
        case Action.STATUS:
            return _status_patch(vertex)
        case Action.NONE:
            raise ValueError(f"{vertex.ref} has nothing to do, so there is no request for it")


def patch_of(vertex: Vertex) -> JsonObject:
    """Return the patch from the stored object to the one to be written, guarded by the uid."""
    before = _before(vertex)
    body = cast("JsonObject", merge_patch_between(before.to_dict(), overlay(before, vertex.object).to_dict()))
    return {**body, "metadata": {**(body.get("metadata") or {}), "uid": before.metadata.uid}}


def _whole(vertex: Vertex) -> Resource:
    """The object exactly as it should be, guarded by the version and the uid of the one that was read."""
    before, whole = _before(vertex), vertex.object.deep_copy()
    whole.metadata.resource_version, whole.metadata.uid = before.metadata.resource_version, before.metadata.uid
    return whole


def _status_patch(vertex: Vertex) -> Effect[Any]:
    before = _before(vertex)
    parts = [{"status": obj.to_dict().get("status") or {}} for obj in (before, vertex.object)]
    body = cast("JsonObject", merge_patch_between(*parts))
    guarded = {**body, "metadata": {"resourceVersion": before.metadata.resource_version, "uid": before.metadata.uid}}
    return effects.Patch(*vertex.ref, guarded, subresource="status")


def _before(vertex: Vertex) -> Resource:
    assert vertex.before is not None, f"{vertex.ref} is changed, so it must be in the snapshot"
    return vertex.before
