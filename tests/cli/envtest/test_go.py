"""controller-runtime's own envtest, unchanged, on our programs: a controller written and tested in Go."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from attractor.cli.envtest.programs import write_programs

HERE = Path(__file__).parent / "go"


@pytest.mark.nightly
def test_envtest_of_controller_runtime_runs_a_controller_on_our_programs(tmp_path: Path) -> None:
    assert shutil.which("go"), "the Go toolchain is missing: install it, for example with apt-get install golang"
    write_programs(tmp_path / "assets")
    work = shutil.copytree(HERE, tmp_path / "go")
    done = subprocess.run(
        ["go", "test", "-count=1", "-v", "./..."],
        cwd=work,
        env={**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path / "assets")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--- PASS: TestAControllerRunsAndItsChildrenAreCollected" in done.stdout
