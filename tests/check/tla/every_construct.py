"""A specification that uses every construct of the exported subset once, so that TLC judges each translation."""

from __future__ import annotations

from enum import Enum

from attractor.check import (
    Map,
    Record,
    Spec,
    Step,
    Subset,
    action,
    always,
    always_eventually,
    always_step,
    constant,
    constraint,
    each,
    eventually,
    fields,
    initial,
    predicate,
    require,
    sometimes,
    subset,
    until,
    var,
    weak,
)


class Colour(Enum):
    RED = 1
    GREEN = 2


class Message(Record):
    sender: int = 0
    words: tuple[str, ...] = ()
    urgent: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.words

    def repeats(self) -> bool:
        return any(m in ("a", "b") for m in self.words)

    def says(self, word: str) -> bool:
        return word in self.words


class Counter(Record):
    low: int = 0
    high: int = 0


class EveryConstruct(Spec):
    """Nothing sensible, but everything once."""

    size: int = constant(2)
    limit: int = constant(2)
    tags: tuple[str, ...] = constant(("a", "b"))

    light: Colour = var(Colour.RED)
    count: Map[int, int] = each(size, 0)
    start: Map[str, int] = each(tags, lambda tag: 1 if tag == "a" else 0)
    seen: Subset[str] = subset(tags)
    box: tuple[Message, ...] = var(())
    top: Counter = fields(Counter())
    picked: str | None = var(None)
    level: int = var(lambda self: self.limit)

    @initial
    def somewhere(self) -> None:
        self.picked = self.choose([None, "a"])

    @constraint
    def small(self) -> bool:
        return len(self.box) <= 2 and self.level >= -1

    def bump(self, p: int, by: int = 1) -> None:
        self.count[p] += by

    def take(self) -> Message:
        message, self.box = self.box[0], self.box[1:]
        return message

    def total(self) -> int:
        return sum(1 for p in self.count if self.count[p] > 0)

    def quiet(self) -> bool:
        if self.light is Colour.RED:
            return True
        noisy = {p for p in self.count if self.count[p] == self.limit}
        return len(noisy) == 0

    @action
    def switch(self) -> None:
        self.light = Colour.GREEN if self.light is Colour.RED else Colour.RED
        if self.choose((True, False)):
            require(any(m.repeats() for m in self.box))

    @action(p=size, fair="weak")
    def work(self, p: int) -> None:
        require(self.count[p] < self.limit)
        self.bump(p, 1)
        if self.total() == self.size:
            self.seen.add("a")
            return
        self.level = max(self.level - 1, -1)

    @action(p=size)
    def send(self, p: int) -> None:
        require(len(self.box) < 2)
        word = self.choose(t for t in self.tags if t not in self.seen)
        self.box = (*self.box, Message(sender=p, words=(word, "x"), urgent=p == 0))
        self.picked = word

    @action(fair="strong")
    def receive(self) -> bool:
        if not self.box:
            return False
        message = self.take()
        require(not message.is_empty and message.says("x"))
        self.seen |= frozenset(w for w in message.words if w in ("a", "b"))
        self.top = self.top.but(low=self.top.low + 1 if message.urgent else self.top.low)
        self.count[message.sender] = 0
        return True

    @action
    def forget(self) -> None:
        require(self.top.low >= 1 and self.seen >= {"a"})
        for tag in ("a", "b"):
            self.seen.discard(tag)
        self.box = tuple(m for m in self.box if m.sender != 0)
        self.top = Counter(low=0, high=1 - self.top.high)
        self.start["b"] = self.start["a"] = self.start["b"]
        self.level = min(self.limit, len(self.box) + 1)

    @action(t=tags)
    def clear(self, t: str) -> None:
        require(any(m.words[0] == t for m in self.box))
        require(self.box[-1].words[1] == "x" and t in self.seen)
        self.box, self.picked = self.box[:-1], None
        self.count = {p: 0 if p < 1 else p - p for p in self.count}  # type: ignore[assignment]

    busy = weak(send, clear)

    @always(p=size)
    def counts_stay_small(self, p: int) -> bool:
        require(self.count[p] > 0)
        return 0 < self.count[p] <= self.limit and self.total() in range(self.size + 1)

    @always
    def quiet_or_not(self) -> bool:
        return self.quiet() or not self.quiet()

    @always_step(actions=["receive"])
    def receiving_shortens(self, step: Step) -> bool:
        return len(step.after.box) == len(self.box) - 1

    @sometimes
    def all_seen(self) -> bool:
        return all(t in self.seen for t in self.tags)

    @predicate
    def empty(self) -> bool:
        return not self.box

    emptied = always_eventually(empty)
    works = eventually(lambda self: self.total() > 0)
    never_translated = until(empty, lambda self: self.total() > 0)
