"""``attractor edge``: what it prints, and how it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.cli.main import main
from attractor.embedded.kubeconfig import kubeconfig
from attractor.operators.edge.drivers.process_launcher import AgentLock, AlreadyRunning


def test_tables_are_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edge", "tables", "--svg", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "CRM response          Ready (if Creating message was missed)" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.svg", "cloudlet.svg", "clusterinst.svg"]


def test_an_agent_with_a_driver_that_there_is_not_says_which_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config"
    config.write_bytes(kubeconfig("http://127.0.0.1:1", "token", None))
    options = ["--namespace", "berlin", "--kubeconfig", str(config), "--state-dir", str(tmp_path / "state")]
    assert main(["edge", "agent", *options, "--driver", "magic"]) == 2
    assert "error: there is no driver 'magic'; give process, kubernetes, or MODULE:FACTORY" in capsys.readouterr().err


def test_a_driver_in_the_current_folder_is_found_although_python_was_started_without_it(tmp_path: Path) -> None:
    """As the agent of the next version is."""
    config = tmp_path / "config"
    config.write_bytes(kubeconfig("http://127.0.0.1:1", "token", None))
    (tmp_path / "robots.py").write_text("")
    command = [sys.executable, "-P", "-m", "attractor", "edge", "agent", "--driver", "robots:make"]
    command += ["--namespace", "berlin", "--kubeconfig", str(config), "--state-dir", str(tmp_path / "state")]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "'robots:make' cannot be loaded: module 'robots' has no attribute 'make'" in ended.stderr


def test_a_server_that_does_not_answer_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config"
    config.write_bytes(kubeconfig("http://127.0.0.1:1", "token", None))
    assert main(["edge", "repair", "berlin", "--kubeconfig", str(config)]) == 2
    assert "error: no connection to 127.0.0.1:1" in capsys.readouterr().err


def test_a_missing_kubeconfig_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edge", "coordinator", "--kubeconfig", str(tmp_path / "none")]) == 2
    assert "hint: give the kubeconfig of an API server that answers" in capsys.readouterr().err


def test_an_agent_that_runs_already_is_named_by_its_process(tmp_path: Path) -> None:
    AgentLock(tmp_path, "1").acquire()
    with pytest.raises(AlreadyRunning, match=rf"agent-1 already runs in {tmp_path}, as process {os.getpid()}; stop it"):
        AgentLock(tmp_path, "1").acquire()
