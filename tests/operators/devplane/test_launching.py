"""What a process gets: its variables, its program, its directory."""

import errno
from pathlib import Path

import pytest

from attractor.operators.devplane.drivers.local.launch import (
    CannotStart,
    environment_of,
    explained,
    order_of,
    program_of,
)
from attractor.operators.devplane.drivers.processes import Launch
from attractor.operators.local.env_files import variables


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A=1", {"A": "1"}),
        ("  A = 1  ", {"A": "1"}),
        ("export A=1", {"A": "1"}),
        ("A='two words'", {"A": "two words"}),
        ('A="two words"', {"A": "two words"}),
        ("A=a=b", {"A": "a=b"}),
        ("A=", {"A": ""}),
        ('A="', {"A": '"'}),
        ("# A=1", {}),
        ("", {}),
        ("nonsense", {}),
        ("=1", {}),
    ],
)
def test_a_line_of_an_environment_file(line: str, found: dict[str, str]) -> None:
    assert variables(f"{line}\n") == found


def test_later_variables_win(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("A=one\nB=one\nC=one\n")
    (tmp_path / "two").write_text("B=two\nC=two\n")
    launch = Launch(("x",), str(tmp_path), (("C", "own"),), ("one", "two"))
    assert environment_of(launch, {"A": "0", "D": "0"}) == {"A": "one", "B": "two", "C": "own", "D": "0"}


def test_a_process_that_inherits_nothing_has_only_its_own_variables() -> None:
    assert environment_of(Launch(("x",), environment=(("A", "1"),), inherits=False), {"B": "2"}) == {"A": "1"}


def test_the_mark_cannot_be_overwritten() -> None:
    launch = Launch(("sh",), environment=(("ATTRACTOR_MARK", "mine"),))
    assert order_of(launch, "ours", {"PATH": "/usr/bin:/bin"})["environment"]["ATTRACTOR_MARK"] == "ours"


def test_an_environment_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "env").write_bytes(b"A=\xff\n")
    with pytest.raises(CannotStart, match="it is no text"):
        environment_of(Launch(("x",), str(tmp_path), env_files=("env",)), {})


def test_a_program_is_looked_for_in_the_path_of_the_process_itself(tmp_path: Path) -> None:
    program = tmp_path / "hello"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    assert program_of("hello", Path("/"), str(tmp_path)) == str(program)
    assert program_of("./hello", tmp_path, "/usr/bin") == str(program)
    with pytest.raises(CannotStart, match="'hello' is not in PATH"):
        program_of("hello", tmp_path, "/usr/bin")


@pytest.mark.parametrize(("name", "said"), [("./folder", "is no file"), ("./missing", "does not exist")])
def test_what_is_no_program_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotStart, match=said):
        program_of(name, tmp_path, "")


def test_a_working_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match=r"working directory .*/file is none"):
        order_of(Launch(("sh",), str(tmp_path / "file")), "", {"PATH": "/bin"})


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOEXEC, "no first line #!"), (errno.E2BIG, "too long"), (errno.ENOMEM, "Cannot allocate memory")],
)
def test_what_the_kernel_says_is_explained(number: int, said: str) -> None:
    assert said in explained(number, "/bin/x")
