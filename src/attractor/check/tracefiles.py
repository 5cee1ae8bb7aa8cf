"""Counterexamples as files: one JSON file for each violated property, named after specification and property."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.check.verdict import Verdict


def save_traces(verdict: Verdict, folder: Path) -> dict[str, Path]:
    """Write the trace of each violated property below ``folder``; return the files by property."""
    written = {}
    for each in verdict.violations():
        if each.trace:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{file_name(verdict.spec, each.name)}.json"
            path.write_text(json.dumps(each.trace.to_json(), ensure_ascii=False, indent=1) + "\n")
            written[each.name] = path
    return written


def file_name(spec: str, claim: str) -> str:
    """``lift-never-two-primaries`` for the property ``never_two_primaries`` of ``Lift(floors=3)``."""
    return re.sub(r"[^a-z0-9]+", "-", f"{spec.partition('(')[0]} {claim}".lower()).strip("-")
