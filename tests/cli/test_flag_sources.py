"""Flags from the environment and from a file: as on the command line, which counts before them."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import pytest

from attractor.cli.flag_sources import FlagSources
from attractor.cli.main import main
from attractor.cli.terminal import UsageError


def parsed(words: list[str], environment: Mapping[str, str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--reload", action="store_true")
    parser.add_argument("--tls", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--service-address", action="append", default=[])
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--kubeconfig")
    where.add_argument("--in-cluster", action="store_true")
    sources = FlagSources(parser, "run")
    return parser.parse_args([*sources.words(words, environment), *words])


def test_a_flag_may_stand_in_the_environment() -> None:
    found = parsed(["op.py"], {"ATTRACTOR_RUN_WORKERS": "8", "ATTRACTOR_RUN_RELOAD": "true", "ATTRACTOR_RUN_TLS": "no"})
    assert (found.workers, found.reload, found.tls) == (8, True, False)
    assert parsed(["op.py"], {"ATTRACTOR_RUN_RELOAD": "0"}).reload is False


def test_the_command_line_counts_before_the_environment_and_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text("workers: 2\nkubeconfig: here\nservice-address: [a/b=c:1, d/e=f:2]\ntls: false\n")
    found = parsed(["op.py"], {"ATTRACTOR_RUN_CONFIG": str(file)})
    assert (found.workers, found.kubeconfig, found.tls) == (2, "here", False)
    assert found.service_address == ["a/b=c:1", "d/e=f:2"]
    found = parsed(["op.py", "--config", str(file)], {"ATTRACTOR_RUN_WORKERS": "3"})
    assert found.workers == 3
    assert parsed(["op.py", f"--config={file}", "--workers=5"], {"ATTRACTOR_RUN_WORKERS": "3"}).workers == 5


def test_what_excludes_a_flag_of_the_environment_takes_its_place(tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text("kubeconfig: here\n")
    found = parsed(["op.py", "--in-cluster"], {"ATTRACTOR_RUN_KUBECONFIG": "there", "ATTRACTOR_RUN_CONFIG": str(file)})
    assert (found.in_cluster, found.kubeconfig) == (True, None)


@pytest.mark.parametrize(
    ("content", "complaint", "hint"),
    [
        ("worker: 2", "'worker', which is no flag", "did you mean workers?"),
        ("config: x", "'config', which is no flag", ""),
        ("[1, 2]", "has no flags", "one flag a line"),
        ("a: [", "is no YAML", "one flag a line"),
        ("reload: perhaps", "reload in ", "true or false"),
        ("workers: [1, 2]", "has 2 values, and takes one", "single value"),
        ("workers: {a: 1}", "workers in ", "text or a number"),
    ],
)
def test_what_a_file_says_wrongly_is_refused_with_what_to_write(
    tmp_path: Path, content: str, complaint: str, hint: str
) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text(content)
    with pytest.raises(UsageError) as refused:
        parsed(["op.py", "--config", str(file)], {})
    assert complaint in str(refused.value)
    assert hint in refused.value.hint


def test_a_variable_that_is_no_flag_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ATTRACTOR_RUN_WORKER, which is no flag"):
        parsed(["op.py"], {"ATTRACTOR_RUN_WORKER": "2"})
    with pytest.raises(UsageError, match="cannot be read"):
        parsed(["op.py", "--config", str(tmp_path / "none.yaml")], {})


def test_a_wrong_value_is_told_with_the_variable_it_came_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATTRACTOR_RUN_WORKERS", "many")
    with pytest.raises(SystemExit) as ended:
        main(["run", "operator.py"])
    assert ended.value.code == 2
    assert "argument --workers: 'many' is not a whole number above 0 (from ATTRACTOR_RUN_WORKERS)" in (
        capsys.readouterr().err
    )
