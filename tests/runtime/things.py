"""A small kind for tests, and short ways to make its objects."""

import asyncio

from attractor.objects.resource import Condition, ObjectMeta, Resource, Struct


class ThingSpec(Struct):
    """What is wanted."""

    size: int = 1
    uses: list[str] = []  # noqa: RUF012 - each object gets its own
    """Names of ConfigMaps."""


class ThingStatus(Struct):
    """What is."""

    seen: int = 0
    conditions: list[Condition] = []  # noqa: RUF012


class Thing(Resource, group="test.attractor.dev", version="v1"):
    """A thing."""

    spec: ThingSpec
    status: ThingStatus = ThingStatus()


def thing(name: str = "a", size: int = 1, *uses: str) -> Thing:
    return Thing(metadata=ObjectMeta(name=name, namespace="default"), spec=ThingSpec(size=size, uses=list(uses)))


async def passing(seconds: float) -> None:
    """Let the event loop's time pass; under virtual time that takes none."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, done.set_result, None)
    await done
