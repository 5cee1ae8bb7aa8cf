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

MARK = b"attractor certificate 2\n"
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
        rows = self._rows()  # by now everything was executed, and no slot will be new
        bits, packed = self.search.packed()
        words, fields = laid_out(bits)
        states = self._states(packed, words)
        ranks = (array("I", [column[number] for number in self.order]) for column in columns)
        sections = {"rows": _section([rows]), "states": _section(states), "ranks": _section(ranks)}
        header = self._header(words, fields)
        header["sections"] = [
            [name, "Q" if name == "states" else "I", len(data), hashlib.sha256(data).hexdigest()]
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

    def _header(self, words: int, fields: list[tuple[int, int, int]]) -> dict[str, Any]:
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
            "words": words,
            "slots": [
                [slot.name, domains.setdefault(id(slot.domain), len(domains)), *field, slot.default]
                for slot, field in zip(model.slots, fields, strict=True)
            ],
            "initial": [list(padded(model, state)) for state in model.initial],
            "starts": [places.get(-1 if (at := self.search.find(state)) is None else at) for state in model.initial],
            "actions": [action.label for action in model.actions],
            "predicates": [predicate.label for predicate in model.predicates],
            "witnesses": list(self._witnesses(places)),
        }

    # Rows

    def _rows(self) -> array[int]:
        """Every execution, in the order in which they happened; each of its instances has a row of its own."""
        instances = [*self.model.actions, *self.model.predicates]
        seen: set[tuple[Any, ...]] = set()
        out = array("I")
        for entry in self.search.log:
            if len(entry) == 3:
                update, before, after = entry
                rows: list[tuple[int, ...]] = [(len(instances) + update, 1, 0, before, after)]
            else:
                rows = [
                    tuple(_row(number, instances[number].binding, outcome, number < len(self.model.actions)))
                    for number in entry[0]
                    for outcome in entry[1]
                ]
            for row in rows:
                if row not in seen:
                    seen.add(row)
                    out.extend(row)
                    self.rows += 1
        return out

    # States

    def _states(self, packed: bytes, words: int) -> Iterator[array[int]]:
        """The states in ascending order, the last word counting most."""
        width = 8 * words
        keys = [int.from_bytes(packed[at : at + width], "little") for at in range(0, len(packed), width)]
        self.order = sorted(range(len(keys)), key=keys.__getitem__)
        for start in range(0, len(keys), CHUNK):
            chosen = self.order[start : start + CHUNK]
            yield array("Q", b"".join(packed[number * width : (number + 1) * width] for number in chosen))

    # Promises

    @property
    def ranking(self) -> Ranking:
        """The graph of all steps, collected once."""
        if self._ranking is None:
            self._ranking = Ranking(self.search.graph(), len(self.model.actions), self.model.fairness)
        return self._ranking

    def _claimed(self) -> list[Property]:
        """What is certified, in the order of the header."""
        claims = {claim.name: claim for claim in self.model.properties}
        return [claims[each.name] for each in self.verdict.properties if each.kind != "deadlock"]

    def _judge_starts(self) -> None:
        """Log what is said of initial states: whether they are outside a constraint, and start what they refine."""
        for state in self.model.initial:
            for constraint in self.model.constraints if self.search.find(state) is None else ():
                self._log(constraint, state)
        starts = self._initially()
        for claim in self._claimed():
            if claim.abstract:
                raise NotCertified(f"`{claim.name}` refines a specification with fairness, for which there is no rank")
            for case in claim.cases if claim.kind == "refines" else ():
                self.search.mask(case.operands[0], starts)

    def _log(self, predicate: int, state: State) -> None:
        outcomes = evaluations(self.model, self.model.predicates[predicate], state)
        self.search.log.append(((len(self.model.actions) + predicate,), outcomes))
        for ref in {ref for outcome in outcomes for ref, _ in outcome.path if CHOICE > ref >= DERIVED}:
            self._log(ref ^ DERIVED, state)

    def _columns(self) -> Iterator[array[int]]:
        """The columns of ranks: one for each case of a promise, and one for all promises of the end."""
        ends = []
        for claim in (each for each in self._claimed() if each.is_liveness):
            if claim.kind in {"eventually_always", "settles"}:
                ends.append(claim)
            else:
                yield from (self._region_ranks(claim, case) for case in claim.cases)
        if ends:
            yield self._end_ranks(ends)

    def _initially(self) -> bytearray:
        mask = bytearray(self.search.counts.distinct)
        for index in self.search.initial():
            mask[index] = 1
        return mask

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


def _section(columns: Iterable[array[int]]) -> bytes:
    """Numbers, the lowest byte first, compressed."""
    packing, out = zlib.compressobj(6), b""
    for column in columns:
        if sys.byteorder == "big":
            column.byteswap()
        out += packing.compress(column.tobytes())
    return out + packing.flush()


def _not(mask: bytearray) -> bytearray:
    return bytearray(mask.translate(bytes([1, 0]) + bytes(254)))
