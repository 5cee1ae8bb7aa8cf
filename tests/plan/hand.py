"""A plan carried out by hand: effects performed with a real client, one after the other, until a crash if one is due."""

from collections.abc import Iterable
from typing import Any

from attractor.client import Client
from attractor.k8s.core_v1 import ConfigMap, Secret, Service
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource
from attractor.plan import Chain, Compare, Freeze, ObjectGraph, Own, Plan, RemoveOrphans, SecretsFirst, Snapshot
from attractor.plan.chain import Transformer
from attractor.runtime import Context, Result, effects
from attractor.runtime.steps import Steps
from attractor.runtime.toolkit.owners import is_controlled_by

NAMESPACE = "default"
KINDS: tuple[type[Resource], ...] = (ConfigMap, Secret, Service)


def named(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=NAMESPACE)


def service(name: str, port: int = 80, **selector: str) -> Service:
    spec = {"ports": [{"port": port}], "selector": selector or {"app": name}}
    return Service.from_dict(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
    )


class Crash(BaseException):
    """The process is gone."""


class Hand:
    """Performs effects for one process; it dies after ``writes`` of them, if a number is given."""

    def __init__(self, client: Client, writes: int | None = None) -> None:
        self.client = client
        self.writes: list[effects.Effect[Any]] = []
        self._left = writes

    async def perform(self, effect: effects.Effect[Any]) -> Any:
        match effect:
            case effects.Gather(inner):
                return tuple([await self._outcome(one) for one in inner])
            case effects.Get(kind, key, _, True):
                try:
                    return await self.client.get(kind, key)
                except ApiError:
                    return None
            case effects.Get(kind, key):
                return await self.client.get(kind, key)
            case effects.List(kind, namespace, labels):
                return await self.client.list(kind, namespace, label_selector=labels)
        return await self._write(effect)

    async def _outcome(self, effect: effects.Effect[Any]) -> Any:
        try:
            return await self.perform(effect)
        except Exception as error:
            return error

    async def _write(self, effect: effects.Effect[Any]) -> Any:
        if self._left is not None:
            if self._left == 0:
                raise Crash
            self._left -= 1
        self.writes.append(effect)
        match effect:
            case effects.Create(obj):
                return await self.client.create(obj)
            case effects.Update(obj, subresource):
                return await self.client.update(obj, subresource=subresource)
            case effects.Patch(kind, key, body, "merge", subresource):
                assert isinstance(body, dict)
                return await self.client.patch(kind, key, body, subresource=subresource)
            case effects.Delete(kind, key, uid):
                return await self.client.delete(kind, key, uid=uid)
        raise AssertionError(f"a plan does not ask for {effect}")

    async def execute(self, plan: Plan, root: Resource, **options: Any) -> Result | None:
        steps = Steps(plan.execute(Context("plans", root.key), **options))
        while not steps.is_done:
            try:
                answer = await self.perform(steps.effect)
            except Crash:
                steps.close()
                raise
            except Exception as error:
                steps.fail(error)
            else:
                steps.answer(answer)
        return steps.result


async def snapshot_of(client: Client, root: Resource) -> Snapshot:
    found = [obj for kind in KINDS for obj in await client.list(kind, NAMESPACE)]
    return Snapshot(obj for obj in found if is_controlled_by(obj, root))


def plan_for(root: Resource, snapshot: Snapshot, wanted: Iterable[Resource], *more: Transformer) -> Plan:
    graph = ObjectGraph(root)
    for obj in wanted:
        graph.want(obj)
    chain: list[Transformer] = [
        Own({"plan": "test"}),
        Freeze(),
        Compare(snapshot),
        RemoveOrphans(snapshot),
        SecretsFirst(),
        *more,
    ]
    return Plan.build(graph, Chain(chain))


async def stored_root(client: Client, name: str = "root") -> ConfigMap:
    try:
        return await client.get(ConfigMap, Key(NAMESPACE, name))
    except ApiError:
        return await client.create(ConfigMap(metadata=named(name)))
