"""The rules of Kubernetes' own kinds, behind the contract of ``attractor.apiserver.kinds.strategy``.

Start with ``strategies`` (``strategy_for`` puts the parts together), then ``decode`` (into Go types and back),
``defaults`` (what is filled in), ``preparation`` and ``service_network`` (what a caller may not choose),
``validation`` (what is refused), ``kind_facts`` (tables). Nothing here allocates, reads a clock or looks at other
objects: addresses of services, quota, service accounts of pods and the like are for the core and its admission.
"""

from attractor.apiserver.kinds.builtin.service_network import ServiceNeeds, service_needs
from attractor.apiserver.kinds.builtin.strategies import BuiltinStrategy, strategy_for

__all__ = ["BuiltinStrategy", "ServiceNeeds", "service_needs", "strategy_for"]
