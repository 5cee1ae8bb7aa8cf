"""The kind that ``attractor demo`` shows: one Python class, from which its CustomResourceDefinition follows."""

from typing import Annotated

from attractor.objects.resource import Meta, PrinterColumn, Resource, Rule, Struct


class WidgetSpec(Struct):
    """What the user wants."""

    size: Annotated[int, Meta(ge=1, le=100)] = 1
    """How large the widget is."""
    color: str = "red"
    """Its color."""


class Widget(
    Resource,
    group="demo.attractor.dev",
    version="v1",
    printer_columns=(PrinterColumn("Size", ".spec.size", "integer"), PrinterColumn("Color", ".spec.color")),
    rules=(Rule("self.spec.color != 'blue' || self.spec.size > 1", "a blue widget must be larger than 1"),),
):
    """A widget."""

    spec: WidgetSpec
