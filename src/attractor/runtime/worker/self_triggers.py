"""Objects that reconcile themselves: each reconcile writes something, hears of that write, and so runs again.

    found.status.measured_at = str(await ctx.now())     # another one every time
    await ctx.update_status(found)                       # whose event runs the reconcile again, at once

Nothing fails, so nobody is told, while server and controller do nothing else. An object that is reconciled often is
*suspected*: from then on it is noted what its reconciles write (the object itself, its children, anything), and which
versions' events brought it back. A run to which nothing but own writes led is *self-triggered*; many of them in a row
are told in the log, and each is counted. A run that a timer, a source or somebody else's write led to begins anew, so
an object that is only busy, or that goes through a number of states, is not told of.

What is not suspected costs a count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.objects.gvk import GroupVersionKind
from attractor.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.cache.handlers import InformerEvent
    from attractor.objects.gvk import Key
    from attractor.runtime.effects import Effect
    from attractor.runtime.observability.field_logger import FieldLogger
    from attractor.wire.prometheus import Counter

    Perform: TypeAlias = Callable[[Effect[Any]], Awaitable[Any]]

WINDOW_S = 60.0
"""In which time runs are counted."""
SUSPECT_RUNS = 30
"""How many runs of an object in that time make it suspected."""
TELL_RUNS = 10
"""How many self-triggered runs in a row are told of."""
TELL_AGAIN_S = 60.0
"""How often an object is told of."""
ADVICE = (
    "write only what has changed (leave times and measurements out, or round them), or declare "
    "for_=For({kind}, when=generation_changed) so that a change of its status does not run it"
)
_WRITES = (effects.Create, effects.Update, effects.Patch)


Written: TypeAlias = tuple[str, str, str, str]
"""Kind, namespace, name, and the version that was stored; none where the object was deleted."""


class Suspect:
    """An object that is reconciled often: what its last runs wrote, and what has led to the next one."""

    __slots__ = ("_before", "heard", "in_a_row", "told_s", "written")

    def __init__(self) -> None:
        self._before: set[Written] = set()
        """What the run before wrote, of which the last run may have heard too late."""
        self.written: set[Written] = set()
        self.heard: set[Written] = set()
        self.in_a_row = 0
        self.told_s: float | None = None

    def begin(self) -> bool:
        """A run begins; answers whether nothing but own writes led to it."""
        is_own = bool(self.heard) and self.heard <= (self.written | self._before)
        self.heard, self._before, self.written = set(), self.written, set()
        self.in_a_row = self.in_a_row + 1 if is_own else 0
        return is_own


class SelfTriggers:
    """Watches over the objects of one controller."""

    def __init__(self, controller: str, kind: str, log: FieldLogger, counted: Counter) -> None:
        self._controller = controller
        self._kind = kind
        self._log = log
        self._counted = counted
        counted.add(controller, by=0)
        self._runs: dict[Key, int] = {}
        self._since_s = 0.0
        self.suspects: dict[Key, Suspect] = {}

    def begin(self, key: Key, now_s: float) -> Suspect | None:
        """A run of an object begins; answers the object if it is suspected, and its writes are to be ``noted``."""
        if now_s - self._since_s >= WINDOW_S:
            often = {key for key, runs in self._runs.items() if runs >= SUSPECT_RUNS}
            self.suspects = {key: suspect for key, suspect in self.suspects.items() if key in often}
            self._runs = {}
            self._since_s = now_s
        runs = self._runs[key] = self._runs.get(key, 0) + 1
        suspect = self.suspects.get(key)
        if suspect is None:
            if runs < SUSPECT_RUNS:
                return None
            suspect = self.suspects[key] = Suspect()
        if suspect.begin():
            self._counted.add(self._controller)
            if suspect.in_a_row >= TELL_RUNS:
                self._tell(key, suspect, runs, now_s)
        return suspect

    def hear(self, key: Key, event: InformerEvent[Any], kind: str) -> None:
        """An event of an object leads to the next run of a suspect."""
        of = event.encoded
        version = "" if event.type == "delete" else of.resource_version
        self.suspects[key].heard.add((kind, of.key.namespace, of.key.name, version))

    def _tell(self, key: Key, suspect: Suspect, runs: int, now_s: float) -> None:
        if suspect.told_s is None or now_s - suspect.told_s >= TELL_AGAIN_S:
            suspect.told_s = now_s
            self._log.warning(
                "an object reconciles itself: each run writes what makes it run again",
                key=str(key),
                kind=self._kind,
                runs=runs,
                in_s=round(now_s - self._since_s, 1),
                hint=ADVICE.format(kind=self._kind),
            )


def noted(
    suspect: Suspect, perform: Callable[[Effect[Any]], Awaitable[Any]]
) -> Callable[[Effect[Any]], Awaitable[Any]]:
    """The same answers to effects; the versions that writes lead to are noted."""

    async def performed(effect: Effect[Any]) -> Any:
        answer = await perform(effect)
        _note(suspect, effect, answer)
        return answer

    return performed


def _note(suspect: Suspect, effect: Effect[Any], answer: Any) -> None:
    if isinstance(effect, effects.Gather):
        for one, given in zip(effect.effects, answer, strict=True):
            _note(suspect, one, given)
    elif isinstance(answer, Exception):
        return
    elif isinstance(effect, effects.Delete):
        kind = effect.kind.kind if isinstance(effect.kind, GroupVersionKind) else effect.kind.gvk.kind
        suspect.written.add((kind, effect.key.namespace, effect.key.name, ""))
    elif isinstance(effect, _WRITES):
        made: dict[str, Any] = answer if isinstance(answer, dict) else answer.to_dict()
        meta = made["metadata"]
        suspect.written.add((made["kind"], meta.get("namespace", ""), meta["name"], meta["resourceVersion"]))
