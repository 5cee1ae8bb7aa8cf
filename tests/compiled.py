"""The modules that are compiled where there is a C compiler, and which of them are not what their source says."""

import hashlib
import json
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = tuple(
    ROOT / name for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["attractor"]["compiled"]
)
LIBRARY = ROOT / f"src/attractor__mypyc{sysconfig.get_config_var('EXT_SUFFIX')}"
"""What this Python finds compiled: all of the modules; beside each of them lies a library that only leads here."""


def stale() -> list[str]:
    """Modules that are not what was compiled: Python would import what they were."""
    if not LIBRARY.exists():
        return left_over()
    noted = LIBRARY.with_name(f"{LIBRARY.name}.json")
    made_from = json.loads(noted.read_text()) if noted.exists() else {}
    sources = {str(source.relative_to(ROOT)): hashlib.sha256(source.read_bytes()).hexdigest() for source in SOURCES}
    return [name for name, digest in sources.items() if made_from.get(name) != digest] + left_over()


def left_over() -> list[str]:
    """Modules that were compiled once and are not on the list any more; without the library, all of them."""
    suffix = LIBRARY.name.removeprefix("attractor__mypyc")
    known = {source.with_name(source.stem + suffix) for source in SOURCES} if LIBRARY.exists() else set()
    libraries = (ROOT / "src" / "attractor").rglob(f"*{suffix}")
    return sorted(
        f"{each.relative_to(ROOT)}".removesuffix(suffix) + ".py"
        for each in libraries
        if each not in known and not each.name.startswith("_kernel.")
    )
