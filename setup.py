"""Build hook: compile the optional native parts where a C compiler exists, and install without them where not."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/attractor/check/kernel")

setup(
    ext_modules=[
        Extension(
            "attractor.check._kernel",
            [str(NATIVE / "kernel.c")],
            depends=sorted(str(path) for path in NATIVE.iterdir()),
            extra_compile_args=["-O3", "-std=c11", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra"],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]
    if (NATIVE / "kernel.c").exists()
    else [],
)
