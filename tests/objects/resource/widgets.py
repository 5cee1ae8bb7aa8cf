"""A kind that uses every sort of field, for the tests beside it."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Any, Literal

from attractor.objects.resource import (
    UNSET,
    Condition,
    Doc,
    Duration,
    IntOrString,
    ListMap,
    Meta,
    PrinterColumn,
    Quantity,
    Resource,
    Rule,
    Scale,
    Struct,
    UnsetType,
)


class Colour(enum.Enum):
    """A colour that paint comes in."""

    RED = "Red"
    BLUE = "Blue"


class Port(Struct):
    """One port."""

    container_port: Annotated[int, Meta(ge=1, le=65535)]
    protocol: str = "TCP"


class WidgetSpec(Struct, rules=[Rule("self.size <= 100 || has(self.note)", message="large widgets need a note")]):
    """What is wanted."""

    size: Annotated[int, Meta(ge=0)] = 1
    """How many.

    None means one.
    """
    mode: Literal["Fast", "Safe"] = "Safe"
    colour: Colour | None = None
    ports: Annotated[list[Port], ListMap("containerPort", "protocol")] = []  # noqa: RUF012
    by_name: dict[str, Port] | None = None
    timeout: Duration | None = None
    not_before: datetime | None = None
    secret: bytes | None = None
    memory: Quantity | None = None
    target: IntOrString | None = None
    note: Annotated[str, Meta(max_length=20, pattern="^[a-z ]*$"), Doc("Why.")] | None = None
    cleared: str | UnsetType | None = UNSET
    free: dict[str, Any] | None = None
    anything: Any = None


class WidgetStatus(Struct):
    """What is there."""

    replicas: int | None = None
    conditions: Annotated[list[Condition], ListMap("type")] | None = None


class Widget(
    Resource,
    group="example.org",
    version="v1",
    short_names=["wd"],
    categories=["all"],
    printer_columns=[PrinterColumn("Size", ".spec.size", "integer")],
    scale=Scale(".spec.size", ".status.replicas"),
    selectable_fields=[".spec.mode"],
):
    """A widget."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


class Tree(Struct):
    """Contains itself."""

    children: list[Tree] | None = None
