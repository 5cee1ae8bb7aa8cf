"""Writing a certificate: a line of JSON, and sections of packed bytes behind it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import zlib
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import attractor
from attractor.check.certificates.ranks import NotCertified, Ranking
from attractor.check.certificates.sources import sources_of, target_of
from attractor.check.engine.execution import evaluations, padded
from attractor.check.engine.model import AFTER, CHOICE, COPY, DERIVED, UPDATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from attractor.check.engine.execution import Outcome
    from attractor.check.engine.model import Model, State
    from attractor.check.engine.native import NativeSearch
    from attractor.check.spec.properties import Case, Property
    from attractor.check.verdict import Verdict

MARK = b"attractor certificate 1\n"
CHUNK = 1 << 16
"""So many states are packed together."""
SLOT, LATER, TRUTH, FORK = range(4)
"""What a reference in a row is of: a slot, a slot after the step, a predicate, a choice."""
NUMBER, COPIED, UPDATED = range(3)
"""How a row writes a slot."""


@dataclass(frozen=True)
class Certified:
    """The result of writing a certificate."""

    states: int
    rows: int
    size_bytes: int


def write(path: Path, spec: Any, search: NativeSearch, verdict: Verdict, target: str = "") -> Certified:
    """Write the certificate of a verdict that holds; raises ``NotCertified`` where that cannot be."""
    return _Writer(spec, search, verdict, target).write(path)


class _Writer:
    def __init__(self, spec: Any, search: NativeSearch, verdict: Verdict, target: str) -> None:
        self.spec, self.search, self.verdict, self.target = spec, search, verdict, target
        self.model: Model = search.model
        self.order: list[int] = []
        """The numbers of the states in the order of the certificate."""
        self.rows = 0
        self._ranking: Ranking | None = None

    def write(self, path: Path) -> Certified:
        self._judge_starts()
        columns = list(self._columns())
        rows = zlib.compress(bytes(self._rows()), 6)  # by now everything was executed, and no slot will be new
        bits, packed = self.search.packed()
        words, fields = laid_out(bits)
        states = b"".join(self._states(packed, words))
        ranks = b"".join(block for _, column in columns for block in self._packed_ranks(column))
        header = self._header(words, fields, [told for told, _ in columns])
        sections = {"rows": rows, "states": states, "ranks": ranks}
        header["sections"] = [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in sections.items()
        ]
        text = json.dumps(header, ensure_ascii=False).encode() + b"\n"
        seal = hashlib.sha256(text).hexdigest().encode() + b"\n"
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            beside.write_bytes(MARK + seal + text + b"".join(sections.values()))
            beside.replace(path)
        except OSError as problem:
            beside.unlink(missing_ok=True)
            raise NotCertified(f"it cannot be written to {path}: {problem.strerror}") from None
        return Certified(len(self.order), self.rows, path.stat().st_size)

    def _header(self, words: int, fields: list[tuple[int, int, int]], columns: list[dict[str, Any]]) -> dict[str, Any]:
        model = self.model
        domains: dict[int, int] = {}
        places = {number: place for place, number in enumerate(self.order)}
        return {
            "attractor": attractor.__version__,
            "python": platform.python_version(),
            "title": self.verdict.spec,
            "target": target_of(self.spec, self.target),
            "grown": self.spec.found_parts() if hasattr(self.spec, "found_parts") else [],
            "sources": sources_of(self.spec, self.target),
            "deadlock": any(each.kind == "deadlock" for each in self.verdict.properties),
            "properties": [[each.name, each.kind] for each in self.verdict.properties if each.kind != "deadlock"],
            "bounds": [bound.text for bound in self.verdict.binding],
            "within": list(self.verdict.within),
            "warnings": list(self.verdict.warnings),
            "states": len(self.order),
            "rows": self.rows,
            "words": words,
            "slots": [
                [slot.name, domains.setdefault(id(slot.domain), len(domains)), *field, slot.default]
                for slot, field in zip(model.slots, fields, strict=True)
            ],
            "initial": [list(padded(model, state)) for state in model.initial],
            "starts": [places.get(-1 if (at := self.search.find(state)) is None else at) for state in model.initial],
            "actions": [action.label for action in model.actions],
            "predicates": [predicate.label for predicate in model.predicates],
            "columns": columns,
            "witnesses": list(self._witnesses(places)),
        }

    # Rows

    def _rows(self) -> bytearray:
        """Every execution, in the order in which they happened; each of its instances has a row of its own."""
        instances = [*self.model.actions, *self.model.predicates]
        seen: set[tuple[Any, ...]] = set()
        out = bytearray()
        for entry in self.search.log:
            if len(entry) == 3:
                numbers(out, (1, *entry))
                self.rows += 1
                continue
            for instance in entry[0]:
                for outcome in entry[1]:
                    row = tuple(
                        _row(instance, instances[instance].binding, outcome, instance < len(self.model.actions))
                    )
                    if row not in seen:
                        seen.add(row)
                        numbers(out, (0, *row))
                        self.rows += 1
        return out

    # States

    def _states(self, packed: bytes, words: int) -> Iterator[bytes]:
        """The states in order, byte by byte, compressed."""
        width = 8 * words
        count = len(packed) // width
        keys = [int.from_bytes(packed[at : at + width], "little") for at in range(0, len(packed), width)]
        self.order = sorted(range(count), key=keys.__getitem__)
        for start in range(0, count, CHUNK):
            chosen = self.order[start : start + CHUNK]
            yield _section(b"".join(packed[number * width : (number + 1) * width] for number in chosen), width)

    # Promises

    @property
    def ranking(self) -> Ranking:
        """The graph of all steps, collected once."""
        if self._ranking is None:
            self._ranking = Ranking(self.search.graph(), len(self.model.actions), self.model.fairness)
        return self._ranking

    def _claimed(self) -> list[Property]:
        names = {each.name for each in self.verdict.properties}
        return [claim for claim in self.model.properties if claim.name in names]

    def _judge_starts(self) -> None:
        """Log what is said of initial states: whether they are outside a constraint, and start what they refine."""
        for state in self.model.initial:
            for constraint in self.model.constraints if self.search.find(state) is None else ():
                self._log(constraint, state)
        starts = self._initially()
        for claim in self._claimed():
            for case in claim.cases if claim.kind == "refines" else ():
                self.search.mask(case.operands[0], starts)

    def _log(self, predicate: int, state: State) -> None:
        outcomes = evaluations(self.model, self.model.predicates[predicate], state)
        self.search.log.append(((len(self.model.actions) + predicate,), outcomes))
        for ref in {ref for outcome in outcomes for ref, _ in outcome.path if CHOICE > ref >= DERIVED}:
            self._log(ref ^ DERIVED, state)

    def _columns(self) -> Iterator[tuple[dict[str, Any], array[int]]]:
        """The columns of ranks: one for each case of a promise, and one for all promises of the end."""
        ends = []
        for claim in (each for each in self._claimed() if each.is_liveness):
            if claim.kind in {"eventually_always", "settles"}:
                ends.append(claim)
                continue
            for number, case in enumerate(claim.cases):
                yield {"property": claim.name, "case": number}, self._region_ranks(claim, case)
        if ends:
            yield {"property": None, "case": 0}, self._end_ranks(ends)

    def _initially(self) -> bytearray:
        mask = bytearray(self.search.counts.distinct)
        for index in self.search.initial():
            mask[index] = 1
        return mask

    def _packed_ranks(self, ranks: array[int]) -> Iterator[bytes]:
        for start in range(0, len(self.order), CHUNK):
            chunk = array("I", [ranks[number] for number in self.order[start : start + CHUNK]])
            if sys.byteorder == "big":
                chunk.byteswap()
            yield _section(chunk.tobytes(), 4)

    def _region_ranks(self, claim: Property, case: Case) -> array[int]:
        missing = _not(self.search.mask(case.operands[-1]))
        match claim.kind:
            case "always_eventually":
                region = missing
            case "eventually" | "until":
                region = self.ranking.reachable(self._initially(), missing)
            case _:
                premise = self.search.mask(case.operands[0])
                pending = bytearray(map(int.__and__, premise, missing))
                region = pending if case.henceforth else self.ranking.reachable(pending, missing)
        ranks, fair = self.ranking.ranks(region)
        if fair:
            raise NotCertified(f"`{claim.name}` holds, but {self.ranking.why_not()}")
        return ranks

    def _end_ranks(self, claims: list[Property]) -> array[int]:
        ranks, fair = self.ranking.ranks()
        for claim in claims:
            for case in claim.cases:
                ends = bytearray(self.ranking.size)
                for component in fair:
                    for state in component:
                        ends[state] = 1
                kept = self.search.mask(case.operands[-1], ends)
                for component in fair:
                    values = {kept[state] for state in component}
                    if values != {1} and (claim.kind == "eventually_always" or len(values) > 1):
                        raise NotCertified(f"`{claim.name}` holds, but {self.ranking.why_not()}")
        return ranks

    def _witnesses(self, places: dict[int, int]) -> Iterator[dict[str, Any]]:
        """For each ``sometimes`` a run to a state that it asks for."""
        for claim in self._claimed():
            if claim.kind != "sometimes":
                continue
            number = self.model.properties.index(claim)
            case, finding = next(
                (case, found) for (each, case), found in self.search.findings.items() if each == number
            )
            if finding.after is not None:
                raise NotCertified(f"`{claim.name}` is true outside the constraint only, where no state is kept")
            path: list[int] = []
            at: int | None = finding.state
            while at is not None:
                path.append(places[at])
                at = self.search.parent(at)
            yield {"property": claim.name, "case": case, "run": path[::-1]}


def laid_out(bits: list[int]) -> tuple[int, list[tuple[int, int, int]]]:
    """How many words a state has, and each slot's word, its place there, and its bits: widest first, first fit."""
    used = [0]
    fields = [(0, 0, 0)] * len(bits)
    for slot in sorted((each for each, width in enumerate(bits) if width), key=lambda each: (-bits[each], each)):
        word = next((each for each, taken in enumerate(used) if taken + bits[slot] <= 64), len(used))
        if word == len(used):
            used.append(0)
        fields[slot] = word, used[word], bits[slot]
        used[word] += bits[slot]
    return len(used), fields


def numbers(out: bytearray, values: Iterable[int]) -> None:
    """Append numbers, seven bits to a byte, the lowest first."""
    for value in values:
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7  # noqa: PLW2901 - what is left of it
        out.append(value)


def _row(instance: int, binding: tuple[int, ...], outcome: Outcome, is_action: bool) -> Iterator[int]:
    yield instance
    yield len(outcome.path)
    for ref, number in outcome.path:
        yield _reference(binding[-1 - ref] if ref < 0 else ref)
        yield number
    if not is_action:
        yield int(bool(outcome.leaf))
        return
    if not isinstance(outcome.leaf, tuple):
        yield 0
        return
    yield 1 + len(outcome.leaf)
    for ref, value in outcome.leaf:
        yield binding[-1 - ref] if ref < 0 else ref
        if value & COPY:
            yield (value ^ COPY) << 2 | COPIED
        else:
            yield (value ^ UPDATE) << 2 | UPDATED if value & UPDATE else value << 2 | NUMBER


def _reference(ref: int) -> int:
    for flag, kind in ((CHOICE, FORK), (DERIVED, TRUTH), (AFTER, LATER)):
        if ref & flag:
            return (ref ^ flag) << 2 | kind
    return ref << 2 | SLOT


def _section(data: bytes | bytearray, width: int) -> bytes:
    """Records of one width as a compressed block: first all their first bytes, then all their second ones, ..."""
    block = zlib.compress(b"".join(bytes(data[at::width]) for at in range(width)), 6)
    return len(block).to_bytes(4, "little") + block


def _not(mask: bytearray) -> bytearray:
    return bytearray(mask.translate(bytes([1, 0]) + bytes(254)))
