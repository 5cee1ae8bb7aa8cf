"""Two processes, one leader: run this twice against one cluster, and stop one of them.

    attractor serve --kubeconfig ./kubeconfig &
    python examples/standby.py ./kubeconfig

Shows: a manager in one's own program, Lease election, health and metrics endpoints.
"""

import asyncio
import os
import socket
import sys

from attractor import Client, Context, Election, For, Key, Manager, Result, controller, load_kubeconfig
from attractor.k8s import ConfigMap
from attractor.toolkit import labels_match


@controller(for_=For(ConfigMap, when=labels_match(greet="yes")))
async def greeter(ctx: Context, key: Key) -> Result | None:
    """Greet ConfigMaps that ask for it."""
    found = await ctx.find(ConfigMap, key)
    if found is not None and found.data.get("greeting") != f"hello, {key.name}":
        changed = found.deep_copy()
        changed.data = {**found.data, "greeting": f"hello, {key.name}"}
        await ctx.patch_from(found, changed)
    return None


def manager(client: Client, identity: str, health_port: int = 0) -> Manager:
    """The greeter, acting only while it holds the Lease ``greeter``."""
    election = Election("greeter", "default", identity)
    return Manager(client, [greeter], election=election, health=("127.0.0.1", health_port))


async def main(kubeconfig: str) -> None:
    """Run until interrupted, or until leadership is lost."""
    async with Client.connect(load_kubeconfig(kubeconfig)) as client:
        await manager(client, f"{socket.gethostname()}-{os.getpid()}").run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
