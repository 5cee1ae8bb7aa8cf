"""The kind ``ConfigPair``."""

from attractor.objects.resource import PrinterColumn, Resource, Struct


class ConfigPairSpec(Struct):
    """Desired state of a pair."""

    value: str = ""
    """What both ConfigMaps hold, under ``value``."""


class ConfigPairStatus(Struct):
    """Observed state of a pair."""

    written: str = ""
    """The value that both ConfigMaps were last seen to hold."""


class ConfigPair(
    Resource,
    group="operators.attractor.dev",
    version="v1",
    short_names=("pair",),
    printer_columns=(PrinterColumn("Value", ".spec.value"), PrinterColumn("Written", ".status.written")),
):
    """Two ConfigMaps, ``<name>-cm1`` and ``<name>-cm2``, that are kept equal to the spec."""

    spec: ConfigPairSpec
    status: ConfigPairStatus = ConfigPairStatus()
