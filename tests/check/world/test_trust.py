"""Controllers that were once called right and are not, or were refused and need not be: each found, or taken as it is."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import re
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import pytest

from attractor import Context, Key, Result, controller
from attractor.check import Edit, Faults, SpecError, World, WorldState, always, check
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import KEY, Pair, pair

if TYPE_CHECKING:
    from collections.abc import Callable

BAD = Key("default", "bad")
EDIT = Edit(Pair, KEY, spec=[{"text": "y"}])


async def go_wrong(ctx: Context) -> None:
    await ctx.create(ConfigMap(metadata=ObjectMeta(name=BAD.name, namespace=BAD.namespace)))


def nothing_is_wrong(world: WorldState) -> bool:
    return world.find(ConfigMap, BAD) is None


def judged(reconcile: Any, *users: Any, **options: Any) -> str:
    one = controller(for_=Pair)(reconcile)
    claims = [always(nothing_is_wrong, name="nothing is wrong")]
    return check(World(controllers=[one], objects=[pair()], users=users or [EDIT], properties=claims, **options))[
        "nothing is wrong"
    ].verdict


def refused(reconcile: Any, **options: Any) -> str:
    with pytest.raises(SpecError) as raised:
        judged(reconcile, **options)
    return str(raised.value)


# What comes after a loop is explored, whatever the loop holds.


async def nested_dicts(ctx: Context, key: Key) -> None:
    for _ in {"a": 1, "b": 2}:
        for _ in {"c": 3, "d": 4}:
            await ctx.find(Pair, key)
    await go_wrong(ctx)


async def nested_sets(ctx: Context, key: Key) -> None:
    for _ in {1, 2}:
        for _ in {3, 4}:
            await ctx.find(Pair, key)
    await go_wrong(ctx)


class Grows(list[int]):
    """Keeps a number beside its elements."""

    rounds = 0


@dataclass
class Derived:
    """Counts in an attribute that is no field."""

    name: str

    def __post_init__(self) -> None:
        self.rounds = 0


class Hidden:
    """Counts in a slot with a mangled name."""

    __slots__ = ("__rounds",)

    def __init__(self) -> None:
        self.__rounds = 0

    def next(self) -> int:
        self.__rounds += 1
        return self.__rounds


class Waiting(Exception):
    """Counts in a slot of an exception."""

    __slots__ = ("rounds",)
    rounds: int


async def counts_in_a_list_subclass(ctx: Context, key: Key) -> None:
    found = Grows()
    while found.rounds < 3:
        await ctx.find(Pair, key)
        found.rounds += 1
    await go_wrong(ctx)


async def counts_in_an_attribute(ctx: Context, key: Key) -> None:
    found = Derived("a")
    while found.rounds < 3:
        await ctx.find(Pair, key)
        found.rounds += 1
    await go_wrong(ctx)


async def counts_in_a_mangled_slot(ctx: Context, key: Key) -> None:
    found = Hidden()
    while found.next() < 3:
        await ctx.find(Pair, key)
    await go_wrong(ctx)


async def counts_in_an_exception(ctx: Context, key: Key) -> None:
    found = Waiting()
    found.rounds = 0
    while found.rounds < 3:
        await ctx.find(Pair, key)
        found.rounds += 1
    await go_wrong(ctx)


async def counts_in_a_match(ctx: Context, key: Key) -> None:
    found = re.match("a*", "aaa")
    while found and found.end():
        await ctx.find(Pair, key)
        found = re.match("a*", "a" * (found.end() - 1))
    await go_wrong(ctx)


async def counts_in_a_seeded_generator(ctx: Context, key: Key) -> None:
    luck = random.Random(7)
    while luck.random() < 0.9:
        await ctx.find(Pair, key)
    await go_wrong(ctx)


async def counts_in_a_decimal(ctx: Context, key: Key) -> None:
    exact = Decimal(1)
    while abs(int(exact.as_tuple().exponent)) < 3:
        await ctx.find(Pair, key)
        exact *= Decimal("1.0")
    await go_wrong(ctx)


async def counts_in_a_function(ctx: Context, key: Key) -> None:
    def counter() -> None: ...

    counter.rounds = 0  # type: ignore[attr-defined]
    while counter.rounds < 3:  # type: ignore[attr-defined]
        await ctx.find(Pair, key)
        counter.rounds += 1  # type: ignore[attr-defined]
    await go_wrong(ctx)


async def counts_in_an_iterator(ctx: Context, key: Key) -> None:
    for _ in itertools.chain(itertools.repeat(1, 2), itertools.islice(itertools.count(), 2)):
        await ctx.find(Pair, key)
    await go_wrong(ctx)


async def counts_in_a_sign(ctx: Context, key: Key) -> None:
    sign = 0.0
    await ctx.find(Pair, key)
    sign = -sign
    await ctx.find(Pair, key)
    if str(sign) == "-0.0":
        await go_wrong(ctx)


async def counts_in_a_cause(ctx: Context, key: Key) -> None:
    error: Exception = ValueError("a")
    for _ in range(2):
        await ctx.find(Pair, key)
        outer = ValueError("a")
        outer.__cause__ = error
        error = outer
    if error.__cause__ and error.__cause__.__cause__:
        await go_wrong(ctx)


COUNTING = [
    *(nested_dicts, nested_sets, counts_in_a_list_subclass, counts_in_an_attribute, counts_in_a_mangled_slot),
    *(counts_in_an_exception, counts_in_a_match, counts_in_a_seeded_generator, counts_in_a_decimal),
    *(counts_in_a_function, counts_in_an_iterator, counts_in_a_sign, counts_in_a_cause),
]


@pytest.mark.parametrize("reconcile", COUNTING, ids=lambda each: each.__name__)
def test_what_comes_after_rounds_with_the_same_question_is_explored(reconcile: Any) -> None:
    assert judged(reconcile) == "violated"


# What is remembered, handed to background work, or held by a model is told apart whole.


@dataclass
class Memory:
    """Remembered; has an attribute that is no field."""

    name: str = "a"


async def remembers_an_attribute(ctx: Context, key: Key) -> Result | None:
    found = await ctx.recall(Memory) or Memory()
    rounds = getattr(found, "rounds", 0)
    if rounds == 2:
        await go_wrong(ctx)
        return None
    found.rounds = rounds + 1  # type: ignore[attr-defined]
    await ctx.remember(found)
    return Result(requeue_after_s=1)


@dataclass
class Exact:
    """Remembered; two of them may be equal to Python, and different."""

    value: Any


def changes(first: Any, second: Any, told: Callable[[Any], bool]) -> Any:
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        found = await ctx.recall(Exact)
        if found is None:
            await ctx.remember(Exact(first))
            return Result(requeue_after_s=1)
        if told(found.value):
            await go_wrong(ctx)
            return None
        await ctx.remember(Exact(second))
        return Result(requeue_after_s=1)

    return reconcile


EQUAL: list[tuple[Any, Any, Any]] = [
    (1, True, lambda found: found is True),
    (0.0, -0.0, lambda found: str(found) == "-0.0"),
    (Decimal("1.0"), Decimal("1.00"), lambda found: str(found) == "1.00"),
    ([1], [1.0], lambda found: isinstance(found[0], float)),
]


@pytest.mark.parametrize(("first", "second", "told"), EQUAL)
def test_remembered_values_that_python_calls_equal_are_told_apart(first: Any, second: Any, told: Any) -> None:
    assert judged(changes(first, second, told)) == "violated"


def test_an_attribute_of_a_remembered_object_that_is_no_field_is_part_of_the_state() -> None:
    assert judged(remembers_an_attribute) == "violated"


async def defers_a_closure(ctx: Context, key: Key) -> Result | None:
    """Each operation has a list of its own; shared between states it would grow with each state that is explored."""
    added: list[int] = []

    def operation(found: Exact) -> Exact:
        added.append(1)
        return Exact(len(added))

    seen = await ctx.recall(Exact)
    if seen is None:
        await ctx.remember(Exact(0))
        await ctx.defer(Exact, operation)
        return Result(requeue_after_s=1)
    if seen.value != 1:
        await go_wrong(ctx)
    return None


def test_an_operation_that_is_deferred_takes_its_variables_with_it() -> None:
    assert judged(defers_a_closure, faults=Faults(crash=1)) == "holds"


class Shop(Protocol):
    """An outside system."""

    async def buy(self, what: str) -> Any: ...


def shopping(model: Any, reconcile: Any, **options: Any) -> World:
    one = controller(for_=Pair, externals=[Shop])(reconcile)
    claims = [always(nothing_is_wrong, name="nothing is wrong")]
    return World(
        controllers=[one], objects=[pair()], users=[EDIT], properties=claims, externals={Shop: model}, **options
    )


@dataclass
class Counting:
    """A model with an attribute that is no field."""

    name: str = "shop"

    def __post_init__(self) -> None:
        self.sold = 0

    def buy(self, what: str) -> int:
        self.sold += 1
        return self.sold


async def buys_thrice(ctx: Context, key: Key) -> None:
    for _ in range(3):
        bought = await ctx.external(Shop).buy("a")
    if bought == 3:
        await go_wrong(ctx)


def test_every_attribute_of_a_model_is_part_of_the_state() -> None:
    assert check(shopping(Counting(), buys_thrice))["nothing is wrong"].verdict == "violated"


class Locked:
    """A model as people write them for threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def buy(self, what: str) -> int:
        return 1


class Fickle:
    """A model that counts where no state is."""

    sold: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def buy(self, what: str) -> int:
        self.sold[what] += 1
        return self.sold[what]


class Iterating:
    """A model that answers with something that cannot be compared."""

    def buy(self, what: str) -> Any:
        return iter(what)


async def buys(ctx: Context, key: Key) -> None:
    await ctx.external(Shop).buy("a")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (Locked(), r"test_trust\.py:\d+: .*Locked\.lock is a _thread\.lock.*leave locks"),
        (Fickle(), r"test_trust\.py:\d+: `Fickle\.buy` (was run twice|changes a variable outside)"),
        (Iterating(), r"test_trust\.py:\d+: `Iterating\.buy` answers with .* it is a str_.*iterator"),
    ],
)
def test_a_model_that_cannot_be_compared_is_refused_with_its_line(model: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        check(shopping(model, buys))


class Broken(Exception):
    """Has an ``__init__`` of its own."""

    def __init__(self, code: int, *, where: str) -> None:
        super().__init__(f"{code} {where}")
        self.code, self.where = code, where


class Breaking:
    """Fails with an exception that ``copy`` cannot copy."""

    def __init__(self) -> None:
        self.calls = 0

    def buy(self, what: str) -> int:
        self.calls += 1
        raise Broken(self.calls, where=what)


async def looks_at_the_error(ctx: Context, key: Key) -> None:
    for _ in range(2):
        try:
            await ctx.external(Shop).buy("a")
        except Broken as error:
            if (error.code, error.where) == (2, "a"):
                await go_wrong(ctx)


def test_an_exception_with_its_own_init_reaches_the_reconcile_whole() -> None:
    assert check(shopping(Breaking(), looks_at_the_error))["nothing is wrong"].verdict == "violated"


# What is refused says where, and what.


class Handed(NamedTuple):
    value: Any


def remembering(value: Callable[[], Any]) -> Any:
    async def reconcile(ctx: Context, key: Key) -> None:
        await ctx.remember(Handed(value()))

    return reconcile


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (threading.Lock, "_thread.lock"),
        (lambda: re.match("a", "a"), "re.Match"),
        (lambda: random.Random(1), "random.Random"),
        (itertools.count, "itertools.count"),
        (lambda: iter([1]), "list_iterator"),
    ],
)
def test_a_value_that_cannot_be_compared_is_refused_where_it_is_handed_over(value: Any, name: str) -> None:
    said = refused(remembering(value))
    assert re.search(r"test_trust\.py:\d+ hands over what cannot be part of a state: ", said)
    assert f"is a {name}, whose content cannot be compared; use dataclasses" in said


async def starts_work_with_a_lock(ctx: Context, key: Key) -> None:
    await ctx.start(works, threading.Lock())


async def works(ctx: Context, *given: Any) -> None:
    await ctx.find(Pair, ctx.key)
    if given == (1, 2):
        await go_wrong(ctx)


def test_an_argument_of_background_work_that_cannot_be_compared_is_refused_at_its_line() -> None:
    assert re.search(r"test_trust\.py:\d+ hands over .* is a _thread\.lock", refused(starts_work_with_a_lock))


async def starts_a_partial(ctx: Context, key: Key) -> None:
    async def local(ctx: Context, one: int, two: int) -> None:
        await works(ctx, one, two)

    await ctx.start(functools.partial(local, one=1), 2) if False else await ctx.start(functools.partial(works), 1, 2)


def test_background_work_may_be_a_partial_function() -> None:
    assert judged(starts_a_partial) == "violated"


async def starts_a_closure(ctx: Context, key: Key) -> None:
    one = len(key.name)

    async def local(ctx: Context) -> None:
        await works(ctx, one, 2)

    await ctx.start(local)


def test_background_work_may_be_a_function_made_by_the_reconcile() -> None:
    assert judged(starts_a_closure, faults=Faults(crash=1)) == "violated"


# What was refused, and need not be.


def test_a_controller_may_be_a_closure_over_several_variables() -> None:
    zeta, alpha, middle = 1, "b", [3]

    async def reconcile(ctx: Context, key: Key) -> None:
        found = [alpha for _ in range(zeta)]
        await ctx.find(Pair, key)
        if found and middle:
            await go_wrong(ctx)

    assert judged(reconcile) == "violated"


async def comprehends(ctx: Context, key: Key) -> None:
    names = ["b", "a"]
    seen = [[name for name in names if name >= each] for each in names]
    found = [await ctx.find(Pair, key) for name in names if name]
    if seen and [each for each in found if each]:
        await go_wrong(ctx)


async def computes_with_nan(ctx: Context, key: Key) -> None:
    nan = float("nan")
    await ctx.find(Pair, key)
    await ctx.remember(Exact(nan))
    found = await ctx.recall(Exact)
    if found and found.value != nan:
        await go_wrong(ctx)


async def defines_a_class(ctx: Context, key: Key) -> None:
    @dataclass
    class Local:
        names: list[str] = field(default_factory=list)

    local = Local()
    await ctx.find(Pair, key)
    local.names.append(key.name)
    await ctx.find(Pair, key)
    if local.names:
        await go_wrong(ctx)


async def uses_a_context_manager(ctx: Context, key: Key) -> None:
    with contextlib.ExitStack() as stack:
        stack.callback(list)
        await ctx.find(Pair, key)
    async with _entered(ctx):
        await ctx.find(Pair, key)
    await go_wrong(ctx)


@contextlib.asynccontextmanager
async def _entered(ctx: Context) -> Any:
    yield ctx


@pytest.mark.parametrize("reconcile", [comprehends, computes_with_nan, defines_a_class, uses_a_context_manager])
def test_ordinary_code_is_checked(reconcile: Any) -> None:
    assert judged(reconcile) == "violated"


async def hands_over_a_local_class(ctx: Context, key: Key) -> None:
    @dataclass
    class Local:
        name: str = "a"

    await ctx.remember(Local())


def test_an_object_of_a_class_that_each_run_defines_anew_is_refused_with_the_line_and_the_way_out() -> None:
    said = refused(hands_over_a_local_class)
    assert re.search(r"test_trust\.py:\d+: ", said)
    assert "define classes that are handed over outside of functions" in said


# What outlives a reconcile.


ROUNDS = 0


async def counts_in_a_global(ctx: Context, key: Key) -> None:
    global ROUNDS  # noqa: PLW0603 - that is the mistake
    ROUNDS += 1
    await ctx.find(Pair, key)


async def counts_through_a_helper(ctx: Context, key: Key) -> None:
    _count()
    await ctx.find(Pair, key)


def _count() -> None:
    Kept.rounds += 1


class Kept:
    """Has an attribute of the class."""

    rounds = 0


@pytest.mark.parametrize("reconcile", [counts_in_a_global, counts_through_a_helper])
def test_variables_that_outlive_a_reconcile_are_guarded_wherever_the_code_reaches(reconcile: Any) -> None:
    assert "memory that outlives a reconcile goes through `ctx.remember`" in refused(reconcile)
