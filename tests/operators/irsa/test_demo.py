"""The demonstration says what it does, and does it."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_demonstration_ends_with_ten_resources_in_kubernetes_and_in_iam() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "attractor", "demo", "irsa"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("   app-")]
    assert len(rows) == 10
    for number, row in enumerate(rows, 1):
        name = f"app-{number:02}"
        on_aws = f"irsa-op-demo-default-{name}"
        assert row == [name, "created", "annotated", on_aws, "v1", "of", on_aws, "yes"]
    assert done.stderr == ""
