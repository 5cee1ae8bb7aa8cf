"""Which engine explores: the native kernel where it was built, the Python engine otherwise or on request."""

from __future__ import annotations

from typing import Literal

from attractor.check.errors import SpecError
from attractor.check.exploration import Exploration, Settings
from attractor.check.liveness import FairGraph
from attractor.check.model import Model
from attractor.check.search import Search

EngineName = Literal["auto", "native", "python"]


def explore(model: Model, settings: Settings, engine: EngineName = "auto") -> tuple[Exploration, str]:
    """Explore ``model`` and return what was found, with the name of the engine that found it."""
    if engine not in {"auto", "native", "python"}:
        raise SpecError(f"there is no engine {engine!r}; choose auto, native or python")
    return Search(model, settings).run(), "python"


def fair_graph(exploration: Exploration) -> FairGraph:
    """The explored graph with the model's fairness, ready for queries."""
    initial = [index for index in range(len(exploration.model.initial)) if exploration.parent(index) is None]
    return FairGraph(exploration.graph(), initial, exploration.model.fairness)
