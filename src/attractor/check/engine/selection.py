"""Which engine explores: the native kernel where it was built, the Python engine otherwise or on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from attractor.check.engine.liveness import FairGraph, Lasso, Query
from attractor.check.engine.search import Search
from attractor.check.engine.walks import DepthFirst
from attractor.check.errors import SpecError

try:
    from attractor.check.engine.native import NativeFairGraph, NativeSearch

    HAS_KERNEL = True
except ImportError:
    HAS_KERNEL = False
    NativeFairGraph = NativeSearch = None  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.check.engine.exploration import Exploration, Settings
    from attractor.check.engine.model import Model

EngineName = Literal["auto", "native", "python"]
Order = Literal["breadth", "depth"]


_NOT_BUILT = (
    "the native engine was not built; install a C compiler, and attractor again with "
    "`pip install --force-reinstall --no-cache-dir`"
)


class Runs(Protocol):
    """An explored graph with fairness: where whole runs are searched."""

    initial: list[int]
    size: int

    def find(self, query: Query) -> Lasso | None:
        """A fair run that answers the query; None if there is none."""
        ...

    def fair_from(self, allowed: bytearray) -> bytearray:
        """The states from which some fair run stays among ``allowed``."""
        ...

    @property
    def core(self) -> bytearray:
        """The states to which some fair run comes back again and again."""
        ...

    def shortest(self, query: Query, goal: bytearray) -> tuple[int, ...] | None:
        """The shortest run that goes from a start through allowed states to ``goal``."""
        ...

    def ever_enabled(self) -> set[int]:
        """The fairness conditions that are enabled anywhere."""
        ...


def explore(
    model: Model,
    settings: Settings,
    engine: EngineName = "auto",
    *,
    order: Order = "breadth",
    is_saved: bool = False,
    resume: Path | None = None,
    origin: str = "",
) -> tuple[Exploration, str]:
    """Explore ``model`` and return what was found, with the name of the engine that found it.

    ``resume`` names the file of a search to go on with, if it was saved from the same ``origin``; ``is_saved`` says
    that this one may have to be saved, which not every engine can.
    """
    if engine not in {"auto", "native", "python"}:
        raise SpecError(f"there is no engine {engine!r}; choose auto, native or python")
    if engine == "native" and not HAS_KERNEL:
        raise SpecError(_NOT_BUILT)
    if (is_saved or resume) and (engine == "python" or order == "depth" or not HAS_KERNEL):
        raise SpecError("only the native engine's breadth-first search can be saved and resumed")
    if (is_saved or resume) and model.is_composed:
        raise SpecError(f"{model.name}: the search of a world cannot be saved: what its controllers do cannot be kept")
    if order == "depth":
        if engine == "native":
            raise SpecError("depth-first search is done by the python engine; leave `engine` at auto")
        return DepthFirst(model, settings).run(), "python"
    if engine == "python" or not HAS_KERNEL:
        return Search(model, settings).run(), "python"
    search = NativeSearch(model, settings)  # pyright: ignore[reportOptionalCall]
    if resume:
        search.resume(resume, origin)
    search.run()
    return search, "native"


def kept(exploration: Exploration, path: Path, origin: str) -> str:
    """Write a search that a bound has stopped to a file; answers why it could not be written, or nothing."""
    if not exploration.bound:
        return ""
    try:
        exploration.save(path, origin)  # type: ignore[attr-defined]  # ``explore`` took the engine that can
    except SpecError as problem:
        return str(problem)
    return ""


def engine_advice(asked: EngineName) -> list[str]:
    """What would make the search faster, where the faster engine is missing."""
    return [f"{_NOT_BUILT}; large searches are then many times faster"] if asked == "auto" and not HAS_KERNEL else []


def runs_of(exploration: Exploration, *, needs_core: bool = False) -> Runs:
    """The explored graph with the model's fairness, ready for queries; ``core`` will be one if it is needed."""
    if HAS_KERNEL and isinstance(exploration, NativeSearch):  # pyright: ignore[reportArgumentType]
        return NativeFairGraph(exploration, needs_core=needs_core)  # pyright: ignore[reportOptionalCall, reportArgumentType]
    return FairGraph(exploration.graph(), exploration.initial(), exploration.model.fairness)
