#!/usr/bin/env python3
"""Write the type stubs of the modules of common built-in kinds, from the archive that tools/builtin_kinds.py made.

    tools/builtin_kinds_stubs.py            write src/attractor/k8s/*_v1.pyi
    tools/builtin_kinds_stubs.py --check    say which stubs are out of date; exit 1 when any is

The classes themselves are made at run time by ``attractor.k8s.typed_classes``, by the same rules.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from attractor.k8s import catalog, typed_classes
from attractor.objects.resource import Resource, Struct
from attractor.objects.resource.scalars import Duration, MicroTime

FOLDER = Path(__file__).parents[1] / "src/attractor/k8s"
WIDTH = 120


class StubWriter:
    """One module's stub: its classes, and what they import."""

    def __init__(self, module: str) -> None:
        self.module = f"attractor.k8s.{module}"
        self.package = typed_classes.MODULES[module]
        self.imports: dict[str, set[str]] = {}

    def spelled(self, hint: Any) -> str:
        """A type as source text; what it names is imported."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in {Union, UnionType}:
            return " | ".join(self.spelled(argument) for argument in arguments)
        if origin is not None:
            return f"{origin.__name__}[{', '.join(self.spelled(argument) for argument in arguments)}]"
        if hint is NoneType:
            return "None"
        if hint is Any or hint is datetime or hint is MicroTime or hint is Duration:
            module = {Any: "typing", datetime: "datetime"}.get(hint, "attractor.objects.resource.scalars")
            name = "Any" if hint is Any else hint.__name__
        elif isinstance(hint, type) and issubclass(hint, Struct):
            module, name = hint.__module__, hint.__name__
        else:
            return str(hint.__name__)
        if module == "attractor.k8s.typed_classes":  # a group without a module of its own
            module, name = "typing", "Any"
        if module != self.module:
            self.imports.setdefault(module, set()).add(name)
        return name

    def class_text(self, name: str) -> str:
        """One class, a line for each field."""
        cls = getattr(sys.modules[self.module], name)
        base = "Resource" if issubclass(cls, Resource) else "Struct"
        self.imports.setdefault(Resource.__module__ if base == "Resource" else Struct.__module__, set()).add(base)
        leave_out = typed_classes.TYPE_META if base == "Resource" else ()
        lines = []
        for wire_name, field in catalog.go_type(f"{self.package}.{name}").fields.items():
            if wire_name not in leave_out:
                made = typed_classes.python_field(field)
                lines.append(f"    {made.attribute}: {self.spelled(made.hint)} = ...")
        body = "\n".join(lines)
        return f"class {name}({base}):\n{body}\n" if body else f"class {name}({base}): ...\n"

    def text(self) -> str:
        """The whole stub."""
        __import__(self.module)
        classes = "\n".join(self.class_text(name) for name in typed_classes.names_of(self.package))
        source = f"Kubernetes {catalog.KUBERNETES_VERSION}, {self.package}"
        return f"# Made by tools/builtin_kinds_stubs.py from {source}.\n\n{self.import_text()}\n\n{classes}"

    def import_text(self) -> str:
        """The imports: the standard library's, then our own."""
        lines = {module: import_line(module, sorted(names)) for module, names in sorted(self.imports.items())}
        ours = [line for module, line in lines.items() if module.startswith("attractor")]
        standard = [line for module, line in lines.items() if not module.startswith("attractor")]
        return "\n\n".join("\n".join(block) for block in (standard, ours) if block)


def import_line(module: str, names: list[str]) -> str:
    """One import, broken over lines when it is long."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def main(check: bool) -> int:
    """Write or compare every stub."""
    stale = []
    for module in typed_classes.MODULES:
        path, text = FOLDER / f"{module}.pyi", StubWriter(module).text()
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if not check:
                path.write_text(text)
    if stale:
        print(f"{'out of date' if check else 'written'}: {', '.join(stale)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
