"""Typed classes of ``v1``, made when first imported; see ``typed_classes``."""

from attractor.k8s.typed_classes import MODULES, getattr_for, names_of

__getattr__ = getattr_for(MODULES["core_v1"])


def __dir__() -> list[str]:
    return names_of(MODULES["core_v1"])
