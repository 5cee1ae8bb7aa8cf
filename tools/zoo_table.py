"""Measure the zoo again: write the numbers of ``tests/quality/test_zoo.py`` and the rows of its page.

Run it after a change of the checker that changes traces or counts on purpose, and read the difference:
``.venv/bin/python tools/zoo_table.py && git diff tests/quality docs/explanation/zoo.md``.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from attractor.check import check  # noqa: E402
from tests.quality.test_zoo import ANIMALS, PAGE, Animal, row  # noqa: E402

TABLE = ROOT / "tests" / "quality" / "test_zoo.py"


def measured(animal: Animal) -> Animal:
    """The animal with today's numbers; raises ``NotShown`` where the bug is not found or the twin does not hold."""
    trace = check(animal.world("buggy"), stop_at_first=True).assert_violated(animal.claim)
    twin = check(animal.world("fixed")).assert_holds()
    return replace(animal, steps=len(trace), loop=trace.loop, fixed_states=twin.distinct)


def line(animal: Animal) -> str:
    """The animal in the test's table."""
    numbers = f"{animal.steps}, {animal.loop}, {animal.fixed_states}"
    return f'    Animal("{animal.name}", "{animal.claim}", {numbers}),\n'


def main() -> None:
    """Write both tables."""
    animals = [measured(animal) for animal in ANIMALS]
    lines = "".join(map(line, animals))
    text = TABLE.read_text()
    TABLE.write_text(re.sub(r"ANIMALS = \[\n.*?\n\]\n", lambda _: f"ANIMALS = [\n{lines}]\n", text, flags=re.DOTALL))
    kept = [each for each in PAGE.read_text().splitlines() if "`attractor check tests" not in each]
    PAGE.write_text("\n".join([*kept, *map(row, animals)]) + "\n")
    print(f"{len(animals)} animals")


if __name__ == "__main__":
    main()
