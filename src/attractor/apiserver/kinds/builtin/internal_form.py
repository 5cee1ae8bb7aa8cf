"""Objects as Go's internal types print them, which is how kube-apiserver shows whole values in refusals.

Internal types have no JSON tags, so their fields are written with Go's names, in Go's order, absent ones included:

>>> shown({"type": "Foo"}, "apps.DeploymentStrategy")
{'Type': 'Foo', 'RollingUpdate': None}
>>> print(difference({"image": "a"}, {"image": "b"}, "core.EphemeralContainer").split("Command")[0], end="")
@@ -1,6 +1,6 @@
 {
  "Name": "",
- "Image": "a",
+ "Image": "b",
  "

The types come from ``internaltypes.json``, which ``tools/internal_types.go`` writes.
"""

from __future__ import annotations

import difflib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attractor.objects.field import InOrder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.jsontypes import JsonObject

_ZEROS: Mapping[str, Any] = {"string": "", "bool": False, "int": 0, "intstr": 0, "quantity": "0"}
_OF_THE_SPEC = {
    "HostNetwork": "hostNetwork",
    "HostPID": "hostPID",
    "HostIPC": "hostIPC",
    "ShareProcessNamespace": "shareProcessNamespace",
    "HostUsers": "hostUsers",
}
"""Fields that the published pod spec has, and the internal one's security context."""


@cache
def _types() -> Mapping[str, Sequence[Sequence[Any]]]:
    found: Mapping[str, Sequence[Sequence[Any]]] = json.loads(
        files("attractor.apiserver.builtin").joinpath("internaltypes.json").read_bytes()
    )
    return found


def shown(value: Any, kind: str) -> Any:
    """A published value as its internal type writes it; kinds are ``core.PodSpec``, ``[]core.Volume``, ``*int``."""
    if kind.startswith("*"):
        return None if value is None else shown(value, kind[1:])
    if kind.startswith("[]"):
        return None if value is None else [shown(item, kind[2:]) for item in value]
    if kind.startswith("{}"):
        return None if value is None else {name: shown(value[name], kind[2:]) for name in sorted(value)}
    if kind in _types():
        return _struct(value or {}, kind)
    return _ZEROS.get(kind) if value is None else value


def _struct(value: JsonObject, kind: str) -> InOrder:
    if "metadata" in value:  # embedded, so that its fields stand among the others
        value = {**(value["metadata"] or {}), **value}
    written = InOrder()
    for key, source, of, *omitted in _types()[kind]:
        field = shown(value.get(source), of)
        if omitted and not field:
            continue
        written[key] = field
    if kind == "core.PodSpec":
        _move_to_security_context(value, written)
    return written


def _move_to_security_context(spec: JsonObject, written: InOrder) -> None:
    context = written["SecurityContext"] or _struct({}, "core.PodSecurityContext")
    for key, source in _OF_THE_SPEC.items():
        if source in spec:
            context[key] = spec[source]
    written["SecurityContext"] = context


def difference(old: JsonObject, new: JsonObject, kind: str) -> str:
    """What differs, as a unified diff of the two values' indented JSON."""
    lines = difflib.unified_diff(_lines(shown(old, kind)), _lines(shown(new, kind)))
    return "".join(line for line in lines if line not in {"--- \n", "+++ \n"})


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for character in "<>&":  # as Go's encoder has it, for the sake of HTML
        text = text.replace(character, f"\\u{ord(character):04x}")
    return [f"{line}\n" for line in text.split("\n")]
