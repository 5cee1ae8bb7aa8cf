"""Breakpoints in the API server: an object is held in a state for as long as a test needs, so that a kill lands in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attractor.apiserver.admission.plugin import Plugin
from attractor.objects.errors import ServiceUnavailable
from attractor.operators.edge.api.types import GROUP

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes


@dataclass
class Held:
    """Nobody moves this object out of this state; ``was_tried`` once somebody wanted to."""

    kind: str
    namespace: str
    name: str
    state: str
    agent: str = ""
    """With a Cloudlet: the version whose own state is held, instead of the tracked one."""
    was_tried: bool = field(default=False, init=False)

    def stops(self, kind: str, namespace: str, name: str, old: Any, new: Any) -> bool:
        if (kind, namespace, name) != (self.kind, self.namespace, self.name):
            return False
        before, after = self._state(old), self._state(new)
        return before == self.state and after != before

    def _state(self, obj: Any) -> str:
        status = (obj or {}).get("status") or {}
        if self.agent:
            return str((status.get("agents") or {}).get(self.agent, {}).get("state", "NotPresent"))
        return str(status.get("state", "NotPresent"))


class Holds(Plugin):
    """Answers 503 to whoever would move what is held."""

    def __init__(self) -> None:
        self._held: list[Held] = []
        self.lose_progress = False
        """Whether what agents say of their progress is lost."""

    def hold(self, held: Held) -> Held:
        self._held.append(held)
        return held

    def release(self) -> None:
        """Let everything go on."""
        self._held.clear()

    def validate(self, attributes: Attributes) -> None:
        kind = attributes.kind.gvk
        if kind.group != GROUP or attributes.obj is None:
            return
        if self.lose_progress and kind.kind == "Progress":
            raise ServiceUnavailable("lost")
        for held in self._held:
            if held.stops(kind.kind, attributes.op.namespace, attributes.name, attributes.old, attributes.obj):
                held.was_tried = True
                raise ServiceUnavailable(f"held in {held.state}")
