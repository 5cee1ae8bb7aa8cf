"""Users of a world: what people may do, how often, at any time. Their steps are never owed: a user may stop anywhere.

users = [
    Edit(ConfigPair, key, spec=[{"size": 1}, {"size": 2}], times=2),
    Script(Delete(ConfigPair, key), Create(pair, when=lambda world: not world.list(ConfigMap))),
]

The first edits twice, whenever it likes. The second deletes and then creates again: a script's steps happen in its
order. ``when`` keeps any step back until its author would take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from attractor.check.errors import SpecError
from attractor.objects.gvk import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attractor.check.world.api.state import WorldState
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource


@dataclass(frozen=True)
class Create:
    """A user who creates an object, also again after it is gone."""

    object: Resource
    """The object."""
    times: int = 1
    """How often at most."""
    when: Callable[[WorldState], bool] | None = None
    """Only in states where this is true."""

    @property
    def label(self) -> str:
        """The user's name in traces and for ``WorldState.budget``."""
        return f"create {described(type(self.object), self.object.key)}"


@dataclass(frozen=True)
class Edit:
    """A user who changes an object, each time to one of the given values."""

    kind: type[Resource]
    """The kind of the object."""
    key: Key | tuple[str, str]
    """Namespace and name."""
    spec: Sequence[Any] = ()
    """Specs to choose from; each is merged into the object's."""
    patch: Sequence[JsonObject] = ()
    """Whole merge patches to choose from, for labels, annotations or a status."""
    subresource: str = ""
    """Such as ``status``."""
    times: int = 1
    """How often at most, altogether."""
    when: Callable[[WorldState], bool] | None = None
    """Only in states where this is true."""

    def __post_init__(self) -> None:
        """Raises ``SpecError`` for one patch where several are meant, and for a key that is none."""
        _require_key(self.key)
        for name, given in (("spec", self.spec), ("patch", self.patch)):
            if isinstance(given, Mapping | str | msgspec.Struct):
                raise SpecError(f"{name}={given!r} of an Edit is one, and a list is wanted: {name}=[{given!r}]")

    @property
    def label(self) -> str:
        """The user's name in traces and for ``WorldState.budget``."""
        return f"edit {described(self.kind, Key(*self.key))}"

    @property
    def patches(self) -> list[JsonObject]:
        """All merge patches that this user may send."""
        specs: list[Any] = [msgspec.to_builtins(each) for each in self.spec]
        return [{"spec": each} for each in specs] + list(self.patch)


@dataclass(frozen=True)
class Delete:
    """A user who deletes an object by name."""

    kind: type[Resource]
    """The kind of the object."""
    key: Key | tuple[str, str]
    """Namespace and name."""
    times: int = 1
    """How often at most."""
    propagation: Literal["Background", "Foreground", "Orphan"] | None = None
    """What happens to dependents: ``Background``, ``Foreground`` or ``Orphan``."""
    uid: str = ""
    """Only while the object has this uid."""
    when: Callable[[WorldState], bool] | None = None
    """Only in states where this is true."""

    def __post_init__(self) -> None:
        """Raises ``SpecError`` for a key that is none."""
        _require_key(self.key)

    @property
    def label(self) -> str:
        """The user's name in traces and for ``WorldState.budget``."""
        return f"delete {described(self.kind, Key(*self.key))}"


def _require_key(key: object) -> None:
    if not isinstance(key, tuple) or len(key) != 2:
        raise SpecError(f"{key!r} is no key of an object; write Key('default', 'name')")


Act: TypeAlias = Create | Edit | Delete
Arguments: TypeAlias = tuple[tuple[str, str], ...]
"""A step in words, by name: ``object``, what is ``set``, and ``as`` which step of which script."""


class Script:
    """A user who acts in this order: each step once, at any moment after the one before it.

    A step that the server refuses, because an object is not there yet or still there, waits until it is accepted.
    Several scripts are several users, whose steps interleave in every way.

    Args:
        *steps: ``Create``, ``Edit`` and ``Delete``.
        name: Tells the scripts of a world apart, in traces and for ``WorldState.budget``.

    Raises:
        SpecError: There is no step, or one is something else.
    """

    def __init__(self, *steps: Act, name: str = "script") -> None:
        if not steps:
            raise SpecError("a script needs steps, as in Script(Create(app), Delete(App, key))")
        for step in steps:
            if not isinstance(step, Create | Edit | Delete):
                raise SpecError(f"a step of a script is Create, Edit or Delete, not {step!r}")
            if step.times != 1:
                raise SpecError(f"`{step.label}` is one step of a script; instead of times={step.times} write it again")
        self.steps, self.name = steps, name

    def __repr__(self) -> str:
        return f"Script({', '.join(step.label for step in self.steps)}, name={self.name!r})"

    @property
    def label(self) -> str:
        """The user's name in traces and for ``WorldState.budget``."""
        return self.name

    @property
    def shorter(self) -> Script | None:
        """The script without its last step; ``None`` when it has only one."""
        return Script(*self.steps[:-1], name=self.name) if len(self.steps) > 1 else None


User: TypeAlias = Act | Script


def all_acts(users: Iterable[User]) -> Iterator[Act]:
    """Everything that these users may do, in whatever order."""
    for user in users:
        yield from user.steps if isinstance(user, Script) else (user,)


def steps_of(user: User) -> Iterator[tuple[int, Act, Arguments, JsonObject | None]]:
    """What a user may do: how many steps come before, the act, its words, and the patch that an edit merges."""
    for place, act in enumerate(all_acts([user])):
        numbered = (("as", f"step {place + 1} of {user.name}"),) if isinstance(user, Script) else ()
        match act:
            case Create(obj):
                yield place, act, (("object", described(type(obj), obj.key)), *numbered), None
            case Edit(kind, key):
                for patch in act.patches:
                    words = ("object", described(kind, Key(*key))), ("set", said(patch))
                    yield place, act, (*words, *numbered), patch
            case Delete(kind, key):
                yield place, act, (("object", described(kind, Key(*key))), *numbered), None


def act_name(act: Act) -> str:
    """What an act is called among the steps of a world."""
    return type(act).__name__.lower()


def said(patch: JsonObject) -> str:
    """A patch in few words: ``spec.size=2``."""
    found: list[str] = []

    def walk(path: str, value: Any) -> None:
        if isinstance(value, dict) and value:
            for name, each in value.items():
                walk(f"{path}.{name}" if path else name, each)
        else:
            found.append(f"{path}={value}")

    walk("", patch)
    return ", ".join(found)


def described(kind: type[Resource], key: Key) -> str:
    """An object in the words of traces: ``configmap default/a``."""
    return f"{kind.gvk.kind.lower()} {key}"
