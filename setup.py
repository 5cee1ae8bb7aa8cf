"""Build hook: compile the native parts where a C compiler exists, and install without them where not."""

import hashlib
import json
import os
import sysconfig
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

from distutils.ccompiler import new_compiler  # isort: skip  (setuptools' own, so after it)
from distutils.sysconfig import customize_compiler  # isort: skip

NATIVE = Path("src/attractor/check/engine/kernel")
COMPILED = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["attractor"]["compiled"]
GENERATED = Path("build/mypyc")
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
LIBRARY = Path(f"src/attractor__mypyc{SUFFIX}")
MADE_FROM = Path(f"{LIBRARY}.json")
"""Beside the library in a checkout: the digests of the sources that it was made from."""

KERNEL = Extension(
    "attractor.check.engine._kernel",
    [str(NATIVE / "kernel.c")],
    depends=sorted(str(path) for path in NATIVE.iterdir()),
    extra_compile_args=["-O3", "-std=c11", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra"],
    extra_link_args=["-pthread"],
    optional=True,
)
"""The checker's engine, in C."""

VERIFIER = Extension(
    "attractor_verify._closure",
    ["src/attractor_verify/_closure.c"],
    extra_compile_args=["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra"],
    optional=True,
)
"""The verifier's questions about all states; it shares nothing with the engine."""

WRITTEN_IN_C = [KERNEL, VERIFIER]


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


@cache
def can_compile() -> bool:
    """Whether a C compiler and Python's headers are here."""
    compiler = new_compiler()
    customize_compiler(compiler)
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.c"
        probe.write_text("#include <Python.h>\n")
        try:
            compiler.compile([str(probe)], output_dir=folder, include_dirs=[sysconfig.get_path("include")])
        except (CompileError, OSError):
            return False
    return True


def remove_others(compiled: list[str]) -> None:
    """Leave none of this Python's libraries in a checkout but C's and these modules': Python would import it."""
    kept = {LIBRARY, *(Path(name).with_suffix(SUFFIX) for name in compiled)} if compiled else set()
    for library in Path("src").rglob(f"*{SUFFIX}"):
        if library not in kept and not library.name.startswith(("_kernel.", "_closure.")):
            library.unlink()
    if not compiled:
        MADE_FROM.unlink(missing_ok=True)


class BuildAll(build_ext):
    """Compiles on all cores, and of the Python modules all or none: half of them would call what is not there."""

    def finalize_options(self) -> None:
        """Add what is generated; it takes a minute, so not for commands that only ask who we are, and not in vain."""
        if self.distribution.ext_modules == WRITTEN_IN_C:
            if can_compile():
                self.distribution.ext_modules = [*WRITTEN_IN_C, *compiled_python()]
            else:
                self.warn("there is no C compiler, or no Python.h: everything stays interpreted, and works more slowly")
        super().finalize_options()

    def build_extensions(self) -> None:
        """Build what can be built here."""
        if not can_compile():
            self.extensions = [one for one in self.extensions if one.optional]
        self._compile_one, self.compiler.compile = self.compiler.compile, self._compile
        try:
            super().build_extensions()
        except (CompileError, LinkError) as error:  # the modules' common library comes first, so none of them is there
            self.warn(f"the server's modules stay interpreted: {error}")
            self.extensions = WRITTEN_IN_C
            super().build_extensions()

    def run(self) -> None:
        """Build; in a checkout, note what the library was made from, and remove what was compiled and is no more."""
        digests = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in COMPILED}
        super().run()
        if self.inplace or self.editable_mode:
            is_compiled = self.extensions != WRITTEN_IN_C
            remove_others(COMPILED if is_compiled else [])
            if is_compiled:
                MADE_FROM.write_text(json.dumps(digests))

    def _compile(self, sources: list[str], **options: Any) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda source: self._compile_one([source], **options), sources)
            return [file for files in made for file in files]


setup(ext_modules=WRITTEN_IN_C, cmdclass={"build_ext": BuildAll})
