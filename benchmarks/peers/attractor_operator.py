"""The peer written with Attractor: `python attractor_operator.py KUBECONFIG`."""

import asyncio
import signal
import sys

from triokind import Trio

from attractor.client import Client
from attractor.client.configuration.kubeconfig import load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Manager, Result, controller
from attractor.runtime.toolkit.owners import set_controller


@controller(for_=Trio, owns=[ConfigMap], workers=16)
async def trios(ctx: Context, key: Key) -> Result | None:
    trio = await ctx.find(Trio, key)
    if trio is None or trio.metadata.is_deleting:
        return None
    for number in range(3):
        name = Key(key.namespace, f"{key.name}-{number}")
        wanted = {"value": trio.spec.value}
        found = await ctx.find(ConfigMap, name)
        if found is None:
            made = ConfigMap(metadata=ObjectMeta(namespace=name.namespace, name=name.name), data=wanted)
            set_controller(trio, made)
            await ctx.create(made)
        elif found.data != wanted:
            changed = found.deep_copy()
            changed.data = wanted
            await ctx.patch_from(found, changed)
    return None


async def main(kubeconfig: str) -> None:
    async with Client(HttpTransport(load_kubeconfig(kubeconfig))) as client:
        manager = Manager(client, [trios])
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.stop)
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.wait_running()
            print("ready", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
