"""What the animals of the zoo live on: one small kind, its ConfigMap, and short ways to write both."""

from typing import Any

from attractor.check import WorldState
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, Struct
from attractor.runtime import Context
from attractor.runtime.toolkit.owners import set_controller

FINALIZER = "zoo.attractor.dev/held"


class AppSpec(Struct):
    """What is wanted."""

    value: str = "red"
    """What the app's ConfigMap should hold."""
    size: int = 1
    """How many ConfigMaps it should have, where it may have several."""
    source: str = ""
    """The name of a ConfigMap that it reads, where it reads one."""


class AppStatus(Struct):
    """What is."""

    value: str = ""
    """What was last done."""
    generation: int = 0
    """The generation of the spec that this status is about."""
    count: int = 0


class App(Resource, group="zoo.attractor.dev", version="v1"):
    """An app that keeps ConfigMaps."""

    spec: AppSpec
    status: AppStatus = AppStatus()


A = Key("default", "a")
CHILD = Key("default", "a-child")


def app(name: str = "a", *, finalizers: tuple[str, ...] = (), labels: dict[str, str] | None = None, **spec: Any) -> App:
    """An app as a user writes it."""
    meta = ObjectMeta(name=name, namespace="default", finalizers=list(finalizers), labels=labels or {})
    return App(metadata=meta, spec=AppSpec(**spec))


def configmap(name: str, **data: str) -> ConfigMap:
    """A ConfigMap that belongs to nobody."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


def child_of(app: App, suffix: str = "child", value: str | None = None) -> ConfigMap:
    """A ConfigMap that belongs to the app and holds its value."""
    made = configmap(f"{app.metadata.name}-{suffix}", value=app.spec.value if value is None else value)
    set_controller(app, made)
    return made


def child_key(key: Key, suffix: str = "child") -> Key:
    """Where an app's ConfigMap is."""
    return Key(key.namespace, f"{key.name}-{suffix}")


async def set_value(ctx: Context, found: ConfigMap, value: str) -> None:
    """Write a value into a ConfigMap, unless somebody changed it since it was read."""
    changed = found.deep_copy()
    changed.data = {**changed.data, "value": value}
    await ctx.patch_from(found, changed)


async def ensure_child(ctx: Context, app: App, suffix: str = "child") -> None:
    """Create the app's ConfigMap, or bring it in line."""
    found = await ctx.find(ConfigMap, child_key(app.key, suffix))
    if found is None:
        await ctx.create(child_of(app, suffix))
    elif found.data != {"value": app.spec.value}:
        await set_value(ctx, found, app.spec.value)


async def tell(ctx: Context, app: App, **status: Any) -> None:
    """Write what changed of the status, unless the app was changed since it was read."""
    told = app.deep_copy()
    for name, value in status.items():
        setattr(told.status, name, value)
    if told.status != app.status:
        await ctx.patch_from(app, told, subresource="status")


async def set_finalizers(ctx: Context, app: App, finalizers: list[str]) -> App:
    """Write the app's finalizers, unless it was changed since it was read."""
    changed = app.deep_copy()
    changed.metadata.finalizers = finalizers
    written: App = await ctx.patch_from(app, changed)
    return written


def value_of(look: WorldState, key: Key) -> str | None:
    """What a ConfigMap holds; None where there is none."""
    found = look.find(ConfigMap, key)
    return None if found is None else found.data.get("value")


def each_app_has_its_value(look: WorldState) -> bool:
    """Every app has its ConfigMap, with what its spec says."""
    return all(value_of(look, child_key(one.key)) == one.spec.value for one in look.list(App))


def nothing_is_left(look: WorldState) -> bool:
    """No app is on its way out, and where there is no app there is no ConfigMap."""
    apps = look.list(App)
    return not any(one.metadata.is_deleting for one in apps) and bool(apps or not look.list(ConfigMap))
