"""Columns, cells, and what printers of built-in kinds have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.k8s import catalog
from attractor.objects.labels import LabelSelector, SelectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

NONE, UNSET = "<none>", "<unset>"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Column(NamedTuple):
    """One column; ``about`` is its description, or ``definition#field`` of the field whose description it shows.

    ``text`` is a description that comes from a user, and is never looked up.
    """

    name: str
    type: str = "string"
    about: str = ""
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


def wide(name: str, about: str = "", kind: str = "string") -> Column:
    """A column that is shown only when asked for."""
    return Column(name, kind, about, priority=1)


NAME = Column("Name", about=f"{_META}#name", format="name")
AGE = Column("Age", about=f"{_META}#creationTimestamp")
CREATED_AT = Column("Created At", "date", f"{_META}#creationTimestamp")
CONTAINERS = wide("Containers", "Names of each container in the template.")
IMAGES = wide("Images", "Images referenced by each container in the template.")

Cells = list[Any]


@dataclass(frozen=True, eq=False)
class Printer:
    """The columns of a kind and the cells of its objects, one for each column."""

    columns: tuple[Column, ...]
    cells: Callable[[JsonObject, Clock], Cells]
    conditions: Callable[[JsonObject], list[JsonObject]] | None = None
    """What a row says about itself beyond its cells, if anything."""
    order: Callable[[JsonObject], Any] | None = None
    """By what the rows of a list are sorted, where that is not the list's own order."""

    @cached_property
    def definitions(self) -> Sequence[JsonObject]:
        """The columns as a Table declares them."""
        return [column.definition() for column in self.columns]


PRINTERS: dict[tuple[str, str], Printer] = {}


def prints(
    group: str,
    kind: str,
    *columns: Column,
    conditions: Callable[[JsonObject], list[JsonObject]] | None = None,
    order: Callable[[JsonObject], Any] | None = None,
) -> Callable[[Callable[[JsonObject, Clock], Cells]], Callable[[JsonObject, Clock], Cells]]:
    """Register the decorated function as what fills these columns."""

    def register(cells: Callable[[JsonObject, Clock], Cells]) -> Callable[[JsonObject, Clock], Cells]:
        PRINTERS[group, kind] = Printer(columns, cells, conditions, order)
        return cells

    return register


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


def age_of(obj: JsonObject, clock: Clock) -> str:
    """How long the object has been there."""
    return clock.since(at(obj, "metadata", "creationTimestamp"))


def number(obj: Any, *path: str) -> int:
    """The number at a path; 0 when there is none."""
    found = at(obj, *path)
    return found if isinstance(found, int) else 0


def items(obj: Any, *path: str) -> list[Any]:
    """The list at a path; empty when there is none."""
    found = at(obj, *path)
    return found if isinstance(found, list) else []


def containers(pod_spec: Any) -> tuple[str, str]:
    """The names and images of a pod's containers."""
    listed = items(pod_spec, "containers")
    return ",".join(one.get("name") or "" for one in listed), ",".join(one.get("image") or "" for one in listed)


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


def _default(obj: JsonObject, _clock: Clock) -> Cells:
    return [name_of(obj), at(obj, "metadata", "creationTimestamp") or "0001-01-01T00:00:00Z"]


DEFAULT = Printer((NAME, CREATED_AT), _default)
