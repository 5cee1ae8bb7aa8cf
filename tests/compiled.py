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
        return []
    noted = LIBRARY.with_name(f"{LIBRARY.name}.json")
    made_from = json.loads(noted.read_text()) if noted.exists() else {}
    sources = {str(source.relative_to(ROOT)): hashlib.sha256(source.read_bytes()).hexdigest() for source in SOURCES}
    return [name for name, digest in sources.items() if made_from.get(name) != digest]
