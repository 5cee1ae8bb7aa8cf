"""Certificates: what a stranger needs to check a *holds* again without this engine.

A certificate has the packed states, every execution of a routine (what it read, what it wrote) in the order in which
they happened, and for promises about whole runs a rank of each state. ``attractor_verify`` reads it, and shares no code
with this folder. ``writer`` makes the file, ``ranks`` the ranks, ``sources`` names what it was made from. The format is
described in ``docs/reference/certificate-files.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.check.verdict import Verdict

__all__ = ["require_sense", "written"]


def require_sense(path: Path, engine: str, order: str, *, reduced: bool, resumed: bool) -> None:
    """Refuse what leaves out states or steps that a verifier would miss; an older file of that name goes."""
    if engine == "python" or order == "depth":
        raise SpecError("a certificate is written by the native engine's breadth-first search only")
    if reduced:
        raise SpecError("a certificate needs every state; check without `symmetry`")
    if resumed:
        raise SpecError("a certificate needs every step of the search; start it anew, without `resume`")
    if not path.absolute().parent.is_dir():
        raise SpecError(f"a certificate cannot be written to {path}: there is no such directory")
    path.unlink(missing_ok=True)


def written(path: Path, spec: Any, exploration: Any, verdict: Verdict, target: str) -> str:
    """Write the certificate of a verdict; answers why it was not written, or nothing."""
    from attractor.check.certificates.ranks import NotCertified  # few checks write one
    from attractor.check.certificates.writer import write

    if verdict.verdict not in {"holds", "holds within"}:
        return f"no certificate was written: the verdict is {verdict.verdict}"
    if not hasattr(exploration, "packed"):
        return "no certificate was written: that is done by the native engine, which was not built"
    try:
        write(path, spec, exploration, verdict, target)
    except NotCertified as problem:
        return f"no certificate was written: {problem}"
    return ""
