"""Write a software bill of materials in CycloneDX 1.5: what a release of Attractor needs to run, with digests.

    .venv/bin/python tools/sbom.py dist/attractor.cdx.json

Components are the dependencies of the package and of its extras, those that they need themselves included, in the
versions and with the digests of ``requirements.lock``. It says nothing of when or where it was made, so that the same
tree gives the same file.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SHIPPED_EXTRAS = ("etcd", "irsa", "irsa-demo", "testing")


def locked() -> dict[str, tuple[str, list[str]]]:
    """Version and digests of every pinned dependency."""
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if match := re.match(r"([a-z0-9-]+)==(\S+)", line):
            found[match[1]] = match[2], re.findall(r"sha256:([0-9a-f]{64})", line)
    return found


def own_version() -> str:
    """The version that the package itself says, which is the only place where it stands."""
    (version,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "src/attractor/__init__.py").read_text(), re.MULTILINE)
    return str(version)


def needs(name: str) -> list[str]:
    """What an installed package needs here."""
    wanted = (Requirement(one) for one in metadata.requires(name) or ())
    return sorted(
        {canonicalize_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}
    )


def components(direct: set[str]) -> dict[str, list[str]]:
    """Everything that is needed, with what each needs itself."""
    found: dict[str, list[str]] = {}
    pending = sorted(direct)
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = needs(name)
            pending += found[name]
    return dict(sorted(found.items()))


def bill() -> dict[str, Any]:
    """The whole document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in SHIPPED_EXTRAS for one in extras[extra])]
    direct = {canonicalize_name(Requirement(one).name) for one in wanted} - {project["name"]}
    pins, tree = locked(), components(direct)

    def ref(name: str) -> str:
        return f"pkg:pypi/{name}@{pins[name][0]}"

    listed = [
        {
            "type": "library",
            "bom-ref": ref(name),
            "name": name,
            "version": pins[name][0],
            "purl": ref(name),
            "hashes": [{"alg": "SHA-256", "content": one} for one in pins[name][1]],
            "licenses": licenses(name),
        }
        for name in tree
    ]
    version = own_version()
    own = f"pkg:pypi/{project['name']}@{version}"
    root = {"type": "application", "bom-ref": own, "name": project["name"], "version": version, "purl": own}
    root_license = [{"license": {"id": project["license"]}}]
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**root, "licenses": root_license}},
        "components": listed,
        "dependencies": [
            {"ref": own, "dependsOn": sorted(map(ref, direct))},
            *({"ref": ref(name), "dependsOn": [ref(one) for one in needed]} for name, needed in tree.items()),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def licenses(name: str) -> list[dict[str, Any]]:
    """What a package says that its licence is, in one short text."""
    said = metadata.metadata(name)
    text = said.get("License-Expression") or said.get("License") or ""
    if not text or "\n" in text:
        classified = [
            one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or () if one.startswith("License")
        ]
        text = " AND ".join(classified)
    return [{"license": {"name": text}}] if text else []


def main() -> int:
    """Write the file that the command line names."""
    if len(sys.argv) != 2:
        print("error: name the file to write", file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(), indent=1) + "\n")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
