"""Check, then act: every app takes the lowest number that no other app has, as far as the cache knows.

Two workers find the same number free. Node ports, addresses and shard numbers are lost this way. The fixed one keeps
the numbers in one object and writes it only if nobody else did since.
"""

from attractor.check import World, WorldState, always, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, configmap, tell

NUMBERS = Key("default", "numbers")


def lowest(taken: set[int]) -> int:
    """The lowest number from one on that is not taken."""
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


@controller(for_=App, workers=2)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.count:
        return
    taken = {one.status.count for one in await ctx.list(App)}
    await tell(ctx, app, count=lowest(taken))


@controller(for_=App, workers=2)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.count:
        return
    numbers = await ctx.get(ConfigMap, NUMBERS)
    if key.name not in numbers.data:
        changed = numbers.deep_copy()
        changed.data = {**numbers.data, key.name: str(lowest({int(each) for each in numbers.data.values()}))}
        numbers = await ctx.patch_from(numbers, changed)
    await tell(ctx, app, count=int(numbers.data[key.name]))


def numbers_differ(look: WorldState) -> bool:
    given = [one.status.count for one in look.list(App) if one.status.count]
    return len(given) == len(set(given))


def all_have_numbers(look: WorldState) -> bool:
    return all(one.status.count for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    claims = [always(numbers_differ), eventually_stable(all_have_numbers)]
    return World(controllers=[declared], objects=[app(), app("b"), configmap("numbers")], properties=claims)
