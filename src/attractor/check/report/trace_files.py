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
    stems = file_names(verdict)
    for each in verdict.violations():
        if each.trace:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{stems[each.name]}.json"
            path.write_text(json.dumps(each.trace.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            written[each.name] = path
    return written


def file_names(verdict: Verdict) -> dict[str, str]:
    """A file name for each violated property; no two are the same, also where letters differ in their case only."""
    names: dict[str, str] = {}
    for each in verdict.violations():
        name = plain = file_name(verdict.spec, each.name)
        number = 1
        while name in names.values():
            number += 1
            name = f"{plain}-{number}"
        names[each.name] = name
    return names


def file_name(spec: str, claim: str) -> str:
    """``lift-never-two-primaries`` for the property ``never_two_primaries`` of ``Lift(floors=3)``."""
    return re.sub(r"[\W_]+", "-", f"{spec.partition('(')[0]} {claim}".lower()).strip("-")
