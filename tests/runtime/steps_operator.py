"""An operator for tests that kill it: whoever leads creates the steps of a task, slowly, and signs each."""

import asyncio
import os

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, For, Result, controller
from attractor.runtime.predicates import labels_match

STEPS = 12
STEP_S = 0.15


@controller(for_=For(ConfigMap, when=labels_match(role="task")))
async def steps(ctx: Context, key: Key) -> Result | None:
    """Create what is missing of ``<task>-00`` to ``<task>-11``, one after the other."""
    for number in range(STEPS):
        name = Key(key.namespace, f"{key.name}-{number:02d}")
        if await ctx.find(ConfigMap, name) is None:
            made = ConfigMap(metadata=ObjectMeta(namespace=name.namespace, name=name.name, labels={"role": "step"}))
            made.data = {"by": os.environ["OPERATOR"]}
            await ctx.create(made)
            await _work()
    return None


async def _work() -> None:
    """Each step takes its time, in which the process can be killed."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(STEP_S, done.set_result, None)
    await done
