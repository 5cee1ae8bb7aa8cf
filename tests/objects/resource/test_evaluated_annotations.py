"""Kinds written without ``from __future__ import annotations``: Python evaluates their hints, early or late."""

import sys
from types import ModuleType
from typing import Any, ClassVar

import pytest

from attractor import Resource, Struct
from attractor.objects import type_hints


class Size(Struct):
    """What a plate is made of."""

    width: int
    colour: str = "white"
    limit: ClassVar[int] = 4


class Plate(Resource, group="example.org", version="v1"):
    """A plate."""

    spec: Size
    under: "list[Saucer] | None" = None


class Saucer(Struct):
    """What stands under a plate."""

    depth: int = 1


def test_all_fields_are_there_and_defaults_are_written() -> None:
    written = {
        "apiVersion": "example.org/v1",
        "kind": "Plate",
        "metadata": {"name": "a"},
        "spec": {"width": 3},
        "under": [{}],
    }
    plate = Plate.from_dict(written)
    assert (plate.spec, plate.under) == (Size(width=3, colour="white"), [Saucer()])
    assert plate.to_dict() == {**written, "spec": {"width": 3, "colour": "white"}, "under": [{"depth": 1}]}
    assert Size.limit == 4


def test_the_schema_knows_the_fields() -> None:
    schema = Plate.resource_info.schema
    assert schema is not None
    assert set(schema.properties) == {"apiVersion", "kind", "metadata", "spec", "under"}
    assert set(schema.properties["spec"].properties) == {"width", "colour"}


LATE = """
from attractor import Resource, Struct

class Cup(Resource, group="example.org", version="v1"):
    spec: Handle

class Handle(Struct):
    length: int = 2
"""


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_a_kind_may_name_classes_that_come_later(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not head and sys.version_info < (3, 14):
        with pytest.raises(NameError, match="Handle"):
            exec(LATE, {"__name__": __name__})
        return
    monkeypatch.setitem(sys.modules, "late", ModuleType("late"))
    names = vars(sys.modules["late"])
    exec(head + LATE, names)
    named = {"apiVersion": "example.org/v1", "kind": "Cup", "metadata": {"name": "a"}}
    cup = names["Cup"].from_dict({**named, "spec": {"length": 5}})
    assert cup.spec.length == 5


def test_a_body_is_annotated_further() -> None:
    class Made(type):
        def __new__(mcls, name: str, based: tuple[type, ...], body: dict[str, Any]) -> Any:
            type_hints.annotate_more(body, {"more": str})
            assert type_hints.hints_in(body) == {"one": int, "more": str}
            return super().__new__(mcls, name, based, body)

    class One(metaclass=Made):
        one: int

    assert One.__annotations__ == {"one": int, "more": str}


FOR_TYPE_CHECKERS = """
from typing import TYPE_CHECKING

from attractor import controller
from tests.objects.resource.widgets import Widget

if TYPE_CHECKING:
    from attractor import Context, Key
    from attractor.check import World

@controller(for_=Widget)
async def widgets(ctx: Context, key: Key) -> None: ...

def world(size: int = 1) -> World: ...
"""


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_names_that_only_type_checkers_import_are_no_error(head: str) -> None:
    names: dict[str, Any] = {"__name__": __name__}
    if not head and sys.version_info < (3, 14):
        with pytest.raises(NameError, match="Context"):
            exec(FOR_TYPE_CHECKERS, names)
        return
    exec(head + FOR_TYPE_CHECKERS, names)
    assert names["widgets"].name == "widgets"
    assert type_hints.hints_of(names["world"])["return"] == "World"
    assert list(type_hints.signature_of(names["world"]).parameters) == ["size"]
