"""The model checker: specifications in Python, explored exhaustively.

Write a specification with the words below (``spec`` shows a small one), give it to ``check``, and read the verdict:
*holds* (every reachable state was seen), *holds within* (every one within bounds that cut something off, which it
names), *violated* (with the shortest trace) or *inconclusive* (with the limit that stopped the search). Actions are
ordinary Python, executed once for each distinct combination of the values that they read; everything else is table
look-up (``engine.trie``), in C where a compiler was at hand (``engine.native``).

Guarantees: engines agree on distinct, generated and depth, and count as TLC counts; a bound never turns into a
"holds"; a step that is not a function of what it reads is reported, not remembered.
"""

from attractor.check.api import check, simulate
from attractor.check.errors import ImpureStep, MutationError, SpecError, ValueNotHashable
from attractor.check.spec.declarations import (
    Map,
    Subset,
    action,
    always,
    always_eventually,
    always_step,
    constant,
    constraint,
    each,
    eventually,
    eventually_always,
    fields,
    henceforth,
    initial,
    interchangeable,
    leads_to,
    predicate,
    refines,
    require,
    sometimes,
    strong,
    subset,
    terminal,
    until,
    var,
    weak,
)
from attractor.check.spec.spec import Composition, Spec, Step
from attractor.check.spec.values import Bag, FrozenMap, Record
from attractor.check.trace import Trace, TraceStep
from attractor.check.verdict import HoldsWithin, NotShown, PropertyVerdict, Verdict

__all__ = [
    "Bag",
    "Composition",
    "FrozenMap",
    "HoldsWithin",
    "ImpureStep",
    "Map",
    "MutationError",
    "NotShown",
    "PropertyVerdict",
    "Record",
    "Spec",
    "SpecError",
    "Step",
    "Subset",
    "Trace",
    "TraceStep",
    "ValueNotHashable",
    "Verdict",
    "action",
    "always",
    "always_eventually",
    "always_step",
    "check",
    "constant",
    "constraint",
    "each",
    "eventually",
    "eventually_always",
    "fields",
    "henceforth",
    "initial",
    "interchangeable",
    "leads_to",
    "predicate",
    "refines",
    "require",
    "simulate",
    "sometimes",
    "strong",
    "subset",
    "terminal",
    "until",
    "var",
    "weak",
]
