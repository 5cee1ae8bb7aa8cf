"""What ``make release`` builds, here without anything compiled: unpacked elsewhere, it is the whole product."""

from __future__ import annotations

import email
import hashlib
import os
import re
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

TUTORIAL = ROOT / "docs" / "tutorial" / "first-proof.md"

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


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of its own with the tutorial's operator, and the wheel installed in its virtual environment."""
    there = tmp_path_factory.mktemp("project")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], cwd=there, check=True)
    (site,) = (there / "env" / "lib").glob("python3*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (site / "dependencies.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    fences = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    (there / "pairs.py").write_text("\n\n".join(fences))
    (there / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "include": ["*.py"]}')
    return there


def checked(project: Path, *command: str) -> str:
    """What a type checker says of the project."""
    done = subprocess.run([*command], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def mypy(project: Path, name: str) -> str:
    """What mypy says of a module."""
    interpreter = project / "env" / "bin" / "python"
    return checked(project, sys.executable, "-m", "mypy", "--strict", "--python-executable", str(interpreter), name)


def pyright(project: Path) -> str:
    """What pyright says of all modules."""
    return checked(project, sys.executable, "-m", "pyright", "--pythonpath", str(project / "env" / "bin" / "python"))


def test_strict_type_checkers_accept_the_tutorials_operator(project: Path) -> None:
    assert mypy(project, "pairs.py") == "Success: no issues found in 1 source file\n"
    assert "0 errors" in pyright(project)


def test_strict_type_checkers_find_a_field_that_is_not_there(project: Path) -> None:
    wrong = project / "wrong.py"
    wrong.write_text("from pairs import web\n\nprint(web.spec.valu)\n")
    try:
        assert '"PairSpec" has no attribute "valu"' in mypy(project, "wrong.py")
        assert 'Cannot access attribute "valu"' in pyright(project)
    finally:
        wrong.unlink()
