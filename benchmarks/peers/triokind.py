"""The kind that every peer reconciles: a Trio keeps three ConfigMaps equal to its spec."""

from attractor.objects.resource import Resource, Struct


class TrioSpec(Struct):
    """What the children hold."""

    value: str = ""


class Trio(Resource, group="bench.attractor.dev", version="v1"):
    """An owner of three ConfigMaps."""

    spec: TrioSpec
