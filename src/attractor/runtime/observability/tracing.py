"""OpenTelemetry spans, where the program has set OpenTelemetry up; otherwise nothing, at no cost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager


class Tracer(Protocol):
    """The part of an OpenTelemetry tracer that is used."""

    def start_as_current_span(self, name: str, *, attributes: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """A span around a block."""
        ...


def configured_tracer() -> Tracer | None:
    """OpenTelemetry's tracer if the program has imported OpenTelemetry; it is never imported for its own sake."""
    trace = sys.modules.get("opentelemetry.trace")
    return None if trace is None else trace.get_tracer("attractor")
