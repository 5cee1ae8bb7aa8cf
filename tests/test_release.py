"""What ``make release`` builds, here without anything compiled: unpacked elsewhere, it is the whole product."""

from __future__ import annotations

import email
import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import attractor
from tests.compiled import ROOT
from tools.release import missing

pytestmark = pytest.mark.slow

USED = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import attractor
from attractor import EmbeddedCluster, Key, ObjectMeta
from attractor.check import check
from attractor.check.specs.irsa import Irsa
from attractor.k8s import ConfigMap

assert attractor.__file__.startswith(sys.argv[1]), attractor.__file__

async def main():
    async with EmbeddedCluster() as cluster:
        await cluster.client().create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "1"}))
        return (await cluster.client().get(ConfigMap, Key("default", "a"))).data

print(asyncio.run(main()), check(Irsa(workers=1), engine="python").verdict)
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of this tree, made where there is no C compiler."""
    directory = tmp_path_factory.mktemp("release") / "dist"
    without = {**os.environ, "CC": "false", "ATTRACTOR_COMPILE": "0"}
    command = [sys.executable, "tools/release.py", "--directory", str(directory)]
    done = subprocess.run(command, cwd=ROOT, env=without, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no C compiler: the wheel is interpreted" in done.stderr
    return directory


@pytest.fixture(scope="module")
def wheel(released: Path) -> Path:
    (found,) = released.glob("*.whl")
    return found


def test_digests_of_all_files_are_beside_them(released: Path) -> None:
    sums = dict(line.split("  ")[::-1] for line in (released / "SHA256SUMS").read_text().splitlines())
    assert sums.keys() == {path.name for path in released.iterdir()} - {"SHA256SUMS"}
    assert sums == {name: hashlib.sha256((released / name).read_bytes()).hexdigest() for name in sums}


def test_the_version_stands_in_one_place(released: Path, wheel: Path) -> None:
    assert wheel.name.startswith(f"attractor-{attractor.__version__}-")
    with tarfile.open(released / f"attractor-{attractor.__version__}.tar.gz") as source:
        assert f"attractor-{attractor.__version__}/pyproject.toml" in source.getnames()


def test_its_metadata_say_who_made_it_and_what_it_is(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    text = archive.read(f"attractor-{attractor.__version__}.dist-info/METADATA").decode()
    told = email.message_from_string(text)
    assert (told["Version"], told["License-Expression"]) == (attractor.__version__, "Apache-2.0")
    assert told["Author"]
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    assert "# Attractor" in text, "the README is the description"


def test_a_wheel_without_one_of_its_files_is_noticed(wheel: Path, tmp_path: Path) -> None:
    lost = "attractor/k8s/kinds.zip"
    assert missing(wheel) == []
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(tmp_path / "poorer.whl", "w") as poorer:
        for name in whole.namelist():
            if name != lost:
                poorer.writestr(name, b"")
    assert missing(tmp_path / "poorer.whl") == [lost]


def test_what_is_unpacked_serves_and_checks(wheel: Path, tmp_path: Path) -> None:
    there = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(there)
    command = [sys.executable, "-I", "-c", USED, str(there)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "{'x': '1'} violated\n"), done.stderr
