"""Typed resources: one Python class is the kind, its annotations are its schema, and no field is ever lost.

    class WidgetSpec(Struct):
        '''What the user wants.'''
        size: Annotated[int, Meta(ge=1)] = 1
        '''How many.'''

    class Widget(Resource, group="example.org", version="v1"):
        '''A widget.'''
        spec: WidgetSpec

    Widget.crd()              # the CustomResourceDefinition
    Widget.from_yaml(text)    # checked, typed, unknown fields kept

Read ``struct`` first (what a typed object is and what it writes), then ``kind``, then ``structural`` (from annotations
to schema) and ``scheme`` (from kinds to classes).
"""

from msgspec import UNSET, Meta, UnsetType

from attractor.objects.resource.codec import DecodeError, convert, decode, deep_copy, encode, to_builtins
from attractor.objects.resource.crd import crd_for
from attractor.objects.resource.kind import KindError, PrinterColumn, Resource, Scale
from attractor.objects.resource.markers import (
    Checked,
    Doc,
    EmbeddedResource,
    Format,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    PreserveUnknown,
    Rule,
)
from attractor.objects.resource.metadata import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    ListMeta,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
    TypeMeta,
)
from attractor.objects.resource.scalars import Duration, IntOrString, MicroTime, Quantity
from attractor.objects.resource.scheme import Scheme, SchemeError
from attractor.objects.resource.struct import Struct, field
from attractor.objects.resource.structural import SchemaError, schema_of

__all__ = [
    "UNSET",
    "Checked",
    "Condition",
    "DecodeError",
    "Doc",
    "Duration",
    "EmbeddedResource",
    "Format",
    "IntOrString",
    "KindError",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListAtomic",
    "ListMap",
    "ListMeta",
    "ListSet",
    "ManagedFieldsEntry",
    "MapAtomic",
    "Meta",
    "MicroTime",
    "ObjectMeta",
    "OwnerReference",
    "PreserveUnknown",
    "PrinterColumn",
    "Quantity",
    "Resource",
    "Rule",
    "Scale",
    "SchemaError",
    "Scheme",
    "SchemeError",
    "Struct",
    "TypeMeta",
    "UnsetType",
    "convert",
    "crd_for",
    "decode",
    "deep_copy",
    "encode",
    "field",
    "schema_of",
    "to_builtins",
]
