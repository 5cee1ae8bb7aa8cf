"""The reference of ``attractor.k8s``: built-in kinds with their fields, from the archive that classes are made of."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from attractor.k8s import GROUPS, archive, catalog, typed_classes
from attractor.objects.gvk import GroupVersionKind

STUBS = Path(typed_classes.__file__).parent
_MORE = re.compile(r"\s*More info: \S+|\s*Deprecated: .*", re.DOTALL)


def modules() -> list[str]:
    """The modules with typed kinds, in the order in which ``attractor.k8s`` looks for a name."""
    return [*GROUPS, *(name for name in typed_classes.MODULES if name not in GROUPS)]


def cell(text: str) -> str:
    """Text of the published schemas, safe inside a cell of a table."""
    plain = " ".join(text.split()).replace("\\", "\\\\")
    return re.sub(r"([*_`<>\[\]|{}])", r"\\\1", plain)


def sentence(text: str) -> str:
    """The first sentence, without addresses and without the way Go begins a comment."""
    first = re.split(r"(?<=[a-z0-9)\"'])\.(?:\s|$)", _MORE.sub("", " ".join(text.split())), maxsplit=1)[0]
    return f"{cell(first.rstrip('.'))}." if first else ""


def stub_classes(module: str) -> dict[str, dict[str, str]]:
    """The classes of a module's type stub: each one's fields, and their types as written."""
    tree = ast.parse((STUBS / f"{module}.pyi").read_text())
    return {
        node.name: {
            field.target.id: ast.unparse(field.annotation)
            for field in node.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def described(definition: str) -> str:
    """What Kubernetes says that a type is; empty where it says nothing."""
    return str((archive.entry("text", definition) or {}).get("", ""))


def linked(hint: str, known: dict[str, str]) -> str:
    """A type with links to the classes of this page, or of another group's."""
    return (
        "<code>"
        + re.sub(
            r"[A-Za-z_]\w*",
            lambda found: f'<a href="{known[found[0]]}">{found[0]}</a>' if found[0] in known else found[0],
            hint,
        ).replace("|", "&#124;")
        + "</code>"
    )


def fields(definition: str, hints: dict[str, str], known: dict[str, str]) -> list[str]:
    """A table of a class's fields: attribute, type, and the first sentence of what Kubernetes says of it."""
    texts = archive.entry("text", definition) or {}
    names = {typed_classes.attribute_name(wire): wire for wire in texts if wire}
    rows = [
        f"| `{name}` | {linked(hint, known)} | {sentence(texts.get(names.get(name, ''), ''))} |"
        for name, hint in hints.items()
    ]
    return ["| field | type | |", "|---|---|---|", *rows] if rows else []


def facts(gvk: GroupVersionKind) -> str:
    """How a kind is called on the wire and by kubectl."""
    info = catalog.find_kind(gvk)
    if info is None:
        return ""
    said = [
        f"`apiVersion: {gvk.api_version}`",
        "namespaced" if info.namespaced else "cluster-scoped",
        f"resource `{info.resource}`",
    ]
    said += [f"short `{', '.join(info.short_names)}`"] if info.short_names else []
    below = sorted(name for name in info.subresources)
    said += [f"subresources {', '.join(f'`{one}`' for one in below)}"] if below else []
    return ", ".join(said) + "."


def page(module: str) -> str:
    """One group and version: its kinds first, then the types that they are made of."""
    package, classes = typed_classes.MODULES[module], stub_classes(module)
    kinds = {definition: gvk for gvk, definition in archive.index()["kinds"].items()}
    known = _addresses(module)
    of_kinds, of_types = [], []
    for name, hints in classes.items():
        definition = f"{package}.{name}"
        head = [described(definition) and cell(described(definition)), ""]
        if definition in kinds:
            gvk = GroupVersionKind(*kinds[definition].split("/"))
            of_kinds += [f"## {name} {{ #{name} }}", "", *head, facts(gvk), "", *fields(definition, hints, known), ""]
        else:
            of_types += [
                f"### {name} {{ #{name} data-search-exclude }}",
                "",
                *head,
                *fields(definition, hints, known),
                "",
            ]
    version = archive.index()["version"]
    front = [
        f"# {module}",
        "",
        f"Kinds of `attractor.k8s.{module}`, made from the published schemas of Kubernetes {version}; descriptions are"
        " Kubernetes' own. Every class takes its fields as keywords; a field that is left out is empty. Kinds also have"
        " all of [Resource](../api/kinds.md#attractor.Resource): `metadata`, `key`, `from_yaml`, `to_json` and so on.",
        "",
    ]
    return "\n".join([*front, *of_kinds, "## Types", "", *of_types])


def _addresses(module: str) -> dict[str, str]:
    """Where each class of any group is described, as seen from a group's page; its own classes come first."""
    found: dict[str, str] = {}
    for other in modules():
        found.update({name: f"{other}.html#{name}" for name in stub_classes(other)})
    return {**found, **{name: f"#{name}" for name in stub_classes(module)}}


def index() -> str:
    """All kinds, by group."""
    lines = [
        "# Built-in kinds",
        "",
        "`from attractor.k8s import ConfigMap, Deployment, PodSpec`: every kind of these groups, and every type that"
        " they are made of. Where two groups have the same name, `attractor.k8s` has that of the group that comes first"
        " here; the other is in its group's module, as in `from attractor.k8s.events_v1 import Event`. Kinds of all"
        " other groups are served too; read them as `Resource`, or by their `GroupVersionKind`.",
        "",
    ]
    kinds = set(archive.index()["kinds"].values())
    for module in modules():
        package = typed_classes.MODULES[module]
        names = [name for name in stub_classes(module) if f"{package}.{name}" in kinds]
        lines += [f"- [{module}]({module}.md): " + ", ".join(f"[{name}]({module}.md#{name})" for name in names)]
    return "\n".join(lines) + "\n"
