"""Build hook: compile the native parts where a C compiler exists, and install without them where not."""

import hashlib
import json
import os
import sysconfig
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

NATIVE = Path("src/attractor/check/kernel")
COMPILED = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["attractor"]["compiled"]
GENERATED = Path("build/mypyc")
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
LIBRARY = Path(f"src/attractor__mypyc{SUFFIX}")
MADE_FROM = Path(f"{LIBRARY}.json")
"""Beside the library in a checkout: the digests of the sources that it was made from."""

KERNEL = Extension(
    "attractor.check._kernel",
    [str(NATIVE / "kernel.c")],
    depends=sorted(str(path) for path in NATIVE.iterdir()),
    extra_compile_args=["-O3", "-std=c11", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra"],
    extra_link_args=["-pthread"],
    optional=True,
)
"""The checker's engine, in C."""


def compiled_python() -> list[Extension]:
    """The server's hot modules; none where mypyc is not there, or ``ATTRACTOR_COMPILE=0`` says not to."""
    if os.environ.get("ATTRACTOR_COMPILE") == "0":
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        return []
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    return mypycify(
        [*options, *COMPILED],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name="attractor",
        target_dir=str(GENERATED),
    )


def remove_others(compiled: list[str]) -> None:
    """Leave none of this Python's libraries in a checkout but the kernel and these modules': Python would import it."""
    kept = {LIBRARY, *(Path(name).with_suffix(SUFFIX) for name in compiled)} if compiled else set()
    for library in Path("src").rglob(f"*{SUFFIX}"):
        if library not in kept and not library.name.startswith("_kernel."):
            library.unlink()
    if not compiled:
        MADE_FROM.unlink(missing_ok=True)


class BuildAll(build_ext):
    """Compiles on all cores, and of the Python modules all or none: half of them would call what is not there."""

    def finalize_options(self) -> None:
        """Add what is generated; it takes a while, so not for commands that only ask who we are."""
        if self.distribution.ext_modules == [KERNEL]:
            self.distribution.ext_modules += compiled_python()
        super().finalize_options()

    def build_extensions(self) -> None:
        """Build what can be built here."""
        if not self._can_compile():
            self.extensions = [one for one in self.extensions if one.optional]
        self._compile_one, self.compiler.compile = self.compiler.compile, self._compile
        try:
            super().build_extensions()
        except (CompileError, LinkError) as error:  # the modules' common library comes first, so none of them is there
            self.warn(f"the server's modules stay interpreted: {error}")
            self.extensions = [KERNEL]
            super().build_extensions()

    def run(self) -> None:
        """Build; in a checkout, note what the library was made from, and remove what was compiled and is no more."""
        digests = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in COMPILED}
        super().run()
        if self.inplace or self.editable_mode:
            is_compiled = self.extensions != [KERNEL]
            remove_others(COMPILED if is_compiled else [])
            if is_compiled:
                MADE_FROM.write_text(json.dumps(digests))

    def _can_compile(self) -> bool:
        probe = Path(self.build_temp) / "probe.c"
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text("#include <Python.h>\n")
        try:
            self.compiler.compile([str(probe)], output_dir=self.build_temp)
        except CompileError:
            return False
        return True

    def _compile(self, sources: list[str], **options: Any) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda source: self._compile_one([source], **options), sources)
            return [file for files in made for file in files]


setup(ext_modules=[KERNEL], cmdclass={"build_ext": BuildAll})
