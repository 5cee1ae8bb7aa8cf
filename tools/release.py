"""Build a release into ``dist``: a source distribution, a wheel for this Python, a bill of materials, digests.

    .venv/bin/python tools/release.py [--directory dist]

The wheel is built from the source distribution and not from the checkout, so that what is missing there is noticed.
It gets the oldest manylinux tag that its libraries allow (``auditwheel``), and is refused where they allow none.
Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_SHIPPED = (".proto", "README.md")
"""Sources of what is generated, and notes on them."""


def run(*words: str | Path, **environ: str) -> None:
    """A step; it says itself what went wrong."""
    subprocess.run([*map(str, words)], cwd=ROOT, check=True, env={**os.environ, **environ}, stdout=sys.stderr)


def say(text: str) -> None:
    """Progress, for whoever waits."""
    print(f"release: {text}", file=sys.stderr, flush=True)


def tracked(under: str = ".") -> list[str]:
    """The files that belong to the project."""
    words = ["git", "ls-files", "-z", under]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name]


def source_distribution(directory: Path) -> Path:
    """Build it in a copy of what is tracked: what lies about in a checkout is not released."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in tracked():
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, Path(scratch) / name)
        build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
        words = [sys.executable, "-c", build, str(directory)]
        subprocess.run(words, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    (found,) = directory.glob("*.tar.gz")
    return found


def wheel(source: Path, directory: Path) -> Path:
    """Build it from the source distribution, and give it the tag that its libraries deserve."""
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", scratch, source)
        (built,) = Path(scratch).glob("*.whl")
        if any(name.endswith(".so") for name in zipfile.ZipFile(built).namelist()):
            beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", directory, built, PATH=beside)
        else:
            say("no C compiler: the wheel is interpreted; release from a machine that has one")
            shutil.copy2(built, directory)
    (found,) = directory.glob("*.whl")
    return found


def missing(built: Path) -> list[str]:
    """Files of the packages that a wheel lacks: without its data an installed package would be broken, or untyped."""
    packages = {name.removeprefix("src/") for name in tracked("src") if not name.endswith(NOT_SHIPPED)}
    return sorted(packages - {*zipfile.ZipFile(built).namelist()})


def main() -> int:
    """Build everything anew; print what was made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--directory", type=Path, default=ROOT / "dist", help="where it goes; emptied first")
    directory = parser.parse_args().directory.resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    say("source distribution")
    source = source_distribution(directory)
    say("wheel, from the source distribution; compiling takes a minute or two")
    built = wheel(source, directory)
    if lacking := missing(built):
        print(f"error: {built.name} lacks {', '.join(lacking)}", file=sys.stderr)
        return 1
    say("bill of materials")
    run(sys.executable, "tools/sbom.py", directory / "attractor.cdx.json")
    files = sorted(path for path in directory.iterdir() if path.is_file())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (directory / "SHA256SUMS").write_text(sums)
    print(sums, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
