"""A table for people: plain text as in a design document, Markdown, and a whole page of documentation."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.lifecycle.table import Lifecycle, Row

_HEADINGS = ("Current State", "Actor", "Next State")


def cells(rows: Sequence[Row[Any, Any]]) -> list[tuple[str, str, str]]:
    """The rows as text; a state stands only in the first of its lines."""
    lines = []
    for state, group in groupby(rows, key=lambda row: row.state):
        shown = str(state)
        for row in group:
            remark = f" ({row.remark})" if row.remark else ""
            lines.append((shown, f"{row.actor} {row.event}", f"{row.next}{remark}"))
            shown = ""
    return lines


def text_table(table: Lifecycle[Any, Any], *, overrides: bool = False) -> str:
    """The table as plain text, one line for each row."""
    lines = cells(table.rows if overrides else table.steps)
    widths = [max(len(heading), *(len(line[i]) for line in lines)) for i, heading in enumerate(_HEADINGS)]
    ruled = [_HEADINGS, tuple("=" * len(heading) for heading in _HEADINGS), *lines]
    text = ("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in ruled)
    return "\n".join(text) + "\n"


def markdown(table: Lifecycle[Any, Any], *, overrides: bool = False) -> str:
    """The table in Markdown."""
    lines = [_HEADINGS, ("---",) * 3, *cells(table.rows if overrides else table.steps)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page(table: Lifecycle[Any, Any], *, diagram: str = "") -> str:
    """A page about a lifecycle: who owns which state, the table, what administrators may do, and how long it may take.

    ``diagram`` is the address of its drawing, if there is one.
    """
    parts = [f"# The life of a {table.name}\n"]
    if diagram:
        parts.append(f"![{table.name}]({diagram})\n")
    parts.append("Every state belongs to one actor, and only that actor moves it:\n")
    for actor in dict.fromkeys(row.actor for row in table.steps):
        owned = ", ".join(f"`{state}`" for state in table.states if table.owner(state) == actor)
        parts.append(f"- the **{actor}** moves {owned};")
    parts += [f"- nobody moves `{state}`." for state in sorted(table.final)]
    parts.append("\n" + markdown(table))
    rest = ", ".join(f"`{state}`" for state in table.states if state in table.resting)
    failed = ", ".join(f"`{state}`" for state in table.states if state in table.errors)
    parts.append(f"A wish is accepted in {rest}. Work has failed in {failed or 'no state'}.\n")
    special = [row for row in table.rows if row.kind == "override"]
    if special:
        parts.append("An administrator may, beside all this:\n\n" + _as_rows(special))
    if table.timeouts_s:
        parts.append("People are told, and nothing is undone, when a state lasts too long:\n")
        parts += [f"- `{state}`: {limit_s / 60:g} min" for state, limit_s in table.timeouts_s.items()]
    return "\n".join(parts) + "\n"


def _as_rows(rows: Sequence[Row[Any, Any]]) -> str:
    lines = [_HEADINGS, ("---",) * 3, *((str(row.state), f"{row.actor} {row.event}", str(row.next)) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
