"""Executing every row again: the author's code is given the values that the row says it read, and must do what the row
says it did.

A row holds numbers, not values. What a number stands for is found out here: the numbers of the initial states by making
these, every other by the first execution that writes it. So no value comes out of the file. Rows are in the order in
which they were executed, so what a row reads has been written by then.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from attractor_verify.certificate import Rejected, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attractor_verify.subject import Subject

SLOT, LATER, TRUTH, FORK = range(4)
NUMBER, COPIED, UPDATED = range(3)
NOT_WRITTEN = -1
AFTER, DERIVED = 1 << 24, 1 << 25
"""How an author's code, by way of the vocabulary, asks for the state after a step, and for a remembered predicate."""

Row = tuple[int, list[int], int, list[int]]
"""An instance; what it read or chose, in order (reference, number, ...); its leaf; what it writes (slot, code, ...)."""


def rows_of(numbers: list[int], actions: int) -> Iterator[Row]:
    """The rows that the numbers of a certificate stand for."""
    at = 0
    while at < len(numbers):
        instance, end = numbers[at], at + 2 + 2 * numbers[at + 1]
        path, leaf, at = numbers[at + 2 : end], numbers[end], end + 1
        if instance < actions and leaf:
            at += 2 * leaf - 2
        require(at <= len(numbers), "the rows end in the middle of one")
        yield instance, path, leaf, numbers[end + 1 : at]


class Replay:
    """The values behind the numbers of a certificate, as far as rows have shown them."""

    def __init__(self, subject: Subject, slots: list[list[Any]]) -> None:
        self.subject, self.disabled = subject, subject.disabled
        self.names, self.domains = [slot[0] for slot in slots], [slot[1] for slot in slots]
        self.defaults = [slot[5] for slot in slots]
        self.values: dict[tuple[int, int], Any] = {}
        self.updates: dict[int, tuple[int, tuple[Any, ...]]] = {}
        self._slots = {name: number for number, name in enumerate(self.names)}
        self._known: dict[int, int] = {}
        require(len(self._slots) == len(slots), "two slots have one name")

    def begin(self, initial: list[list[int]]) -> None:
        """Take note of what the numbers of the initial states stand for; each is one that the source begins with."""
        for vector, values in zip(initial, self.subject.initial, strict=True):
            slots = [self.slot(ref) for ref in range(len(values))]
            for slot, value in zip(slots, values, strict=True):
                self.bind(slot, vector[slot], value)
            is_so = all(vector[slot] == self.defaults[slot] for slot in {*range(len(vector))} - {*slots})
            require(is_so, "an initial state has values in slots that the source does not begin with")

    def slot(self, ref: int) -> int:
        """The certificate's number of a slot that the code asks for; what it begins with is known then."""
        if ref not in self._known:
            name, default = self.subject.slot(ref)
            slot = self._slots.get(name, -1)
            require(slot >= 0, f"the code uses `{name}`, of which the certificate knows nothing")
            require(slot not in self._known.values(), f"two variables are called `{name}`")
            self._known[ref] = slot
            self.bind(slot, self.defaults[slot], default)
        return self._known[ref]

    def bind(self, slot: int, number: int, value: Any) -> None:
        """Take note that a number stands for a value; it must not stand for another."""
        known = self.values.setdefault((self.domains[slot], number), value)
        if known is not value and not alike(known, value):
            raise Rejected(f"number {number} of `{self.names[slot]}` stands for {known!r} and for {value!r}")

    def value(self, slot: int, number: int) -> Any:
        """What a number stands for."""
        try:
            return self.values[self.domains[slot], number]
        except KeyError:
            raise Rejected(f"number {number} of `{self.names[slot]}` is read before anything has written it") from None

    def execute(self, row: Row) -> None:
        """Execute a row again; raises ``Rejected`` if it goes another way."""
        instance, path, leaf, writes = row
        if instance >= len(self.subject.instances):
            return self._update(instance - len(self.subject.instances), path, leaf)
        run, what = Run(self, path), self.subject.instances[instance]
        try:
            try:
                came: Any = what.routine.function(run, *what.values)
            except self.disabled:
                came = False
            require(run.place == len(path), "it does not read all that its row says")
            if instance >= self.subject.actions:
                require(bool(came) == leaf and not run.writes, f"it is {bool(came)} where its row says {leaf}")
            elif came is False or not leaf:
                require(came is False and not leaf, "it can be taken where its row says that it cannot, or not so")
            else:
                self._compare(run, writes)
        except Rejected as problem:
            raise Rejected(f"{what.label}: {problem}") from None

    def _compare(self, run: Run, writes: list[int]) -> None:
        left = {self.slot(ref): what for ref, what in run.writes.items()}
        for slot, code in zip(writes[::2], writes[1::2], strict=True):
            (how, what), number = left.pop(slot, (NOT_WRITTEN, None)), code >> 2
            require(how == code & 3, "a slot is not written as its row says")
            if how == NUMBER:
                self.bind(slot, number, what)
            elif how == COPIED:
                is_it = self.slot(what) == number and self.domains[number] == self.domains[slot]
                require(is_it, f"`{self.names[slot]}` is a copy of another slot than its row says")
            else:
                is_it = alike(self.updates.setdefault(number, (self.domains[slot], what)), (self.domains[slot], what))
                require(is_it, f"`{self.names[slot]}` is changed in another way than its row says")
        require(not left, f"it also writes {[self.names[slot] for slot in left]}")

    def _update(self, update: int, path: list[int], after: int) -> None:
        """Execute an update of a value again."""
        require(update in self.updates and path[::2] == [0], f"update {update} is used by no row before")
        domain, hows = self.updates[update]
        slot = self.domains.index(domain)
        self.bind(slot, after, _changed(self.value(slot, path[1]), hows))


class Run:
    """The view that code runs against: it is told what its row says it read, and nothing else."""

    def __init__(self, replay: Replay, path: list[int]) -> None:
        self._replay, self._path, self.place = replay, path, 0
        self._seen: dict[int, Any] = {}
        self._values: dict[int, Any] = {}
        self.writes: dict[int, tuple[int, Any]] = {}

    def _expect(self, code: int) -> int:
        at = self.place
        if at == len(self._path) or self._path[at] != code:
            raise Rejected("it reads or chooses something else than its row says")
        self.place = at + 2
        return self._path[at + 1]

    def before(self, ref: int) -> Any:
        """The value that the state before the step holds."""
        if ref not in self._seen:
            if ref & DERIVED:
                self._seen[ref] = bool(self._expect((ref ^ DERIVED) << 2 | TRUTH))
            else:
                slot = self._replay.slot(ref & ~AFTER)
                number = self._expect(slot << 2 | (LATER if ref & AFTER else SLOT))
                self._seen[ref] = self._replay.value(slot, number)
        return self._seen[ref]

    def read(self, ref: int) -> Any:
        """The value as the step itself has left it."""
        if ref not in self._values:
            how, what = self.writes.get(ref, (NOT_WRITTEN, None))
            self._values[ref] = value = self.before(what if how == COPIED else ref)
            if how == UPDATED:
                self.write(ref, _changed(value, what))
        return self._values[ref]

    def write(self, ref: int, value: Any) -> None:
        """Set a value in the state after the step."""
        require(ref < AFTER, "it writes what it may only look at")
        self.writes[ref] = NUMBER, value
        self._values[ref] = value

    def copy(self, ref: int, source: int) -> None:
        """Set a value to what another slot holds, without looking."""
        how, what = self.writes.get(source, (NOT_WRITTEN, None))
        if source in self._values or how == UPDATED:
            self.write(ref, self.read(source))
        else:
            self.writes[ref] = COPIED, what if how == COPIED else source
            self._values.pop(ref, None)

    def update(self, ref: int, how: Callable[[Any], Any]) -> None:
        """Set a value to a function of what is there, without looking."""
        done, what = self.writes.get(ref, (NOT_WRITTEN, None))
        if ref in self._values or done == COPIED:
            self.write(ref, how(self.read(ref)))
        else:
            self.writes[ref] = UPDATED, (*(what if done == UPDATED else ()), how)

    def choose(self, options: Iterable[Any]) -> Any:
        """One of the options: the one that the row says."""
        ordered = tuple(sorted(options, key=repr)) if isinstance(options, set | frozenset) else tuple(options)
        if not ordered:
            raise self._replay.disabled
        return ordered[self._expect(len(ordered) << 2 | FORK)]

    def key_ref(self, family: int, key: Any) -> int:
        """The slot of a key of a map."""
        ref: int = self._replay.subject.model.families[family].refs[key]
        return ref

    def is_written(self, ref: int) -> bool:
        """Whether the step wrote there so far."""
        return ref in self.writes

    def has_written(self) -> bool:
        """Whether the step wrote anything so far."""
        return bool(self.writes)


def _changed(value: Any, hows: Iterable[Callable[[Any], Any]]) -> Any:
    for how in hows:
        value = how(value)
    return value


def alike(one: Any, other: Any) -> bool:
    """Whether no program can tell two values apart: of the same type, and made of parts that are alike."""
    kind: Any = type(one)
    if one is other or kind is not type(other):
        return one is other
    if kind in {int, str, bytes, bool}:
        return bool(one == other)
    if kind in {float, complex}:
        return repr(one) == repr(other)
    if _is_its_attributes(kind):  # type: ignore[arg-type]  # a class can be hashed
        mine, its = vars(one), vars(other)
        return mine.keys() == its.keys() and all(alike(mine[name], its[name]) for name in mine)
    if isinstance(one, set | frozenset | dict):
        theirs = {key: key for key in other}
        is_same = len(one) == len(other) and all(key in theirs and alike(key, theirs[key]) for key in one)
        return is_same and (not isinstance(one, dict) or all(alike(one[key], other[key]) for key in one))
    if isinstance(one, tuple | list) and not getattr(one, "__dict__", None):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, FunctionType):
        return one.__code__ is other.__code__ and alike(_held(one), _held(other))
    try:  # all that there is to copy of them: an exponent, a zone, attributes that `==` leaves out
        mine, its = (value.__reduce_ex__(2) for value in (one, other))
    except TypeError:
        return False
    if isinstance(mine, str) or isinstance(its, str):
        return bool(mine == its)
    return alike(*([list(part) if hasattr(part, "__next__") else part for part in each] for each in (mine, its)))


@cache
def _is_its_attributes(kind: Any) -> bool:
    """Whether an object of this type is its ``__dict__`` and no more: classes written in Python, without slots."""
    names = "__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__"
    is_usual = all(getattr(kind, name, None) is getattr(object, name, None) for name in names)
    return (
        is_usual
        and all(
            base.__flags__ & 1 << 9  # made by a class statement
            and "__slots__" not in vars(base)
            and ("__dict__" in vars(base) or base.__base__ is not object)
            for base in kind.__mro__[:-1]
        )
    )


def _held(function: FunctionType) -> list[Any]:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [function.__defaults__, function.__kwdefaults__, function.__dict__, cells]
