"""Build hook: compile the optional native parts where a C compiler exists, and install without them where not."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/attractor/check/_kernel.c")

setup(
    ext_modules=[
        Extension(
            "attractor.check._kernel",
            [str(NATIVE)],
            extra_compile_args=["-O3", "-std=c11", "-pthread"],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]
    if NATIVE.exists()
    else [],
)
