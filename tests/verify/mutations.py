"""Certificates changed so that they prove nothing, and sealed again, so that no digest gives them away.

Each mutation is one lie: it is told where a verifier that only looked at digests, or only at some states or rows, would
believe it.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import zlib
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor_verify.certificate import MARK, Certificate
from attractor_verify.replay import rows_of
from tests.verify.plain import Plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NUMBER = 0


class Row(NamedTuple):
    """What an instance read or chose, and what came of it: a truth, None for a disabled step, or what it writes."""

    instance: int
    path: tuple[tuple[int, int], ...]
    leaf: Any


class Update(NamedTuple):
    """What an update makes of a number."""

    update: int
    before: int
    after: int


@dataclass
class Opened:
    """A certificate in parts that can be changed."""

    header: dict[str, Any]
    rows: list[Any]
    states: list[tuple[int, ...]]
    ranks: list[list[int]]
    edges: dict[int, set[int]] = field(default_factory=dict)
    """Where steps lead, by numbers of states."""
    used: frozenset[int] = frozenset()
    """The rows of actions that some state leads to, and those of predicates that are not about steps."""

    @staticmethod
    def of(path: Path) -> Opened:
        """Take a certificate apart."""
        certificate = Certificate(path)
        header = certificate.header
        fields = [slot[2:5] for slot in header["slots"]]
        words = header["words"]
        labels, actions = [*header["actions"], *header["predicates"]], len(header["actions"])
        plain, columns = Plain(labels, actions, fields, words), certificate.columns
        plain.prepare(columns["states"], columns["rows"], [])
        entries: list[Any] = []
        for instance, reads, leaf, writes in rows_of(columns["rows"].tolist(), actions):
            if instance >= len(labels):
                entries.append(Update(instance - len(labels), reads[1], leaf))
                continue
            came = bool(leaf) if instance >= actions else _pairs(writes) if leaf else None
            entries.append(Row(instance, _pairs(reads), came))
        edges = {
            number: {target for target in plain.targets(number) if target is not None and target != number}
            for number in range(plain.count)
        }
        ranks = [list(columns["ranks"][at : at + plain.count]) for at in range(0, len(columns["ranks"]), plain.count)]
        used = frozenset(_used(header, entries, plain.states))
        return Opened(header, entries, plain.states, ranks, edges, used)

    def copied(self) -> Opened:
        """The same, to be changed on its own."""
        header, ranks = copy.deepcopy(self.header), [[*column] for column in self.ranks]
        return Opened(header, [*self.rows], [*self.states], ranks, self.edges, self.used)

    def seal(self, path: Path) -> None:
        """Write it, with digests that are right."""
        columns = {"rows": self._packed_rows(), "states": self._packed_states()}
        columns["ranks"] = array("I", [rank for column in self.ranks for rank in column])
        sections = {name: zlib.compress(column.tobytes()) for name, column in columns.items()}
        header = {
            **self.header,
            "sections": [
                [name, columns[name].typecode, len(data), hashlib.sha256(data).hexdigest()]
                for name, data in sections.items()
            ],
        }
        text = json.dumps(header).encode() + b"\n"
        seal = hashlib.sha256(text).hexdigest().encode() + b"\n"
        path.write_bytes(MARK + seal + text + b"".join(sections.values()))

    def _packed_rows(self) -> array[int]:
        out, instances = array("I"), len(self.header["actions"]) + len(self.header["predicates"])
        for row in self.rows:
            if isinstance(row, Update):
                out.extend([instances + row.update, 1, 0, row.before, row.after])
                continue
            out.extend([row.instance, len(row.path), *(each for pair in row.path for each in pair)])
            if isinstance(row.leaf, tuple):
                out.extend([1 + len(row.leaf), *(each for pair in row.leaf for each in pair)])
            else:
                out.append(int(row.leaf or 0))
        return out

    def _packed_states(self) -> array[int]:
        words = self.header["words"]
        flat = array("Q")
        for state in self.states:
            packed = [0] * words
            for number, (_, _, word, shift, _, _) in zip(state, self.header["slots"], strict=True):
                packed[word] |= number << shift
            flat.extend(packed)
        return flat


def _pairs(numbers: list[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def drop_state(given: Opened, luck: random.Random) -> None:
    """Leave out a state that a step leads to."""
    reached = sorted({target for targets in given.edges.values() for target in targets})
    number = luck.choice(reached)
    del given.states[number]
    for column in given.ranks:
        del column[number]
    given.header["starts"] = [each if each is None or each < number else each - 1 for each in given.header["starts"]]


def change_state(given: Opened, luck: random.Random) -> None:
    """Put another number into a state that a step leads to."""
    number = luck.choice(sorted({target for targets in given.edges.values() for target in targets}))
    known = set(given.states)
    while given.states[number] in known:
        state = list(given.states[number])
        slot = luck.randrange(len(state))
        bits = given.header["slots"][slot][4]
        state[slot] = luck.randrange(1 << bits)
        given.states[number] = tuple(state)


def drop_row(given: Opened, luck: random.Random) -> None:
    """Leave out a row that some state needs."""
    del given.rows[luck.choice(sorted(given.used))]


def change_writes(given: Opened, luck: random.Random) -> None:
    """Let a row write another number than the code does, one that stands for something else."""
    slots = given.header["slots"]
    writing = [n for n in given.used if isinstance(given.rows[n], Row) and _numbers_written(given.rows[n])]
    number = luck.choice(sorted(writing))
    row = given.rows[number]
    place = luck.choice(_numbers_written(row))
    slot, code = row.leaf[place]
    seen = {state[slot] for state in given.states} | {slots[slot][5]}
    others = sorted(seen - {code >> 2})
    new = luck.choice(others) if others else (code >> 2) + 1
    leaf = list(row.leaf)
    leaf[place] = slot, new << 2 | NUMBER
    given.rows[number] = row._replace(leaf=tuple(leaf))


def write_more(given: Opened, luck: random.Random) -> None:
    """Let a row write a slot that the code does not, in some way or in one that there is not."""
    writing = [n for n in given.used if isinstance(getattr(given.rows[n], "leaf", None), tuple)]
    number = luck.choice(sorted(writing))
    leaf = given.rows[number].leaf
    others = sorted(set(range(len(given.header["slots"]))) - {slot for slot, _ in leaf})
    added = luck.choice(others), luck.randrange(3) << 2 | luck.randrange(4)
    given.rows[number] = given.rows[number]._replace(leaf=(*leaf, added))


def disable(given: Opened, luck: random.Random) -> None:
    """Say of a step that it cannot be taken where it can."""
    enabled = [n for n in given.used if isinstance(getattr(given.rows[n], "leaf", None), tuple)]
    number = luck.choice(sorted(enabled))
    given.rows[number] = given.rows[number]._replace(leaf=None)


def falsify(given: Opened, luck: random.Random) -> None:
    """Turn the answer of a predicate round."""
    judged = [n for n in given.used if isinstance(getattr(given.rows[n], "leaf", None), bool)]
    number = luck.choice(sorted(judged))
    given.rows[number] = given.rows[number]._replace(leaf=not given.rows[number].leaf)


def raise_rank(given: Opened, luck: random.Random) -> None:
    """Give a state a higher rank than one that leads to it has."""
    column = luck.choice(given.ranks)
    pairs = [(one, other) for one, targets in given.edges.items() for other in targets if column[one] and column[other]]
    before, after = luck.choice(pairs)
    column[after] = column[before] + 1 + luck.randrange(100)


def drop_rank(given: Opened, luck: random.Random) -> None:
    """Take the rank away from a state that a ranked one leads to, or that begins to owe."""
    column = luck.choice(given.ranks)
    ranked = [number for number, rank in enumerate(column) if rank]
    followed = [n for n in ranked if any(column[one] and n in targets for one, targets in given.edges.items())]
    column[luck.choice(followed or ranked)] = 0


def swap_reads(given: Opened, luck: random.Random) -> None:
    """Say that a row read another number in one of its slots."""
    reading = [n for n in given.used if isinstance(given.rows[n], Row) and given.rows[n].path]
    number = luck.choice(sorted(reading))
    row = given.rows[number]
    place = luck.randrange(len(row.path))
    path = list(row.path)
    path[place] = path[place][0], path[place][1] + 1 + luck.randrange(3)
    given.rows[number] = row._replace(path=tuple(path))


def another_beginning(given: Opened, luck: random.Random) -> None:
    """Begin elsewhere."""
    others = [
        number for number in range(len(given.states)) if list(given.states[number]) not in given.header["initial"]
    ]
    number = luck.choice(others)
    at = luck.randrange(len(given.header["initial"]))
    given.header["initial"][at], given.header["starts"][at] = list(given.states[number]), number


MUTATIONS: tuple[Callable[[Opened, random.Random], None], ...] = (
    *(
        drop_state,
        change_state,
        drop_row,
        change_writes,
        write_more,
        disable,
        falsify,
        raise_rank,
        drop_rank,
        swap_reads,
    ),
    another_beginning,
)


def damage(data: bytes, luck: random.Random) -> bytes:
    """A file with a byte changed, cut short, or with something behind it."""
    match luck.randrange(3):
        case 0:
            at = luck.randrange(len(data))
            return data[:at] + bytes([data[at] ^ 1 << luck.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[: luck.randrange(len(data))]
        case _:
            return data + luck.randbytes(1 + luck.randrange(9))


def _numbers_written(row: Any) -> list[int]:
    leaf = row.leaf if isinstance(row.leaf, tuple) else ()
    return [place for place, (_, code) in enumerate(leaf) if code & 3 == NUMBER]


def _used(header: dict[str, Any], rows: list[Any], states: list[tuple[int, ...]]) -> Iterator[int]:
    names = {name for name, _ in header["properties"]}
    claimed = [label.partition("(")[0] in names for label in header["predicates"]]
    for number, row in enumerate(rows):
        is_judged = isinstance(row, Row) and (
            row.instance < len(header["actions"]) or claimed[row.instance - len(header["actions"])]
        )
        if is_judged and not any(code & 3 in {1, 2} for code, _ in row.path):
            wanted = [(code >> 2, value) for code, value in row.path if code & 3 == 0]
            if any(all(state[slot] == value for slot, value in wanted) for state in states):
                yield number
