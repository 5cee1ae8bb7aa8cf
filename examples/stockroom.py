"""The client by itself, for scripts: count, mark, resize and clear what is in a namespace.

    attractor serve --kubeconfig ./kubeconfig &
    python examples/stockroom.py ./kubeconfig default

Shows: typed and dynamic kinds, selectors, pages, metadata only, strategic and JSON patches, scale, errors.
"""

import asyncio
import sys

from attractor import Client, GroupVersionKind, Invalid, Key, MetadataOnly, NotFound, load_kubeconfig
from attractor.k8s import ConfigMap, Deployment

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


async def names(client: Client, namespace: str) -> list[str]:
    """What is there: ten at a time, and nothing of their contents."""
    listed = await client.list(MetadataOnly(ConfigMap), namespace, label_selector="!keep", page_size=10)
    return [one.metadata.name for one in listed]


async def tidy(client: Client, namespace: str) -> dict[str, int]:
    """Put every Deployment to sleep and throw away what nobody wants to keep; answers what was done."""
    done = {"asleep": 0, "deleted": 0}
    for found in await client.list(DEPLOYMENT, namespace):  # a dict each: no class is needed
        key = Key(namespace, found["metadata"]["name"])
        await client.patch(Deployment, key, {"metadata": {"annotations": {"asleep": "yes"}}}, type="strategic")
        await client.scale(Deployment, key, 0)
        done["asleep"] += 1
    done["deleted"] = len(await names(client, namespace))
    await client.delete_all_of(ConfigMap, namespace, label_selector="!keep")
    return done


async def relabel(client: Client, key: Key, label: str) -> str:
    """Mark one object; says what became of it."""
    try:
        await client.patch(
            ConfigMap, key, [{"op": "add", "path": "/metadata/labels", "value": {"keep": label}}], type="json"
        )
    except NotFound:
        return "gone"
    except Invalid as error:
        return f"refused: {error.causes[0]['field']}"
    return "marked"


async def main(kubeconfig: str, namespace: str) -> None:
    """Tidy a namespace of some cluster."""
    async with Client.connect(load_kubeconfig(kubeconfig)) as client:
        print(await tidy(client, namespace))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
