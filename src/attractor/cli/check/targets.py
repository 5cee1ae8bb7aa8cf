"""From ``MODULE[:SPEC]`` and ``--const NAME=VALUE`` to something that can be checked.

``MODULE`` is a module's dotted name or a path to a Python file. ``SPEC`` names a ``Spec`` class, something that is
ready to be checked (a specification with its constants, a composition), or a function that makes one from keyword
arguments. Without ``SPEC`` the module must make the choice plain: it has one ``Spec`` class, or one that is named as
the module is (``two_phase_commit`` and ``TwoPhaseCommit``); or it has no class and one world, or one named ``world``.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from attractor.check import Composition, Spec
from attractor.check.spec.declarations import Constant
from attractor.cli.operator.python_modules import imported
from attractor.cli.terminal import UsageError
from attractor.objects.type_hints import hints_of, signature_of
from attractor.runtime.observability.own_lines import own_line, what

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import TypeGuard

    from attractor.check import World
    from attractor.check.api import Checkable


def load(target: str, constants: Iterable[str] = ()) -> Checkable:
    """The specification that ``target`` names, with its constants set."""
    name, _, attribute = target.partition(":")
    module = imported(name)
    found = _named(module, attribute) if attribute else prominent(module, name)
    return _made(found, attribute or getattr(found, "__name__", name), [_pair(each) for each in constants])


def spelled(target: str, constants: Iterable[str] = ()) -> str:
    """``MODULE:NAME``, also where the name was left out; a function's constants follow it as arguments."""
    name, _, attribute = target.partition(":")
    module = imported(name)
    found = _named(module, attribute) if attribute else prominent(module, name)
    if not attribute:
        attribute = next(each for each, value in vars(module).items() if value is found)
    given = [_pair(each) for each in constants] if inspect.isfunction(found) else []
    defaults = {each: one.default for each, one in signature_of(found).parameters.items()} if given else {}
    said = ", ".join(f"{each}={value(each, text, defaults.get(each))!r}" for each, text in given)
    return f"{name}:{attribute}" + (f"({said})" if said else "")


def close(word: str, known: Iterable[str]) -> str:
    """A hint that names what was probably meant, or everything there is."""
    names = sorted(set(known))
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(f'`{each}`' for each in near)}?"
    return f"there is {', '.join(f'`{each}`' for each in names)}" if names else "there is none"


def specs_of(module: ModuleType) -> dict[str, type[Spec]]:
    """The ``Spec`` classes that ``module`` itself defines."""
    return {
        name: each
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, Spec) and each.__module__ == module.__name__
    }


def is_world(spec: object) -> TypeGuard[World]:
    """Return whether ``spec`` is a world, without loading what worlds need: only a world's module loads that."""
    loaded = sys.modules.get("attractor.check.world.api.world")
    return loaded is not None and isinstance(spec, loaded.World)


def worlds_of(module: ModuleType) -> dict[str, Any]:
    """The worlds that ``module`` has, and its functions that say that they make one of nothing."""
    from attractor.check import World  # specifications alone do not need it

    def makes_one(each: Any) -> bool:
        return (
            inspect.isfunction(each)
            and each.__module__ == module.__name__
            and hints_of(each).get("return") in {"World", World}
            and all(one.default is not one.empty for one in signature_of(each).parameters.values())
        )

    return {name: each for name, each in vars(module).items() if isinstance(each, World) or makes_one(each)}


def _prominent_world(module: ModuleType, spelled: str) -> Any:
    """The one world that a module is about: its only one, or the one named ``world``."""
    found = worlds_of(module)
    if not found:
        raise UsageError(
            f"module `{module.__name__}` has no Spec class and no world",
            "write `class Lift(Spec): ...` or `world = World(...)` in it, or name what to check: "
            "`attractor check MODULE:NAME`",
        )
    if len(found) > 1 and "world" not in found:
        raise UsageError(
            f"module `{module.__name__}` has several worlds: {', '.join(found)}",
            f"name one: `attractor check {spelled}:{next(iter(found))}`",
        )
    chosen = "world" if "world" in found else next(iter(found))
    _say_choice(chosen, found, spelled)
    return found[chosen]


def prominent(module: ModuleType, spelled: str) -> Any:
    """The one specification or world that a module is about; ``spelled`` is how the module was named."""
    found = specs_of(module)
    if not found:
        return _prominent_world(module, spelled)
    stem = module.__name__.rpartition(".")[2].replace("_", "")
    named = [name for name in found if name.lower() == stem.lower()]
    if len(found) > 1 and not named:
        raise UsageError(
            f"module `{module.__name__}` has several specifications: {', '.join(found)}",
            f"name one: `attractor check {spelled}:{next(iter(found))}`",
        )
    chosen = named[0] if named else next(iter(found))
    _say_choice(chosen, [*found, *_worlds_beside(module)], spelled)
    return found[chosen]


def _worlds_beside(module: ModuleType) -> Iterable[str]:
    """The worlds of a module that has specifications, too; none where worlds were not even loaded."""
    return worlds_of(module) if "attractor.check.world.api.world" in sys.modules else ()


def _say_choice(chosen: str, found: Iterable[str], spelled: str) -> None:
    """Say what else could have been meant: a verdict on one of several must not be taken for one on all."""
    others = [name for name in found if name != chosen]
    if others:
        listed = ", ".join(f"`{name}`" for name in others)
        print(f"note: this is `{chosen}`; for {listed} write `{spelled}:{others[0]}`", file=sys.stderr)


def _named(module: ModuleType, attribute: str) -> Any:
    found = getattr(module, attribute, None)
    if found is None:
        candidates = {
            **specs_of(module),
            **{n: v for n, v in vars(module).items() if isinstance(v, Spec | Composition)},
            **worlds_of(module),
        }
        raise UsageError(f"module `{module.__name__}` has no specification `{attribute}`", close(attribute, candidates))
    return found


def _made(found: Any, name: str, pairs: list[tuple[str, str]]) -> Checkable:
    if isinstance(found, type) and issubclass(found, Spec):
        return found(**_constants(found, pairs))
    if isinstance(found, Spec):
        return type(found)(**{**found.constants, **_constants(type(found), pairs)})
    if hasattr(found, "compile") and not isinstance(found, type):
        if pairs and is_world(found):
            return _bounded(found, name, pairs)
        if pairs:
            raise UsageError(f"`{name}` has no constants to set", "set them where its parts are made")
        ready: Checkable = found
        return ready
    if inspect.isfunction(found):
        known = signature_of(found).parameters
        given = {each: value(each, text, known[each].default) for each, text in pairs if each in known}
        others = [pair for pair in pairs if pair[0] not in known]
        made = _called(found, name, given)
        if others and not is_world(made):
            constant, _ = others[0]
            raise UsageError(f"`{name}` takes no `{constant}`", close(constant, known))
        return _made(made, name, others)
    raise UsageError(
        f"`{name}` is not a specification", "name a Spec class, a composition, or a function that makes one"
    )


def _bounded(world: World, name: str, pairs: list[tuple[str, str]]) -> World:
    """A world with other bounds."""
    known = world.bounds.as_dict()
    for constant, _ in pairs:
        if constant not in known:
            raise UsageError(f"`{name}` takes no `{constant}`; its bounds can be set", close(constant, known))
    return world.but(bounds=world.bounds.but(**{each: value(each, text, known[each]) for each, text in pairs}))


def _called(make: Any, name: str, given: dict[str, Any]) -> Any:
    """Call a function of the author's; its errors are told with the line that they come from."""
    try:
        return make(**given)
    except Exception as problem:
        line = own_line(problem)
        if not line:
            raise
        raise UsageError(
            f"`{name}` failed before there was anything to check: {what(problem)}", f"look at {line}"
        ) from problem


def _constants(spec: type[Spec], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    known = {name: each.default for name, each in spec.declared.items() if isinstance(each, Constant)}
    for name, _ in pairs:
        if name not in known:
            raise UsageError(f"{spec.__name__} has no constant `{name}`", close(name, known))
    return {name: value(name, text, known[name]) for name, text in pairs}


def _pair(text: str) -> tuple[str, str]:
    name, separator, given = text.partition("=")
    if not separator or not name:
        raise UsageError(f"`--const {text}` is not NAME=VALUE", "for example `--const workers=4`")
    return name.strip(), given.strip()


def value(name: str, text: str, default: Any) -> Any:
    """``text`` as a value of the same kind as ``default``: numbers, true/false, text, Python literals, or ``a,b,c``."""
    if isinstance(default, str) and text[:1] not in {"'", '"'}:
        return text
    if isinstance(default, bool) and text.lower() in {"true", "false", "yes", "no", "1", "0"}:
        return text.lower() in {"true", "yes", "1"}
    try:
        given = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        given = tuple(text.split(",")) if isinstance(default, tuple | frozenset) else text
    if isinstance(default, frozenset) and isinstance(given, tuple | list | set):
        return frozenset(given)
    if isinstance(given, list):
        given = tuple(given)
    known = default is not None and default is not inspect.Parameter.empty
    if known and (not isinstance(given, type(default)) or isinstance(given, bool) != isinstance(default, bool)):
        kinds = {int: "a whole number", bool: "true or false", tuple: "a tuple", float: "a number", str: "text"}
        kind = kinds.get(type(default), f"a {type(default).__name__}")
        raise UsageError(f"constant `{name}` is {kind}; {text!r} is not", f"its default is {default!r}")
    return given
