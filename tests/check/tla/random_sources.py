"""Random specifications as source text, since the exporter reads source: typed expressions, statements, promises.

Every number stays within 0..2 and every sequence within two elements, so that the state graphs are small. What is
generated is inside the documented subset: a refusal by the exporter is as much a finding as a disagreement with TLC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import strategies as st

HEADER = '''"""A random specification."""

from attractor.check import (
    Map, Record, Spec, Step, Subset, action, always, always_eventually, always_step, each, eventually,
    eventually_always, fields, initial, leads_to, predicate, require, subset, var,
)


class Pair(Record):
    low: int = 0
    on: bool = False

    @property
    def busy(self) -> bool:
        return self.on and self.low > 0

    def near(self, other: int) -> bool:
        return self.low == other or not self.on


class Random(Spec):
    """Two numbers, a map, a set, a queue, a record and a name."""

    x: int = var(0)
    y: int = var(1)
    m: Map[int, int] = each((0, 1), 0)
    s: Subset[int] = subset((0, 1, 2))
    q: tuple[int, ...] = var(())
    r: Pair = fields(Pair())
    p: Map[int, Pair] = each((0, 1), Pair())
    n: str | None = var(None)

    def level(self, w: int) -> int:
        if w in self.s:
            return self.m[0]
        return self.x

    def raise_to(self, value: int) -> int:
        self.y = max(self.y, value)
        if self.y == 2:
            return 0
        self.s.add(value)
        return self.y
'''


@dataclass(frozen=True)
class Place:
    """Where an expression stands: the names of whole numbers, and whether ``self`` may be changed there."""

    draw: Callable[[st.SearchStrategy[str]], str]
    numbers: tuple[str, ...] = ()
    depth: int = 2

    def deeper(self, *names: str) -> Place:
        return replace(self, numbers=(*self.numbers, *names), depth=self.depth - 1)

    def one_of(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))


def key(place: Place) -> str:
    """An expression that is a key of ``m`` and ``p``."""
    return place.one_of("0", "1", "self.x % 2", *(each for each in place.numbers if each in {"w", "f", "j"}))


def number(place: Place) -> str:
    """An expression within 0..2."""
    leaves = ["0", "1", "2", "self.x", "self.y", "self.r.low", *place.numbers]
    if place.depth <= 0:
        return place.one_of(*leaves)
    inner = place.deeper()
    match place.one_of("leaf", "map", "sum", "product", "if", "len", "count", "most", "head", "call", "pair", "half"):
        case "leaf":
            return place.one_of(*leaves)
        case "map":
            return f"self.m[{key(place)}]"
        case "sum":
            return f"({number(inner)} {place.one_of('+', '-')} {number(inner)}) % 3"
        case "product":
            return f"({number(inner)} * {number(inner)}) % 3"
        case "half":
            return f"({number(inner)} - {number(inner)}) // 2 % 3"
        case "if":
            return f"({number(inner)} if {truth(inner)} else {number(inner)})"
        case "len":
            return place.one_of("len(self.q)", "min(len(self.s), 2)", "min(len(self.s & {0, 1}), 2)")
        case "count":
            return f"sum(1 for k in self.m if {truth(inner.deeper('k'))})"
        case "most":
            return f"{place.one_of('min', 'max')}({number(inner)}, {number(inner)})"
        case "head":
            return place.one_of("(self.q[0] if self.q else 0)", "(self.q[-1] if len(self.q) > 0 else 1)")
        case "call":
            return f"self.level({number(inner)})"
        case _:
            return f"self.p[{key(place)}].low"


def truth(place: Place) -> str:
    """An expression that is judged true or false."""
    if place.depth <= 0:
        return place.one_of("self.r.on", "self.x == 0", "self.q", "self.s", "self.x", "self.n is None")
    inner = place.deeper()
    match place.one_of("compare", "chain", "in", "not", "and", "or", "any", "all", "record", "name", "queue", "sets"):
        case "compare":
            return f"{number(inner)} {place.one_of('==', '!=', '<', '<=', '>', '>=')} {number(inner)}"
        case "chain":
            return f"{number(inner)} <= {number(inner)} < {number(inner)}"
        case "in":
            return f"{number(inner)} {place.one_of('in', 'not in')} {members(inner)}"
        case "not":
            return f"not ({truth(inner)})"
        case "and" | "or" as word:
            return f"({truth(inner)} {word} {truth(inner)})"
        case "any" | "all" as word:
            chosen = place.one_of("self.m", "(0, 1, 2)", "self.s", "self.q")
            return f"{word}({truth(inner.deeper('e'))} for e in {chosen})"
        case "record":
            return place.one_of(
                "self.r.busy", f"self.r.near({number(inner)})", f"self.p[{key(place)}].on", "self.p[1].busy"
            )
        case "name":
            return place.one_of("self.n is None", 'self.n == "a"', 'self.n in ("a", "b")', 'self.n != "b"')
        case "queue":
            return place.one_of("self.q", "not self.q", "self.q == (0, 1)", "1 in self.q", "(*self.q, 1) == (1, 1)")
        case _:
            return f"self.s {place.one_of('<=', '>=', '==')} {members(inner)}"


def members(place: Place) -> str:
    """A set of numbers."""
    inner = place.deeper()
    match place.one_of("plain", "own", "join", "comprehension") if place.depth > 0 else "plain":
        case "own":
            return "self.s"
        case "join":
            return f"(self.s {place.one_of('|', '&', '-')} {members(inner)})"
        case "comprehension":
            return f"{{i for i in {place.one_of('(0, 1, 2)', 'self.s')} if {truth(inner.deeper('i'))}}}"
        case _:
            return place.one_of("{0}", "{1, 2}", "{0, 1, 2}", "frozenset()")


def statements(place: Place, indent: str, count: int) -> list[str]:
    """The body of an action: what is assigned may be read, and locals used, by later statements."""
    lines: list[str] = []
    for _ in range(count):
        made, place = statement(place, indent, len(place.numbers))
        lines += made
    return lines


def statement(place: Place, indent: str, fresh: int) -> tuple[list[str], Place]:
    one = place.one_of("local", "choose", "keep", "call", *PLAIN)
    local = f"v{fresh}"
    match one:
        case "local":
            return [f"{indent}{local} = {number(place)}"], replace(place, numbers=(*place.numbers, local))
        case "keep":
            kept = replace(place, numbers=(*place.numbers, f"{local}.low"))
            return [f"{indent}{local} = {place.one_of('self.r', 'self.p[1]', 'self.r.but(on=True)')}"], kept
        case "choose":
            some = f"c for c in (0, 1, 2) if {truth(place.deeper('c'))}"
            options = place.one_of("(0, 1)", "(0, 1, 2)", "self.s", some, f"frozenset({some})")
            return [f"{indent}{local} = self.choose({options})"], replace(place, numbers=(*place.numbers, local))
        case "call":
            return [f"{indent}{local} = self.raise_to({number(place)})"], replace(
                place, numbers=(*place.numbers, local)
            )
    return [indent + line for line in PLAIN[one](place)], place


def branches(place: Place) -> list[str]:
    inner = place.deeper()
    return [f"if {truth(place)}:", *statements(inner, "    ", 1), "else:", *statements(inner, "    ", 1)]


def changed_record(place: Place) -> list[str]:
    where = place.one_of("self.r", f"self.p[{key(place)}]")
    return [f"{where} = {where}.but(low={number(place)})"]


PLAIN: dict[str, Callable[[Place], list[str]]] = {
    "number": lambda place: [f"self.{place.one_of('x', 'y')} = {number(place)}"],
    "map": lambda place: [f"self.m[{key(place)}] = {number(place)}"],
    "both": lambda place: [f"self.x, self.y = {number(place)}, {number(place)}"],
    "add": lambda place: [f"self.s.{place.one_of('add', 'discard')}({number(place)})"],
    "set": lambda place: [f"self.s {place.one_of('=', '|=', '&=', '-=')} {members(place)}"],
    "push": lambda place: ["if len(self.q) < 2:", f"    self.q = (*self.q, {number(place)})"],
    "pop": lambda place: ["if self.q:", f"    self.{place.one_of('x', 'y')}, self.q = self.q[0], self.q[1:]"],
    "record": lambda place: [
        f"self.r = Pair(low={number(place)}, on={place.one_of('True', 'self.x == 0', 'not self.r.on')})"
    ],
    "but": changed_record,
    "name": lambda place: [f"self.n = {place.one_of('None', repr('a'), repr('b'))}"],
    "if": branches,
    "return": lambda place: [f"if {truth(place)}:", "    self.n = 'b'", "    return"],
    "for": lambda place: ["for f in (0, 1):", f"    self.m[f] = {number(place.deeper('f'))}"],
    "augment": lambda place: [f"self.m[{key(place)}] += 1", "require(all(self.m[j] < 3 for j in self.m))"],
    "filter": lambda place: [f"self.q = tuple(z for z in self.q if {truth(place.deeper('z'))})"],
    "all map": lambda place: [f"self.m = {{j: {number(place.deeper('j'))} for j in self.m}}"],
    "require": lambda place: [f"require({truth(place)})"],
}
"""Statements that name nothing new."""


@st.composite
def sources(draw: Callable[[st.SearchStrategy[str]], str]) -> str:
    """The text of a module with the class ``Random``, an invariant, a judged step and a promise."""
    place = Place(draw)
    lines = [HEADER]
    for index in range(int(draw(st.sampled_from("4325")))):
        over = draw(st.sampled_from(["", "w=(0, 1)"]))
        fair = draw(st.sampled_from(["", 'fair="weak"', 'fair="strong"']))
        options = ", ".join(each for each in (over, fair) if each)
        here = replace(place, numbers=("w",) if over else ())
        lines += [
            f"    @action({options})" if options else "    @action",
            f"    def a{index}(self{', w: int' if over else ''}) -> None:",
            *([f"        require({truth(here)})"] if draw(st.sampled_from("nny")) == "y" else []),
            *statements(here, "        ", int(draw(st.sampled_from("231")))),
            "",
        ]
    shallow = replace(place, depth=1)
    promise = draw(st.sampled_from(["eventually", "always_eventually", "eventually_always", "leads_to"]))
    # TLC is wrong about promises that speak of no variable, such as <>(0 = 0).
    premise = f"lambda self: self.y != 0 and {truth(shallow)}, " if promise == "leads_to" else ""
    lines += [
        "    @initial",
        "    def start(self) -> None:",
        f"        self.x = self.choose({draw(st.sampled_from(['(0, 1)', '(2,)']))})",
        "",
        "    @always",
        "    def invariant(self) -> bool:",
        f"        return bool({truth(shallow)} or self.x < 2 or {truth(shallow)})",
        "",
        "    @always_step",
        "    def judged(self, step: Step) -> bool:",
        f"        return bool(step.after.x != 1 or self.x == 1 or {truth(shallow)})",
        "",
        "    @predicate",
        "    def promised(self) -> bool:",
        f"        return bool(self.y != 2 and {truth(shallow)})",
        "",
        f"    promise = {promise}({premise}promised)",
    ]
    return "\n".join(lines) + "\n"
