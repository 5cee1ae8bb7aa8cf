"""The modules that are compiled: none of them holds what would compile into something else."""

import ast
import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.cache import Cache
from attractor.client import Client
from attractor.client.errors import ServerUnreachable
from attractor.client.transport import ByteStream, ClientRequest, ClientResponse
from attractor.client.verbs.retry import RetryPolicy
from attractor.embedded import EmbeddedCluster
from attractor.k8s import ConfigMap
from tests.compiled import LIBRARY, ROOT, SOURCES, stale

CHANGES_MEANING = ("cached_property", "msgspec.Struct", "msgspec.convert(", "Decoder(", "@dataclass")
"""A cached property of a compiled class is called like a method. Structs lose ``frozen``, ``gc`` and the parameters of
their fields' types; what their fields, and those of a dataclass, are of is looked up when the class is made."""
REQUESTS = 1_000
SUSPENSIONS = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith)


class Unreachable:
    """A transport whose server is never there."""

    async def send(self, request: ClientRequest) -> ClientResponse:
        await asyncio.sleep(0)
        raise ServerUnreachable(f"{request.path}: no server")

    async def open(self, request: ClientRequest) -> ByteStream:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing is open."""


def test_all_of_them_are_compiled_or_none() -> None:
    beside = {source.with_name(source.stem + LIBRARY.name.removeprefix("attractor__mypyc")) for source in SOURCES}
    assert {library.exists() for library in beside} == {LIBRARY.exists()}


def test_each_was_compiled_from_its_source() -> None:
    assert stale() == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_compiled_module_means_what_it_says(source: Path) -> None:
    text = source.read_text()
    assert [word for word in CHANGES_MEANING if word in text] == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_method_has_one_name(source: Path) -> None:
    """A class whose body says ``other = method`` cannot be made once it is compiled."""
    for found in ast.walk(ast.parse(source.read_text())):
        if isinstance(found, ast.ClassDef):
            methods = {one.name for one in found.body if isinstance(one, ast.FunctionDef)}
            given = {
                one.value.id for one in found.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name)
            }
            assert not methods & given, f"{found.name} in {source.name} has a method of two names: {methods & given}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_errors_of_two_kinds_have_two_names(source: Path) -> None:
    """One variable has one type when it is compiled, that of the first ``except`` which names it."""
    for function in ast.walk(ast.parse(source.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            caught = {
                (handler.name, ast.unparse(handler.type))
                for handler in ast.walk(function)
                if isinstance(handler, ast.ExceptHandler) and handler.name and handler.type
            }
            assert len({name for name, _ in caught}) == len(caught), f"{function.name} in {source.name}: {caught}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_nothing_is_awaited_while_an_error_is_handled(source: Path) -> None:
    """A compiled coroutine leaves the error that it handles to whoever runs next, and to each error raised there."""
    for found in ast.walk(ast.parse(source.read_text())):
        assert not isinstance(found, ast.AsyncWith), f"{source.name}, line {found.lineno}: use `wire.blocks.inside`"
        handled: list[ast.AST] = []
        if isinstance(found, ast.Try):
            handled += [*found.handlers, *found.finalbody]
        suspends = [each.lineno for part in handled for each in ast.walk(part) if isinstance(each, SUSPENSIONS)]
        assert not suspends, f"{source.name}, line {suspends[0]}: first leave the `except` or `finally`, then await"


async def test_an_informer_that_is_cancelled_leaves_no_error_behind() -> None:
    async with EmbeddedCluster() as cluster:
        cache = Cache(cluster.client())
        cache.informer(ConfigMap)
        task = asyncio.create_task(cache.run())
        await cache.wait_synced()
        task.cancel()
        await asyncio.wait([task])
    assert sys.exc_info() == (None, None, None)


async def test_errors_of_many_tasks_are_not_chained_to_each_other() -> None:
    client = Client(Unreachable(), retry=RetryPolicy(first_delay_s=0.001))
    tasks = [asyncio.create_task(client.request(ClientRequest("GET", "/api"))) for _ in range(20)]
    await asyncio.wait(tasks)
    failures = [task.exception() for task in tasks]
    assert len(failures) == 20
    for failure in failures:
        assert failure is not None
        assert failure.__context__ is None or failure.__context__ is failure.__cause__
    assert sys.exc_info() == (None, None, None)


PROJECT = """[project]
name = "small"
version = "1"
[tool.setuptools]
packages = ["attractor"]
package-dir = {{"" = "src"}}
[tool.attractor]
compiled = {compiled}
"""


class Checkout:
    """A checkout with two modules, in which the real ``setup.py`` builds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "src" / "attractor"
        (self.package / "check" / "engine" / "kernel").mkdir(parents=True)
        for name in ("", "one", "two"):
            (self.package / f"{name or '__init__'}.py").write_text(f'NAME = "{name}"\n')
        shutil.copy(ROOT / "setup.py", root)

    def build(self, *compiled: str, **settings: str) -> None:
        """Build with these modules on the list."""
        listed = [f"src/attractor/{name}.py" for name in compiled]
        (self.root / "pyproject.toml").write_text(PROJECT.format(compiled=listed))
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=self.root, env={**os.environ, **settings}, capture_output=True, check=True)

    @property
    def libraries(self) -> set[str]:
        """The names of what is compiled, up to the first dot."""
        return {each.name.partition(".")[0] for each in self.root.joinpath("src").rglob("*.so*")}


@pytest.mark.slow
def test_a_module_that_is_taken_off_the_list_is_interpreted_after_the_next_build(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    of_another_python = checkout.package / "two.cpython-399-x86_64-linux-gnu.so"
    of_another_python.touch()
    checkout.build("one", "two")
    assert checkout.libraries == {"attractor__mypyc", "one", "two"}
    checkout.build("one")
    of_another_python.unlink()  # which is none of this Python's business
    assert checkout.libraries == {"attractor__mypyc", "one"}
    checkout.build("one", ATTRACTOR_COMPILE="0")
    assert checkout.libraries == set()


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package without anything compiled."""
    there = tmp_path_factory.mktemp("interpreted")
    shutil.copytree(ROOT / "src", there, ignore=shutil.ignore_patterns("*.so", "__pycache__"), dirs_exist_ok=True)
    return there


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_interpreted_modules_answer_random_requests_alike(interpreted: Path, seed: int) -> None:
    def answers(of: Path) -> list[str]:
        command = [sys.executable, "-m", "tests.fuzz.answers", str(seed), str(REQUESTS)]
        here = {**os.environ, "PYTHONPATH": str(of)}
        return subprocess.run(
            command, cwd=ROOT, env=here, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    compiled = answers(ROOT / "src")
    assert len(compiled) == REQUESTS
    for said, wanted in zip(answers(interpreted), compiled, strict=True):
        assert said == wanted


def test_mypyc_is_not_asked_where_nothing_can_be_compiled(tmp_path: Path) -> None:
    """It takes a minute; then a missing compiler is noticed."""
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
    fake = tmp_path / "fake" / "mypyc"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    (fake / "build.py").write_text("def mypycify(*said, **more): raise SystemExit('mypyc was asked')\n")
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    for compiler, code in (("/bin/false", 0), ("no-such-compiler", 0), ("cc", 1)):
        environment = {**os.environ, "CC": compiler, "PYTHONPATH": str(fake.parent)}
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.returncode == code, ran.stderr
        assert ("mypyc was asked" in ran.stderr) == bool(code)
        assert ("everything stays interpreted" in ran.stdout + ran.stderr) == (not code)
