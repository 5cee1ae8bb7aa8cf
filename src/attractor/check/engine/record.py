"""Record of everything that a check executed, in texts that are the same in every process.

    record = Record()
    check(world, audit=record)
    first_departure(record, other)      what differs first between two records of one specification, in words

An entry says in which situation code of the author's was run (a reconcile with the answers that it got, a model in a
state, a step with what it read) and what came of it. Two processes that differ in hashes, addresses, environment, time
zone and directory must have the same entries: else the code depends on more than its situation.
"""

from __future__ import annotations

import hashlib
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.engine.model import CHOICE, COPY, UPDATE
from attractor.check.errors import line_of
from attractor.check.trace import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.check.engine.model import Model
    from attractor.check.engine.trie import Sample
    from attractor.check.verdict import Verdict


class Entry(NamedTuple):
    """One execution: what was run, its file and line, what it did in words, and the digest of that."""

    who: str
    where: str
    did: str
    content: str


class Record:
    """Entries by their situation, in the order in which they came."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.is_whole = True
        """Whether nothing stopped the search, so that what is not here was not to be executed."""

    def note(self, situation: Any, who: str, where: str, did: str, content: Any) -> None:
        """Note what was done in a situation; both may be frozen values, or parts of them."""
        self.entries[_digest((who, situation))] = Entry(who, where, did, _digest(content))

    def note_verdict(self, model: Model, verdict: Verdict) -> None:
        """Note what a search that nothing stopped has found."""
        self.is_whole = verdict.bound is None
        if self.is_whole:
            found = (verdict.distinct, verdict.generated, *((each.name, each.verdict) for each in verdict.properties))
            self.note((), "the check", model.name, ", ".join(map(str, found)), found)

    def note_execution(self, model: Model, sample: Sample) -> None:
        """Note a step or a predicate of a specification: what it read, what it wrote."""
        instance = sample.instance
        where = line_of(instance.routine.function)
        for outcome in sample.outcomes:
            reads = []
            for ref, number in outcome.path:
                at = instance.binding[-1 - ref] if ref < 0 else ref
                slot = model.slots[at] if at < len(model.slots) else None
                reads.append((model.name_of(at), _value(slot, number)) if slot else (at >= CHOICE, number))
            writes: list[Any] = [outcome.leaf]
            if isinstance(outcome.leaf, tuple):
                slots = [instance.binding[-1 - ref] if ref < 0 else ref for ref, _ in outcome.leaf]
                writes = [
                    (model.name_of(at), number if number & (COPY | UPDATE) else _value(model.slots[at], number))
                    for at, (_, number) in zip(slots, outcome.leaf, strict=True)
                ]
            did = ", ".join(f"{each[0]} := {each[1]}" if isinstance(each, tuple) else str(each) for each in writes)
            self.note(tuple(reads), instance.label, where, did, tuple(writes))


def first_departure(one: Record, other: Record) -> str:
    """The first entry that the other record has differently, in words; nothing where there is none."""
    is_whole = one.is_whole and other.is_whole
    for situation, entry in one.entries.items():
        there = other.entries.get(situation)
        if there is None and not is_whole:
            continue
        if there is None:
            missing = (
                f"and nothing was run in such a situation in the other one{_nearest(entry, other.entries.values())}"
            )
        elif there.content != entry.content:
            does = f"`{there.did}`" if there.did != entry.did else "the same with other content"
            missing = f"and {does} in the other one"
        else:
            continue
        return f"{entry.where}: {entry.who} did `{entry.did}` in one process, {missing}"
    if not is_whole:
        return ""
    extra = next((entry for situation, entry in other.entries.items() if situation not in one.entries), None)
    return f"{extra.where}: {extra.who} did `{extra.did}` in the other process only" if extra else ""


def _nearest(entry: Entry, others: Iterable[Entry]) -> str:
    did = {each.did: None for each in others if each.who == entry.who and each.where == entry.where}
    did.pop(entry.did, None)
    return f" (it did `{next(iter(did))}` there)" if did else ""


def _value(slot: Any, number: int) -> str:
    return str(plain(slot.domain.values[number]))


def _digest(value: Any) -> str:
    return hashlib.sha256(text_of(value).encode(errors="surrogatepass")).hexdigest()[:24]


def text_of(value: Any) -> str:
    """A frozen value as a text that tells neither addresses nor the order of a set."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(text_of, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(text_of, value)))}}}"
    if isinstance(value, types.CodeType):
        return f"code {value.co_filename}:{value.co_firstlineno} {value.co_qualname}"
    held = getattr(value, "value", value) if type(value).__name__ == "Same" else value
    if isinstance(held, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType):
        return f"{getattr(held, '__module__', '')}.{getattr(held, '__qualname__', held.__name__)}"
    if held is not value:
        return f"one {type(held).__module__}.{type(held).__qualname__} {getattr(held, 'name', '')}"
    return f"{type(value).__name__} {value!r}"
