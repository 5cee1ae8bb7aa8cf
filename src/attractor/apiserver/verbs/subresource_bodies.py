"""Bodies of subresources that are of a kind of their own: Eviction, Binding, TokenRequest."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attractor.apiserver.kinds import metadata as rules
from attractor.apiserver.kinds.builtin.decode import decoder
from attractor.apiserver.kinds.served_kind import Kind
from attractor.apiserver.kinds.strategy import Decoded, Strategy
from attractor.apiserver.request.objects import decode_object
from attractor.k8s import catalog

if TYPE_CHECKING:
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.json_types import JsonObject


class _Shape(Strategy):
    """The shape of a kind that is never stored."""

    def __init__(self, definition: str) -> None:
        super().__init__()
        self._decode = decoder(definition)

    def decode(self, obj: JsonObject) -> Decoded:
        """Types and unknown fields are those of the published kind."""
        return self._decode(obj)


@cache
def kind_named(gvk: GroupVersionKind) -> Kind:
    """A published kind that nothing stores."""
    definition = catalog.definition_of(gvk)
    assert definition is not None, f"{gvk} is no built-in kind"
    return Kind(gvk, "", True, _Shape(definition), catalog.definition(definition), f"{gvk.kind}List")


def read_body(call: Call, gvk: GroupVersionKind) -> tuple[JsonObject, list[str]]:
    """The body as an object of a kind, placed where the request is, and warnings about what was dropped from it."""
    op = call.op
    obj, warnings = decode_object(kind_named(gvk), op.body, op.duplicates, op.write.field_validation)
    rules.check_place(call.kind, obj["metadata"], op.namespace, op.name)
    return obj, warnings


def admit(call: Call, obj: JsonObject) -> None:
    """Let admission change or refuse what is sent to a subresource; it stays where it is."""
    name = obj["metadata"].get("name") or ""
    asked = call.admit(obj, None)
    rules.check_place(call.kind, obj["metadata"], call.op.namespace, name)
    call.admit_finally(asked)
