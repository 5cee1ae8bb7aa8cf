"""Files whose change restarts a process: which they are, that a change is seen, and that it is heeded once."""

import os
from pathlib import Path

import pytest

from attractor.operators.devplane.api.executables import Dependency, Watch
from attractor.operators.devplane.controllers.file_watches import WATCHED
from attractor.operators.devplane.drivers.files import FileSet
from attractor.operators.devplane.drivers.local.files import digest_of
from attractor.operators.devplane.drivers.local.patterns import matcher
from attractor.operators.devplane.proofs import file_watch_worlds as worlds
from tests.operators.devplane.planes import Plane
from tests.operators.proofs import assert_proved


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src", "src/a/b.py", True),
        ("./src/", "src/a.py", True),
        ("src", "srcs/a.py", False),
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("src/**/test_?.py", "src/x/test_1.py", True),
        ("src/**/test_?.py", "src/x/test_10.py", False),
        ("a.b", "axb", False),
        (".", "any/thing", True),
    ],
)
def test_a_pattern_matches_paths(pattern: str, path: str, expected: bool) -> None:
    assert matcher([pattern])(path) is expected


def test_the_digest_changes_with_a_wanted_file_and_with_no_other(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "node_modules").mkdir()
    files = FileSet(str(tmp_path), ("src/**/*.py",), ("**/generated",))
    seen = [digest_of(files)]

    def after(path: str, text: str = "x") -> bool:
        """Whether writing a file is seen."""
        (tmp_path / path).write_text(text)
        os.utime(tmp_path / path, ns=(len(seen), len(seen)))
        seen.append(digest_of(files))
        return seen[-1] != seen[-2]

    assert after("src/a.py")
    assert after("src/deep/b.py")
    assert after("src/a.py", "another")
    assert not after("src/a.txt")
    assert not after("src/node_modules/c.py")
    (tmp_path / "src" / "generated").mkdir()
    assert not after("src/generated/d.py")
    (tmp_path / "src" / "a.py").unlink()
    assert digest_of(files) != seen[-1]
    assert digest_of(FileSet(str(tmp_path), ("nowhere",))) == digest_of(FileSet(str(tmp_path), ("nowhere/*",)))


async def test_a_saved_file_restarts_the_process_and_who_follows_it(plane: Plane, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("1")
    await plane.create("web", working_directory=str(source), watch=Watch(paths=["*.py"], debounce_seconds=0.1))
    await plane.create("client", depends_on=[Dependency(name="web", restart=True)])
    await plane.until("web", lambda one: WATCHED in one.metadata.annotations and one.status.phase == "Running")
    await plane.until_in("client", "Running")
    (source / "a.py").write_text("two")
    web = await plane.until("web", lambda one: one.status.restarts == 1 and one.status.phase == "Running")
    assert web.status.restart == f"files-{web.metadata.annotations[WATCHED]}"
    await plane.until("client", lambda one: one.status.restarts == 1 and one.status.phase == "Running")
    assert (await plane.get("web")).status.restarts == 1


def test_a_change_is_heeded_once_whoever_crashes() -> None:
    assert_proved(worlds.changing, {worlds.changing: 28_188})
