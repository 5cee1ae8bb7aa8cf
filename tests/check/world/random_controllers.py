"""Controllers written at random: every feature of the language between questions, with values that Python calls equal.

A controller asks for ConfigMaps ``c0`` to ``c2`` and its own text, remembers values, writes what it computed from all
that, and is wrong (creates ``bad``) where the result is unlucky. The same seed writes the same controller.
"""

from __future__ import annotations

import random
import sys
import types
from typing import TYPE_CHECKING, Any

from attractor import controller
from attractor.k8s.core_v1 import ConfigMap
from tests.check.world.pairs import Pair

if TYPE_CHECKING:
    from attractor import Controller

HEAD = """
from __future__ import annotations
import contextlib, functools, itertools
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from attractor import Context, Key, Result
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.objects.resource import ObjectMeta
from tests.check.world.pairs import Pair

class Odd(Exception):
    def __init__(self, number, *, why):
        super().__init__(why)
        self.number = number

@dataclass
class Memory:
    value: object
    def __post_init__(self):
        self.extra = [self.value]

class Box:
    __slots__ = ("__held",)
    def __init__(self):
        self.__held = 0
    def add(self, number):
        self.__held += number
        return self.__held

async def look(ctx, number):
    found = await ctx.find(ConfigMap, Key("default", f"c{number}"))
    return 0 if found is None else int(found.data["v"])

async def put(ctx, number, value):
    made = ConfigMap(metadata=ObjectMeta(name=f"c{number}", namespace="default"), data={"v": str(value)})
    try:
        await ctx.create(made)
    except AlreadyExists:
        await ctx.patch(ConfigMap, Key("default", f"c{number}"), {"data": {"v": str(value)}})

async def asked(ctx, count):
    for number in range(count):
        yield await look(ctx, number)

@contextlib.asynccontextmanager
async def entered(ctx, number):
    before = await look(ctx, number)
    try:
        yield before
    finally:
        before += 1

def weight(value):
    return sum(map(ord, repr(value))) % 5

async def reconcile(ctx, key):
    own = await ctx.find(Pair, key)
    total = 0 if own is None else len(own.spec.text) + (own.spec.text == "y")
    seen = []
"""

BLOCKS = (
    """
for _ in {"a": 1, "b": 2}:
    for _ in {"c": total, "d": 4}:
        total += await look(ctx, N)
""",
    """
for each in sorted({"b", "a"}):
    total += (each == "a") + await look(ctx, N)
""",
    """
for one, other in zip([1, 2], itertools.chain([total], itertools.repeat(3))):
    total = total + one * other + await look(ctx, N)
""",
    """
seen += [await look(ctx, each) for each in range(2) if each != total % 3]
total += len([name for name in seen if name])
""",
    """
async for each in asked(ctx, 2):
    total += each + 1
""",
    """
with contextlib.suppress(KeyError), contextlib.ExitStack() as stack:
    stack.callback(seen.append, total % 2)
    if await look(ctx, N):
        raise KeyError(N)
    total += 1
total += len(seen)
""",
    """
async with entered(ctx, N) as before:
    total += before
    total += await look(ctx, N)
""",
    """
try:
    if (await look(ctx, N)) == total % 2:
        try:
            raise ValueError(total % 3)
        except ValueError as inner:
            raise Odd(total % 2, why="odd") from inner
except Odd as odd:
    total += odd.number + odd.__cause__.args[0]
finally:
    total += await look(ctx, N)
""",
    """
def add(number):
    nonlocal total
    total += number
    return total
add(await look(ctx, N))
add(1)
""",
    """
async def down(depth):
    if not depth:
        return await look(ctx, N)
    return depth + await down(depth - 1)
total += await down(total % 3)
""",
    """
box = Box()
while box.add(1) < 3:
    total += await look(ctx, N)
""",
    """
match (await look(ctx, N)), total % 2:
    case 0, 0:
        total += 1
    case _, number:
        total += number
""",
    """
queue = deque([total % 2, 1])
while queue:
    total += queue.popleft() * (await look(ctx, N) + 1)
""",
    """
for _ in itertools.islice(itertools.cycle([1, 2]), total % 3):
    total += await look(ctx, N)
""",
    """
later = functools.partial(lambda one, two: one + two, await look(ctx, N))
await ctx.find(Pair, key)
total += later(two=total % 2)
""",
    """
@dataclass
class Local:
    values: list = field(default_factory=list)
local = Local()
local.values.append(await look(ctx, N))
await ctx.find(Pair, key)
total += sum(local.values)
""",
    """
remembered = await ctx.recall(Memory)
if remembered is not None:
    total += weight(remembered.value) + len(remembered.extra)
await ctx.remember(Memory(VALUE))
""",
)
VALUES = (
    *("total % 2", "total % 2 == 1", "float(total % 2)", "-0.0 if total % 2 else 0.0", "[total % 2, [total % 2]]"),
    *('Decimal("1.0") if total % 2 else Decimal("1.00")', "(True, 1)[total % 2]", '{"a": total % 2, "b": 1}'),
    *("(1, 1.0, True)[total % 3]", "frozenset({total % 2})", 'ValueError("a", total % 2)', "None if total % 2 else 0"),
)
TAIL = """
if total % 7 == UNLUCKY:
    await put(ctx, 9, 1)
await put(ctx, N, total % 3)
return Result(requeue_after_s=1) if total % 5 == 3 else None
"""


def source(seed: int) -> str:
    """The text of a controller."""
    luck = random.Random(seed)
    text = HEAD
    for block in (*luck.sample(BLOCKS, luck.choice([1, 2, 2, 3])), TAIL):
        filled = block.replace("UNLUCKY", str(luck.randrange(7))).replace("VALUE", luck.choice(VALUES))
        filled = filled.replace("N)", f"{luck.randrange(3)})").replace("N,", f"{luck.randrange(3)},")
        text += "\n".join(f"    {line}" for line in filled.strip("\n").splitlines()) + "\n"
    return text


def random_controller(seed: int) -> Controller:
    """A controller."""
    made = sys.modules[f"random_{seed}"] = types.ModuleType(f"random_{seed}")  # dataclasses look for it
    known: dict[str, Any] = vars(made)
    exec(compile(source(seed), f"/random/controller_{seed}.py", "exec"), known)
    return controller(for_=Pair, watches=(), owns=[ConfigMap], name=f"random-{seed}")(known["reconcile"])
