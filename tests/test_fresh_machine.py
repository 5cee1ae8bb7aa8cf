"""``git clone`` and ``make demo`` on a machine without a C compiler and without apt: it works, and says what is slower."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiled import ROOT

ABSENT = re.compile(r"(.*-)?(cc|c\+\+|c89|c99|gcc|g\+\+|cpp|clang|clang\+\+|tcc)(-[\d.]+)?|apt.*|dpkg.*")
"""Names of C compilers, and of what could install one."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory with every program of this machine but those; it is all that is found."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in os.get_exec_path():
        for program in Path(directory).glob("*"):
            if not ABSENT.fullmatch(program.name) and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    assert shutil.which("make", path=programs)
    assert not any(shutil.which(name, path=programs) for name in ("cc", "gcc", "clang", "apt-get"))
    return programs


@pytest.mark.nightly
def test_the_demo_runs_without_a_compiler_and_says_that_the_checker_is_slower(path: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    bare = {name: value for name, value in os.environ.items() if name not in {"CC", "PYTHONPATH", "VENV"}}
    command = ["make", "demo", f"PYTHON={Path(sys.base_prefix) / 'bin' / 'python3'}"]
    done = subprocess.run(
        command, cwd=clone, env={**bare, "PATH": str(path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "no C compiler: the checker's engine is the one in Python" in done.stderr
    assert not list(clone.joinpath("src").rglob("*.so"))
    assert re.search(r"holds +with deletion and a crash: 19,722 states", done.stdout)
