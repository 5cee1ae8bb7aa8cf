"""The directory for ``KUBEBUILDER_ASSETS``: three small scripts that start this very Python."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path

import attractor

PROGRAMS = {"kube-apiserver": "attractor.cli.envtest.apiserver", "etcd": "attractor.cli.envtest.etcd"}
_SCRIPT = """\
#!/bin/sh
# {name} of attractor {version}: see `attractor envtest --help`
exec {python} -P -m {module} "$@"
"""
_KUBECTL = """\
#!/bin/sh
# kubectl as it is installed on this machine: Attractor brings none
here=$(dirname "$(readlink -f "$0")")
IFS=:
for place in $PATH; do
  if [ -x "$place/kubectl" ] && [ "$(readlink -f "$place")" != "$here" ]; then exec "$place/kubectl" "$@"; fi
done
echo "error: kubectl is not installed on this machine" >&2
echo "hint: install it; envtest itself, and clients in Go, do without" >&2
exit 127
"""


def default_directory() -> Path:
    """Where the programs of this installation are: another Python, or another version, has its own."""
    base = os.environ.get("XDG_CACHE_HOME")
    cache = Path(base) if base else Path.home() / ".cache"
    installation = hashlib.sha256(f"{sys.executable}\n{attractor.__file__}".encode()).hexdigest()[:8]
    return cache / "attractor" / "envtest" / f"{attractor.__version__}-{installation}"


def write_programs(directory: Path) -> None:
    """Write the programs, each at once, so that whoever starts one meanwhile finds a whole one."""
    directory.mkdir(parents=True, exist_ok=True)
    python, version = shlex.quote(sys.executable), attractor.__version__
    for name, module in PROGRAMS.items():
        _write(directory / name, _SCRIPT.format(name=name, version=version, python=python, module=module))
    _write(directory / "kubectl", _KUBECTL)


def _write(path: Path, script: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == script:
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(script, encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(path)
