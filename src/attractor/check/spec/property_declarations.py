"""The words for properties, the same for specifications and for worlds of controllers.

    class Lift(Spec):
        @always
        def closed_while_moving(self) -> bool: ...        # a function of the specification

    World(..., properties=[always(no_two_primaries)])     # a function of a ``WorldState``

``always``, ``sometimes``, ``always_step``, ``eventually``, ``eventually_always`` and ``always_eventually`` may stand in
both; ``leads_to``, ``until``, ``refines`` and parameters that range over sets belong to specifications. What only
worlds have (``eventually_stable``, ``quiesces``, ``always_step_by``) is in ``world.api.properties``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from attractor.check.errors import SpecError, author_line
from attractor.check.spec.declarations import (
    Function,
    Henceforth,
    LivenessProperty,
    Refinement,
    SafetyProperty,
    decorator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.world.api.state import WorldState


@overload
def always(holds: Callable[[WorldState], bool], /, *, name: str = "") -> SafetyProperty[Any]: ...
@overload
def always(function: Function, /) -> Function: ...
@overload
def always(*, name: str = "", **over: Any) -> Callable[[Function], Function]: ...
def always(function: Any = None, /, *, name: str = "", **over: Any) -> Any:
    """Declare an invariant: true in every reachable state, for all values of the parameters."""
    decorate = decorator(SafetyProperty, over, kind="always", title=_title(name))
    return decorate(function) if function else decorate


@overload
def sometimes(holds: Callable[[WorldState], bool], /, *, name: str = "") -> SafetyProperty[Any]: ...
@overload
def sometimes(function: Function, /) -> Function: ...
@overload
def sometimes(*, name: str = "", when: Any = True, **over: Any) -> Callable[[Function], Function]: ...
def sometimes(function: Any = None, /, *, name: str = "", when: Any = True, **over: Any) -> Any:
    """Declare that some reachable state makes it true (for some values of the parameters), ``when`` a switch is on.

    It shows that the interesting case was reached.
    """
    decorate = decorator(SafetyProperty, over, kind="sometimes", when=when, title=_title(name))
    return decorate(function) if function else decorate


@overload
def always_step(
    holds: Callable[[WorldState, WorldState], bool],
    /,
    *,
    name: str = "",
    actions: Iterable[str] = (),
    except_for: Iterable[str] = (),
) -> SafetyProperty[Any]: ...
@overload
def always_step(function: Function, /) -> Function: ...
@overload
def always_step(
    *, name: str = "", actions: Iterable[str] = (), except_for: Iterable[str] = ()
) -> Callable[[Function], Function]: ...
def always_step(
    function: Any = None, /, *, name: str = "", actions: Iterable[str] = (), except_for: Iterable[str] = ()
) -> Any:
    """Declare a property of steps between reachable states: of ``actions`` only, or of all ``except_for`` some.

    In a specification ``self`` is the state before, and ``step`` has ``after``, ``action`` and ``arguments``. In a
    world it is a function of the state before and the state after.
    """
    settings = {"actions": tuple(actions), "except_for": tuple(except_for), "title": _title(name)}
    decorate = decorator(SafetyProperty, {}, kind="always_step", **settings)
    return decorate(function) if function else decorate


def refines(abstract: Any) -> Callable[[Function], Function]:
    """Declare an abstraction function: it returns the variables of ``abstract`` (a dictionary) for the state at hand.

    The property holds if the initial states map to initial states, and every step maps to a step of ``abstract`` or to
    no change. ``abstract`` is a specification, or a function of this one that makes it.
    """
    return decorator(Refinement, {}, abstract=abstract)


def eventually(promise: Any, /, *, name: str = "", **over: Any) -> LivenessProperty:
    """Every fair run reaches a state where ``promise`` is true."""
    return LivenessProperty("eventually", (promise,), over, _title(name))


def leads_to(premise: Any, promise: Any, /, *, name: str = "", **over: Any) -> LivenessProperty:
    """Whenever ``premise`` is true, ``promise`` is true then or later."""
    return LivenessProperty("leads_to", (premise, promise), over, _title(name))


def henceforth(premise: Any, /) -> Henceforth:
    """From here on always ``premise``: for the left side of ``leads_to``."""
    return Henceforth(premise)


def eventually_always(promise: Any, /, *, name: str = "", **over: Any) -> LivenessProperty:
    """Every fair run reaches a point after which ``promise`` stays true."""
    return LivenessProperty("eventually_always", (promise,), over, _title(name))


def always_eventually(promise: Any, /, *, name: str = "", **over: Any) -> LivenessProperty:
    """``promise`` is true again and again, for ever."""
    return LivenessProperty("always_eventually", (promise,), over, _title(name))


def until(hold: Any, promise: Any, /, *, name: str = "", **over: Any) -> LivenessProperty:
    """``promise`` comes true at last, and ``hold`` is true until then."""
    return LivenessProperty("until", (hold, promise), over, _title(name))


def _title(name: object) -> str:
    if not isinstance(name, str):
        raise SpecError(f"{author_line()}: name={name!r} is no text; a parameter of a property is not called `name`")
    return name
