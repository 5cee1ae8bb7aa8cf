"""A kind with rules of its own: a Farm of ConfigMaps that ``kubectl scale`` can grow.

Shows: bounds, enums, defaults, a CEL rule, printer columns, scale, status; a set of effects asked at once.
"""

from typing import Annotated, Literal

from attractor import Context, Key, Meta, ObjectMeta, PrinterColumn, Resource, Result, Rule, Scale, Struct, controller
from attractor.k8s import ConfigMap
from attractor.toolkit import set_controller


class FarmSpec(Struct):
    """What is grown."""

    replicas: Annotated[int, Meta(ge=0, le=100)] = 1
    crop: Literal["wheat", "rye"] = "wheat"


class FarmStatus(Struct):
    """What stands on the fields."""

    replicas: int = 0


class Farm(
    Resource,
    group="examples.attractor.dev",
    version="v1",
    printer_columns=(PrinterColumn("Fields", ".status.replicas", "integer"),),
    scale=Scale(".spec.replicas", ".status.replicas"),
    rules=(Rule("self.spec.crop == 'wheat' || self.spec.replicas <= 3", "there is rye for 3 fields only"),),
):
    """Some fields, each a ConfigMap."""

    spec: FarmSpec
    status: FarmStatus = FarmStatus()


def field(farm: Farm, name: str) -> ConfigMap:
    """One field of a farm."""
    meta = ObjectMeta(namespace=farm.metadata.namespace, name=name, labels={"farm": farm.metadata.name})
    made = ConfigMap(metadata=meta, data={"crop": farm.spec.crop})
    set_controller(farm, made)
    return made


@controller(for_=Farm, owns=[ConfigMap])
async def farms(ctx: Context, key: Key) -> Result | None:
    """Lay out what is missing and clear what is too much, all at once; then count."""
    farm = await ctx.find(Farm, key)
    if farm is None or farm.metadata.is_deleting:
        return None
    fields = await ctx.list(ConfigMap, namespace=key.namespace, labels=f"farm={key.name}")
    found = {one.metadata.name: one for one in fields}
    wanted = {f"{key.name}-{number}" for number in range(farm.spec.replicas)}
    new = [ctx.create(field(farm, name)) for name in sorted(wanted - found.keys())]
    old = [ctx.delete(found[name]) for name in sorted(found.keys() - wanted)]
    for failure in [one for one in await ctx.gather(*new, *old) if isinstance(one, Exception)]:
        raise failure
    if farm.status.replicas != len(wanted):
        farm.status.replicas = len(wanted)
        await ctx.update_status(farm)
    return None
