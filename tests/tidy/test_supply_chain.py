"""What is installed and shipped is known by its digest."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.compiled import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def entries() -> dict[str, str]:
    lines = LOCK.replace("\\\n", " ").splitlines()
    return {line.split("==")[0]: line for line in lines if line and not line.startswith("#")}


def test_every_pinned_dependency_is_locked_in_its_version_and_by_digest() -> None:
    assert {name: re.split(r"[ ;]", line.split("==")[1])[0] for name, line in entries().items()} == {
        canonical(name): version for name, version in PINS.items()
    }
    for line in entries().values():
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}(?= |$)", line), line


def test_neither_file_names_where_packages_come_from() -> None:
    assert not re.search(r"https?://|--index-url|--find-links|@ ", LOCK + (ROOT / "constraints.txt").read_text())


def test_the_tools_of_the_build_are_pinned_to_what_is_locked() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {canonical(one.split("==")[0]): one.split("==")[1] for one in required}.items() <= {
        canonical(name): version for name, version in PINS.items()
    }.items()


def test_everything_is_installed_by_digest() -> None:
    setup = (ROOT / "tools" / "setup").read_text()
    installs = [line for line in setup.splitlines() if " install --quiet" in line]
    assert len(installs) == 4, "with and without what tests need: what is pinned, and then Attractor itself"
    for line in installs:
        assert "--require-hashes" in line or ("--no-deps" in line and "--no-build-isolation" in line), line


def test_the_bill_of_materials_names_all_that_a_release_needs(tmp_path: Path) -> None:
    def bill(name: str) -> str:
        subprocess.run(
            [sys.executable, "tools/sbom.py", str(tmp_path / name)], cwd=ROOT, check=True, capture_output=True
        )
        return (tmp_path / name).read_text()

    text = bill("one")
    assert text == bill("two")
    found = json.loads(text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {canonical(re.split(r"[<>=]", one)[0]) for one in project["dependencies"]}
    listed = {one["name"]: one for one in found["components"]}
    assert direct <= set(listed)
    assert {"cffi", "hpack", "aiobotocore"} <= set(listed)
    assert "pytest-xdist" not in listed
    for one in listed.values():
        assert one["hashes"], one["name"]
    refs = {one["ref"] for one in found["dependencies"]}
    assert refs == {one["bom-ref"] for one in found["components"]} | {found["metadata"]["component"]["bom-ref"]}
