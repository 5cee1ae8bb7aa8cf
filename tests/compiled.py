"""The modules that are compiled where there is a C compiler, and which of them are not what their source says."""

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
    """Modules that were edited after they were compiled: Python would import what they were."""
    if not LIBRARY.exists():
        return []
    made = LIBRARY.stat().st_mtime
    return [str(source.relative_to(ROOT)) for source in SOURCES if source.stat().st_mtime > made]
