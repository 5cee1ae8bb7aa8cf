"""Columns with their cells, and what printers of built-in kinds have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.k8s import catalog
from attractor.objects.labels import LabelSelector, SelectorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

NONE, UNSET = "<none>", "<unset>"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


Cell = Callable[["JsonObject", "Clock"], Any]
"""What stands in a column for an object, at a moment."""


class Column(NamedTuple):
    """One column, with what fills it.

    ``about`` is its description, or ``definition#field`` of the field whose description it shows; ``text`` is a
    description that comes from a user, and is never looked up.
    """

    name: str
    cell: Cell
    about: str = ""
    type: str = "string"
    priority: int = 0
    format: str = ""
    text: str = ""

    def definition(self) -> JsonObject:
        """The column as a Table declares it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.text or describe(self.about),
            "priority": self.priority,
        }


@cache
def describe(about: str) -> str:
    """The text, or the published description of the field that it names."""
    if not about.startswith("io.k8s.") or "#" not in about:
        return about
    definition, _, field = about.partition("#")
    properties: JsonObject = catalog.document(definition).get("properties") or {}
    return str(properties.get(field, {}).get("description", ""))


def at(obj: Any, *path: str) -> Any:
    """The value at a path; None where the path ends early."""
    for name in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def name_of(obj: JsonObject) -> str:
    """The object's name."""
    return at(obj, "metadata", "name") or ""


def number(obj: Any, *path: str) -> int:
    """The number at a path; 0 when there is none."""
    found = at(obj, *path)
    return found if isinstance(found, int) else 0


def items(obj: Any, *path: str) -> list[Any]:
    """The list at a path; empty when there is none."""
    found = at(obj, *path)
    return found if isinstance(found, list) else []


def of(read: Callable[[JsonObject], Any]) -> Cell:
    """A cell that does not depend on the moment."""
    return lambda obj, _clock: read(obj)


def field(*path: str, otherwise: str = "") -> Cell:
    """What stands at a path; something else when that is absent or empty."""
    return lambda obj, _clock: at(obj, *path) or otherwise


def given(*path: str, absent: str) -> Cell:
    """What stands at a path, unless it is absent; an empty text is there."""
    return lambda obj, _clock: absent if (found := at(obj, *path)) is None else found


def count(*path: str) -> Cell:
    """The number at a path."""
    return lambda obj, _clock: number(obj, *path)


def flag(*path: str) -> Cell:
    """Whether what stands at a path is true."""
    return lambda obj, _clock: bool(at(obj, *path))


def length(*path: str) -> Cell:
    """How many items the list or map at a path has."""
    return lambda obj, _clock: len(at(obj, *path) or ())


def join(*path: str, otherwise: str = "") -> Cell:
    """The texts of the list at a path."""
    return lambda obj, _clock: ",".join(items(obj, *path)) or otherwise


def since(*path: str) -> Cell:
    """How long ago the time at a path was."""
    return lambda obj, clock: clock.since(at(obj, *path))


def wide(name: str, cell: Cell, about: str = "") -> Column:
    """A column that is shown only when asked for."""
    return Column(name, cell, about, priority=1)


NAME = Column("Name", field("metadata", "name"), f"{_META}#name", format="name")
AGE = Column("Age", since("metadata", "creationTimestamp"), f"{_META}#creationTimestamp")
CREATED_AT = Column(
    "Created At",
    field("metadata", "creationTimestamp", otherwise="0001-01-01T00:00:00Z"),
    f"{_META}#creationTimestamp",
    "date",
)


def containers(*pod_spec: str, priority: int = 1) -> tuple[Column, Column]:
    """The names and the images of the containers in a pod's template."""

    def joined(name: str) -> Cell:
        return lambda obj, _clock: ",".join(one.get(name) or "" for one in items(obj, *pod_spec, "containers"))

    return (
        Column("Containers", joined("name"), "Names of each container in the template.", priority=priority),
        Column("Images", joined("image"), "Images referenced by each container in the template.", priority=priority),
    )


@dataclass(frozen=True, eq=False)
class Printer:
    """The columns of a kind, with what its rows say and how they are sorted beyond them."""

    columns: tuple[Column, ...]
    conditions: Callable[[JsonObject], list[JsonObject]] | None = None
    """What a row says about itself beyond its cells, if anything."""
    order: Callable[[JsonObject], Any] | None = None
    """By what the rows of a list are sorted, where that is not the list's own order."""
    prepare: Callable[[JsonObject], JsonObject] | None = None
    """Adds to an object what several cells need."""
    undeclared: tuple[Cell, ...] = ()
    """Cells beyond the columns."""

    @cached_property
    def definitions(self) -> Sequence[JsonObject]:
        """The columns as a Table declares them."""
        return [column.definition() for column in self.columns]

    @cached_property
    def _fill(self) -> tuple[Cell, ...]:
        return (*(column.cell for column in self.columns), *self.undeclared)

    def cells(self, obj: JsonObject, clock: Clock) -> list[Any]:
        """What stands in the columns for an object."""
        known = self.prepare(obj) if self.prepare else obj
        return [cell(known, clock) for cell in self._fill]


PRINTERS: dict[tuple[str, str], Printer] = {}
DEFAULT = Printer((NAME, CREATED_AT))


def prints(
    group: str,
    kind: str,
    *columns: Column,
    conditions: Callable[[JsonObject], list[JsonObject]] | None = None,
    order: Callable[[JsonObject], Any] | None = None,
    prepare: Callable[[JsonObject], JsonObject] | None = None,
    undeclared: tuple[Cell, ...] = (),
) -> None:
    """Register the columns of a kind."""
    PRINTERS[group, kind] = Printer(columns, conditions, order, prepare, undeclared)


def labels(found: Mapping[str, str] | None) -> str:
    """Labels as text."""
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or NONE


def selector(found: JsonObject | None, *, empty: str = NONE, broken: str = "<error>") -> str:
    """A label selector as text; one that is absent matches nothing, and reads as empty."""
    try:
        parsed = LabelSelector.of_object(found)
    except SelectorError:
        return broken
    return str(parsed) if parsed and str(parsed) else empty


def condition(obj: JsonObject, kind: str) -> JsonObject | None:
    """The condition of that type in the object's status."""
    return next((one for one in items(obj, "status", "conditions") if one.get("type") == kind), None)


def is_true(obj: JsonObject, kind: str) -> bool:
    """Whether the object's condition of that type is true."""
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


def clipped(shown: list[str], limit: int, total: int, *, empty: str = "") -> str:
    """The first few of many."""
    text = ",".join(shown[:limit])
    if total > limit and len(shown) >= limit:
        return f"{text} + {total - limit} more..."
    return text or empty
