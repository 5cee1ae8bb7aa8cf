#!/usr/bin/env python3
"""Make src/attractor/k8s/kinds.zip: what Kubernetes publishes about its built-in kinds.

    tools/builtin_kinds.py [1.36.4]

For another version: run this, then tools/builtin_kinds_stubs.py, then set ``KUBERNETES_VERSION`` and the counts that
tests/k8s pins. Needs Go, to fetch the published modules through the module proxy and to read Go source.

Only facts are taken: names, schemas, descriptions, Go types, JSON tags, protobuf numbers. The same version gives the
same bytes. The entries are JSON, loaded one by one when asked for:

    index.json                  the version, groups in the order of discovery, resources, kinds -> definitions
    schema/<package>.json       definition -> OpenAPI v3 schema without descriptions
    text/<package>.json         definition -> {"": its description, field: the field's description}
    enum/<package>.json         definition -> {field: [where, values, what is added to its description]}
    go/<package>.json           type -> fields of a struct, or what a named type stands for

A struct field is ``[json name, Go name, type, flags, protobuf]``: the Go name of a field of an inlined struct follows
the names of the structs that it stands in (``VolumeSource.HostPath``); flags are ``o`` omitempty, ``z`` omitzero;
protobuf is the path of field numbers (several where Go inlines a struct that protobuf nests), the wire kind and the
label: ``2.1 bytes opt``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "src/attractor/k8s/kinds.zip"
MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
MORE_GO_TYPES = (
    *(f"{META}.{name}" for name in ("CreateOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions")),
    *(f"{META}.{name}" for name in ("PartialObjectMetadata", "PartialObjectMetadataList", "Table", "TypeMeta", "List")),
    "io.k8s.api.admission.v1.AdmissionReview",
    "io.k8s.apimachinery.pkg.runtime.Unknown",
)
BASIC = re.compile(r"any|bool|byte|string|error|u?int(8|16|32|64)?|float(32|64)")
GVK = "x-kubernetes-group-version-kind"
Doc = dict[str, Any]


def fetch(version: str) -> dict[str, Path]:
    """The directories of the published modules, by name."""
    minor = "v0." + version.split(".", 1)[1]
    wanted = {"kubernetes": f"v{version}", **dict.fromkeys(MODULES, minor)}
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "go.mod").write_text("module scratch\n")
        for name, at in wanted.items():
            command = ["go", "mod", "download", "-json", f"k8s.io/{name}@{at}"]
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"error: cannot fetch k8s.io/{name}@{at}: {done.stdout}{done.stderr}")
            found[name] = Path(json.loads(done.stdout)["Dir"])
    return found


def read_definitions(openapi: Path) -> dict[str, Doc]:
    """Every definition of every group's OpenAPI v3 document; options and events list the kinds of all groups."""
    merged: dict[str, Doc] = {}
    for path in sorted(openapi.glob("*.json")):
        schemas = json.loads(path.read_text()).get("components", {}).get("schemas", {})
        for name, doc in schemas.items():
            known = merged.setdefault(name, doc)
            if known == doc:
                continue
            kinds = {json.dumps(kind, sort_keys=True) for each in (known, doc) for kind in each[GVK]}
            merged[name] = {**known, GVK: [json.loads(kind) for kind in sorted(kinds)]}
            if {**known, GVK: 0} != {**doc, GVK: 0}:
                raise SystemExit(f"error: definition {name} differs between groups, see {path.name}")
    return merged


def read_discovery(discovery: Path) -> list[Doc]:
    """Groups with their versions, preferred first, and the resources of each, as the API server lists them."""
    listed = json.loads((discovery / "apis.json").read_text())["groups"]
    groups = [{"name": "", "versions": ["v1"]}]
    groups += [{"name": group["name"], "versions": [v["version"] for v in group["versions"]]} for group in listed]
    for group, doc in zip(groups[1:], listed, strict=True):
        if doc["preferredVersion"]["version"] != group["versions"][0]:
            raise SystemExit(f"error: group {group['name']} prefers another version than its first")
    for group in groups:
        name = group["name"]
        stem = f"apis__{name}" if name else "api"
        files = {version: discovery / f"{stem}__{version}.json" for version in group["versions"]}
        group["resources"] = {version: json.loads(file.read_text())["resources"] for version, file in files.items()}
    return groups


def split_texts(definitions: dict[str, Doc]) -> dict[str, dict[str, str]]:
    """Take the descriptions out of the definitions, and return them."""
    texts: dict[str, dict[str, str]] = {}
    for name, doc in definitions.items():
        fields = {field: sub.pop("description", "") for field, sub in doc.get("properties", {}).items()}
        texts[name] = {field: text for field, text in {"": doc.pop("description", ""), **fields}.items() if text}
    return texts


_FUNCTION = re.compile(r"func schema_(\w+)\(ref ")
_PROPERTY = re.compile(r'\t{5}"(\w+)": \{')
_DESCRIPTION = re.compile(r'\t{7}Description: +(".*"),')
_NESTED = re.compile(r"\t{7}(Items|AdditionalProperties): ")
_ENUM = re.compile(r"\t+Enum: +\[\]interface\{\}\{(.*)\},")
_PLACES = {"Items": "items", "AdditionalProperties": "additionalProperties"}


def read_enums(generated: Path, texts: dict[str, dict[str, str]]) -> dict[str, dict[str, list[Any]]]:
    """The values that fields are limited to in OpenAPI documents of a server, which the published ones leave out.

    ``where`` is empty for the field itself, or ``items`` or ``additionalProperties`` for what it holds.
    """
    ends = {re.sub(r"\W", "_", name): name for name in texts}
    enums: dict[str, dict[str, list[Any]]] = {}
    definition, field, text, where = "", "", "", ""
    for line in generated.read_text().splitlines():
        if found := _FUNCTION.match(line):
            end = "_" + found[1].removeprefix("k8sio_")
            definition, field = next((name for key, name in ends.items() if key.endswith(end)), ""), ""
        elif found := _PROPERTY.match(line):
            field, text, where = found[1], "", ""
        elif found := _DESCRIPTION.match(line):
            text = json.loads(found[1])
        elif found := _NESTED.match(line):
            where = _PLACES[found[1]]
        elif (found := _ENUM.match(line)) and definition and field:
            added = text.removeprefix(texts[definition].get(field, ""))
            enums.setdefault(definition, {})[field] = [where, json.loads(f"[{found[1]}]"), added]
    return enums


def definition_name(import_path: str) -> str:
    """OpenAPI's spelling of a Go package: io.k8s.api.core.v1 for k8s.io/api/core/v1."""
    host, _, rest = import_path.partition("/")
    return ".".join([*reversed(host.split(".")), *filter(None, rest.split("/"))])


class GoTables:
    """Go type declarations, gathered by following the fields of the definitions."""

    def __init__(self, packages: dict[str, Doc]) -> None:
        self.declared = {
            f"{definition_name(path)}.{name}": decl for path, types in packages.items() for name, decl in types.items()
        }
        self.tables: dict[str, Any] = {}

    def add(self, name: str) -> None:
        """Take up a type and everything that its fields need."""
        if name in self.tables:
            return
        decl = self.declared.get(name)
        if decl is None or decl.get("ownJSON") or not (decl.get("isStruct") or decl.get("underlying")):
            self.tables[name] = "special" if decl is None or decl.get("ownJSON") else "any"
            return
        if decl.get("isStruct"):
            self.tables[name] = []  # before its fields: types may be recursive
            self.tables[name] = self._fields(decl, (), "")
        else:
            self.tables[name] = self._spelled(decl["underlying"])

    def _fields(self, decl: Doc, path: tuple[str, ...] | None, within: str) -> list[list[str]]:
        """Rows of a struct's fields, inlined ones included; ``path`` is None below what protobuf does not carry."""
        rows = []
        for field in decl.get("fields") or ():
            tags = dict(re.findall(r'(\w+):"([^"]*)"', field.get("tag", "")))
            json_name, *options = tags.get("json", "").split(",")
            wire, number, label, *_ = [*tags.get("protobuf", "").split(","), "", "", ""]
            if json_name == "-" or not field["name"][0].isupper():
                continue
            if "inline" in options or (field.get("embedded") and not json_name):
                target = self.declared[definition_name_of(field["type"].lstrip("*"))]
                while "underlying" in target:  # an alias of another package's struct
                    target = self.declared[definition_name_of(target["underlying"])]
                nested = None if path is None or not number else (*path, number)
                rows += self._fields(target, nested, f"{within}{field['name']}.")
                continue
            flags = ("o" if "omitempty" in options else "") + ("z" if "omitzero" in options else "")
            numbers = f"{'.'.join((*path, number))} {wire} {label}" if number and path is not None else ""
            go_name = within + field["name"]
            rows.append([json_name or field["name"], go_name, self._spelled(field["type"]), flags, numbers])
        return rows

    def _spelled(self, go_type: str) -> str:
        """The type in definition names; named types that it uses are added to the tables."""
        if go_type.startswith("*"):
            return "*" + self._spelled(go_type[1:])
        if go_type.startswith("[]"):
            return "[]" + self._spelled(go_type[2:])
        if go_type.startswith("map["):
            key, value = go_type[4:].split("]", 1)
            return f"map[{self._spelled(key)}]{self._spelled(value)}"
        if BASIC.fullmatch(go_type):
            return go_type
        name = definition_name_of(go_type)
        self.add(name)
        return name


def definition_name_of(go_type: str) -> str:
    """OpenAPI's spelling of a qualified Go type."""
    package, _, name = go_type.rpartition(".")
    return f"{definition_name(package)}.{name}"


def read_go(modules: dict[str, Path], definitions: dict[str, Doc]) -> dict[str, Any]:
    """The Go types of all definitions."""
    packages = {
        "k8s.io/api": modules["api"],
        "k8s.io/apimachinery/pkg": modules["apimachinery"] / "pkg",
        **{
            f"k8s.io/{module}/{path}": modules[module] / path
            for module, path in (
                ("apiextensions-apiserver", "pkg/apis/apiextensions/v1"),
                ("kube-aggregator", "pkg/apis/apiregistration/v1"),
            )
        },
    }
    reader = ROOT / "tools/builtin_kinds.go"
    command = ["go", "run", str(reader), *(f"{name}={path}" for name, path in packages.items())]
    printed = subprocess.run(command, cwd=modules["api"], stdout=subprocess.PIPE, check=True).stdout
    tables = GoTables(json.loads(printed))
    for name in (*definitions, *MORE_GO_TYPES):
        tables.add(name)
    return tables.tables


def by_package(entries: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Entries grouped by the package of their names."""
    grouped: dict[str, dict[str, Any]] = {}
    for name, entry in sorted(entries.items()):
        package, _, last = name.rpartition(".")
        grouped.setdefault(package, {})[last] = entry
    return grouped


def index_of(version: str, groups: list[Doc], definitions: dict[str, Doc]) -> Doc:
    """What is needed to find a resource, and from there its definition."""
    kinds = {
        f"{kind['group']}/{kind['version']}/{kind['kind']}": name
        for name, doc in sorted(definitions.items())
        if len(doc.get(GVK, ())) == 1
        for kind in doc[GVK]
    }
    return {"version": version, "groups": groups, "kinds": kinds}


def write(entries: dict[str, Any]) -> None:
    """Write the archive with fixed times and order, so that equal content is an equal file."""
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, entry in entries.items():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, json.dumps(entry, separators=(",", ":"), sort_keys=name.startswith("text/")))


def main(version: str) -> None:
    """Fetch, gather, write, and say what came out."""
    modules = fetch(version)
    definitions = read_definitions(modules["kubernetes"] / "api/openapi-spec/v3")
    groups = read_discovery(modules["kubernetes"] / "api/discovery")
    entries: dict[str, Any] = {"index.json": index_of(version, groups, definitions)}
    go = by_package(read_go(modules, definitions))
    texts = split_texts(definitions)
    generated = modules["kubernetes"] / "pkg/generated/openapi/zz_generated.openapi.go"
    more = {"text": by_package(texts), "enum": by_package(read_enums(generated, texts)), "go": go}
    for folder, packages in {"schema": by_package(definitions), **more}.items():
        entries |= {f"{folder}/{package}.json": content for package, content in packages.items()}
    write(entries)
    size = TARGET.stat().st_size
    print(f"{TARGET.relative_to(ROOT)}: Kubernetes {version}, {len(definitions)} definitions, {size} bytes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "1.36.4")
