"""What a request costs grows with its bytes, whatever they say: counted in steps, and in instructions, never in time.

The families of ``attacks`` are measured at a size and at four times that size. A quarter of the growth is allowed for
what is rounded up; what grows with the square of a request, or faster, is far beyond it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from attractor.objects.yaml_json import YamlError, parse_yaml
from tests.compiled import ROOT
from tests.fuzz.attacks import by_hand
from tests.fuzz.widened import widened

SIZES = (100, 400)
GROWTH = 1.6
"""By how much more than its bytes a request's cost may grow."""
FREE_STEPS, FREE_INSTRUCTIONS = 20_000, 20_000_000
"""Some hundredths of a second, which nobody can multiply by sending more."""
MAX_STEPS_PER_BYTE, ANY_STEPS = 250, 1_200_000
"""The costliest bytes are those of rules, and the budget of steps that any text has."""
INSIDE_C = (
    "json_unknown_fields", "json_unknown_and_repeated", "json_repeated_known", "json_custom_unknown", "json_nested_unknown",
    "owners", "strategic_primitives", "strategic_retained", "strategic_deletes", "json_patch_inserts", "yaml_tags", "timestamps",
    "refused_pod_change", "role_of_many_rules", "quantity_digits", "label_selector_values", "cel_strings", "applied_conflicts",
)  # fmt: skip
"""Families whose work is done in C for the greater part: sets, texts, digits."""


class Cost(NamedTuple):
    bytes: int
    steps: int


def measured(command: list[str], package: Path, names: list[str]) -> dict[str, list[Cost]]:
    given = {**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "0"}
    words = [*command, *map(str, SIZES), "--", *names]
    lines = subprocess.run(words, cwd=ROOT, env=given, capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[str, list[Cost]] = {}
    for row in map(json.loads, lines):
        found.setdefault(row["name"], []).append(Cost(row["bytes"], row["steps"]))
    assert set(found) == set(names)
    return found


def beyond(costs: dict[str, list[Cost]], free: int) -> dict[str, list[Cost]]:
    """Those that grow faster than their bytes."""
    return {
        name: [small, large]
        for name, (small, large) in costs.items()
        if large.steps > GROWTH * large.bytes / small.bytes * small.steps + free
    }


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package without anything compiled, whose steps can be counted."""
    there = tmp_path_factory.mktemp("interpreted")
    shutil.copytree(ROOT / "src", there, ignore=shutil.ignore_patterns("*.so", "__pycache__"), dirs_exist_ok=True)
    return there


COUNT = [sys.executable, "-m", "tests.fuzz.costs", "steps"]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_steps_of_every_decoder_are_linear_in_bytes(interpreted: Path, part: int) -> None:
    costs = measured(COUNT, interpreted, sorted(by_hand())[part::4])
    assert beyond(costs, FREE_STEPS) == {}
    dear = {name: cost for name, (_, cost) in costs.items() if cost.steps > ANY_STEPS + MAX_STEPS_PER_BYTE * cost.bytes}
    assert dear == {}


@pytest.mark.nightly
def test_the_steps_of_every_widened_object_are_linear_in_bytes(interpreted: Path) -> None:
    assert beyond(measured(COUNT, interpreted, sorted(widened())), FREE_STEPS) == {}


@pytest.mark.slow
def test_the_search_finds_a_quadratic_loop() -> None:
    """The measure itself: what would be found, and what would not."""
    assert beyond({"linear": [Cost(1000, 50_000), Cost(4000, 200_000)]}, FREE_STEPS) == {}
    assert beyond({"square": [Cost(1000, 10_000), Cost(4000, 160_000)]}, FREE_STEPS)
    assert beyond({"explosion": [Cost(444, 5_000), Cost(900, 5_000_000)]}, FREE_STEPS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", INSIDE_C)
def test_the_instructions_of_what_c_does_are_linear_in_bytes(tmp_path: Path, name: str) -> None:
    out = tmp_path / "callgrind"
    valgrind = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={out}"]
    costs = measured([*valgrind, sys.executable, "-m", "tests.fuzz.costs", "mark"], ROOT / "src", [name])[name]
    # A file is closed where a mark begins: the second of each pair holds what the request itself has cost.
    spent = [
        int(re.findall(r"^totals: (\d+)", Path(f"{out}.{place}").read_text(), re.MULTILINE)[-1]) for place in (2, 4)
    ]
    assert (
        beyond({name: [Cost(one.bytes, count) for one, count in zip(costs, spent, strict=True)]}, FREE_INSTRUCTIONS)
        == {}
    )


def nested(levels: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}" for level in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("levels", [8, 40])
def test_nested_merge_keys_of_a_few_bytes_are_refused(levels: int) -> None:
    """444 bytes took 7.5 seconds, two kilobytes 400 seconds and five gigabytes."""
    with pytest.raises(YamlError, match="excessive aliasing"):
        parse_yaml(nested(levels))


def test_merge_keys_and_aliases_that_people_write_are_read() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\none: {<<: *base, b: 5}\ntwo: {<<: [*base, *more], d: 6}\nthree: [*base, *base]"
    assert parse_yaml(text) == {
        "base": {"a": 1, "b": 2},
        "more": {"b": 3, "c": 4},
        "one": {"a": 1, "b": 5},
        "two": {"a": 1, "b": 2, "c": 4, "d": 6},
        "three": [{"a": 1, "b": 2}, {"a": 1, "b": 2}],
    }
