"""``Reconciler``: a base for controllers that hold their objects with a finalizer and write one thing at a time.

    class Pairs(Reconciler[ConfigPair]):
        kind = ConfigPair

        async def sync(self, ctx, obj):
            obj.status.ready = True          # a copy in hand; the base writes what changed

        async def clean_up(self, ctx, obj):
            ...

Guarantees: the finalizer is stored before ``sync`` first runs, and removed only after ``clean_up`` answered None; each
run writes the object at most once, the status before everything else, and only if it is still the one that was read;
a conflict is no error: the object comes again after 100 ms to 5 s, and is read past the cache until a write succeeds;
an object that is gone needs nothing more, unless ``gone`` says so. Whatever predicate the controller's ``For`` has,
the changes by which an object gets the finalizer, or is to be deleted while it has it, pass: ``sync`` and ``clean_up``
wait for them.

Assumptions: ``sync`` and ``clean_up`` may run again after any crash or conflict, so what they do outside is idempotent
or remembered (``ctx.remember``). Errors other than Conflict and NotFound of the final write are the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from attractor.objects.errors import Conflict, NotFound
from attractor.objects.resource import Resource
from attractor.runtime.predicates import newly_held
from attractor.runtime.result import Result
from attractor.runtime.toolkit.finalizers import add_finalizer, finalizer_name, has_finalizer, remove_finalizer

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.runtime.context import Context
    from attractor.runtime.predicates import Predicate

R = TypeVar("R", bound=Resource)

FIRST_CONFLICT_S = 0.1
MAX_CONFLICT_S = 5.0
MORE_TO_WRITE_S = 0.001


@dataclass(frozen=True)
class Conflicts:
    """Count of writes of an object in a row that lost against others; kept in memory until one succeeds."""

    count: int

    @property
    def delay_s(self) -> float:
        """Return how long to wait before the next try."""
        return min(FIRST_CONFLICT_S * 2.0 ** min(self.count - 1, 16), MAX_CONFLICT_S)


class Reconciler(Generic[R]):
    """Base class of controllers that manage things outside the API: finalizer, status and conflicts, handled once.

        class Buckets(Reconciler[Bucket]):
            kind = Bucket

            async def sync(self, ctx, obj):
                obj.status.ready = True          # change the copy in hand; the base class writes what changed

            async def clean_up(self, ctx, obj):
                ...

        buckets = controller(Buckets())

    Guarantees: the finalizer is stored before ``sync`` first runs, and removed only after ``clean_up`` returned
    ``None``. Each run writes the object at most once, the status before everything else, and only if it is still the
    one that was read. A conflict is no error: the object comes again after 100 ms to 5 s, and is read past the cache
    until a write succeeds. Changes that ``sync`` and ``clean_up`` wait for pass whatever predicate the controller's
    ``For`` has.

    Assumptions: ``sync`` and ``clean_up`` may run again after any crash or conflict, so what they do outside is
    idempotent or remembered (``ctx.remember``). Errors other than ``Conflict`` and ``NotFound`` of the final write are
    raised.
    """

    kind: ClassVar[type[Resource]]
    """The class of the reconciled kind; required."""
    finalizer: ClassVar[str | None] = ""
    """The finalizer's name; empty for the usual one of the kind, ``None`` for a controller with nothing to clean up."""

    @property
    def hears_always(self) -> Predicate | None:
        """The changes that must pass whatever predicate the controller has: those that concern its finalizer."""
        name = self._finalizer_name()
        return None if name is None else newly_held(name)

    def _finalizer_name(self) -> str | None:
        return finalizer_name(self.kind) if self.finalizer == "" else self.finalizer

    async def sync(self, ctx: Context, obj: R) -> Result | None:
        """Bring the world a step closer to the spec. Override it.

        Args:
            ctx: The context of this reconcile.
            obj: A copy that is yours: what you change in it is written afterwards.

        Returns:
            When to run again although nothing changed; ``None`` for not at all.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `async def sync(self, ctx, obj)`")

    async def clean_up(self, ctx: Context, obj: R) -> Result | None:
        """Undo what ``sync`` did outside the API; called while the object is being deleted. Override it.

        Returns:
            ``None`` when everything is cleaned up, and the finalizer goes; a ``Result`` when it takes longer.
        """
        return None

    async def gone(self, ctx: Context, key: Key) -> Result | None:
        """Called when there is no such object, as far as the cache knows; by default it does nothing.

        Override it to find what is left outside when somebody removed the finalizer by hand.
        """
        return None

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        """Run once for one object: read it, call ``sync``, ``clean_up`` or ``gone``, and save what changed."""
        conflicts = await ctx.recall(Conflicts)
        obj = await ctx.find(self.kind, key, cached=conflicts is None)
        if obj is None:
            if conflicts is not None:
                await ctx.forget(Conflicts)
            return await self.gone(ctx, key)
        changed = obj.deep_copy()
        result = await self._change(ctx, changed)  # type: ignore[arg-type]  # of this reconciler's kind
        return await self.save(ctx, obj, changed, result)  # type: ignore[arg-type]

    async def _change(self, ctx: Context, obj: R) -> Result | None:
        name = self._finalizer_name()
        if obj.metadata.is_deleting:
            if name is None or not has_finalizer(obj, name):
                return None
            result = await self.clean_up(ctx, obj)
            if result is None:
                remove_finalizer(obj, name)
            return result
        if name is not None and add_finalizer(obj, name):
            return None
        return await self.sync(ctx, obj)

    async def save(self, ctx: Context, original: R, changed: R, result: Result | None = None) -> Result | None:
        """Write what differs between two copies, at most one part: the status, or everything else.

        Args:
            ctx: The context of this reconcile.
            original: The object as it was read.
            changed: The changed copy.
            result: What to return when nothing is left to write.

        Returns:
            When to run again: ``result``, or sooner after a conflict or when the other part must still be written.
        """
        statuses = getattr(original, "status", None), getattr(changed, "status", None)
        separate = "status" in type(original).resource_info.subresources
        is_status = separate and statuses[0] != statuses[1]
        rest = changed
        if is_status:
            rest = changed.deep_copy()
            rest.status = statuses[0]  # type: ignore[attr-defined]  # kinds with a status subresource have the field
        is_rest = rest != original
        if not is_status and not is_rest:
            await self._settle(ctx, original)
            return result
        try:
            await ctx.patch_from(original, changed, subresource="status" if is_status else "")
        except Conflict:
            known = await ctx.recall(Conflicts)
            conflicts = Conflicts(1 if known is None else known.count + 1)
            await ctx.remember(conflicts)
            return Result(requeue_after_s=conflicts.delay_s)
        except NotFound:
            await self._settle(ctx, original)
            return None
        await self._settle(ctx, original)
        if is_status and is_rest:
            return Result(requeue_after_s=MORE_TO_WRITE_S)
        return result

    async def _settle(self, ctx: Context, original: R) -> None:
        if await ctx.recall(Conflicts) is not None:
            await ctx.forget(Conflicts)
