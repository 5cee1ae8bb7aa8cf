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

    from attractor.objects.json_types import JsonObject

_ZEROS: Mapping[str, Any] = {"string": "", "bool": False, "int": 0, "intstr": 0, "quantity": "0"}
_OF_THE_SPEC = {
    "HostNetwork": "hostNetwork",
    "HostPID": "hostPID",
    "HostIPC": "hostIPC",
    "ShareProcessNamespace": "shareProcessNamespace",
    "HostUsers": "hostUsers",
}
"""Fields that the published pod spec has, and the internal one's security context."""


MAX_COMPARED_LINES = 1000
"""Up to so many lines of both values together all that differs is shown, beyond them the beginning of it."""
SHOWN_LINES, CONTEXT_LINES = 20, 3


@cache
def _types() -> Mapping[str, Sequence[Sequence[Any]]]:
    found: Mapping[str, Sequence[Sequence[Any]]] = json.loads(
        files("attractor.apiserver.kinds.builtin").joinpath("internaltypes.json").read_bytes()
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
    before, after = _lines(shown(old, kind)), _lines(shown(new, kind))
    if len(before) + len(after) <= MAX_COMPARED_LINES:
        lines = difflib.unified_diff(before, after)
        return "".join(line for line in lines if line not in {"--- \n", "+++ \n"})
    return _first_difference(before, after)


def _first_difference(before: list[str], after: list[str]) -> str:
    """Where two long texts begin to differ: comparing all of them takes time that grows with the square of them."""
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    start = max(head - CONTEXT_LINES, 0)
    gone, come = before[head : head + SHOWN_LINES], after[head : head + SHOWN_LINES]
    same = [f" {line}" for line in before[start:head]]
    sizes = f"@@ -{start + 1},{len(same) + len(gone)} +{start + 1},{len(same) + len(come)} @@\n"
    return "".join((sizes, *same, *(f"-{line}" for line in gone), *(f"+{line}" for line in come)))


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for character in "<>&":  # as Go's encoder has it, for the sake of HTML
        text = text.replace(character, f"\\u{ord(character):04x}")
    return [f"{line}\n" for line in text.split("\n")]
