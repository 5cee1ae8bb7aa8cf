"""The rules of Kubernetes' own kinds."""

from attractor.apiserver.builtin.decode import decoder
from attractor.apiserver.strategy import Strategy
from attractor.objects import names


class S(Strategy):
    def __init__(self, info):
        self.info = info
        self._d = decoder(info.definition)
        self.has_status_subresource = "status" in info.subresources
        self.has_generation = info.kind not in ("ConfigMap", "Secret", "Namespace", "Service", "Lease", "Event")

    def decode(self, obj):
        return self._d(obj)

    def validate_name(self, name, *, prefix=False):
        return names.as_prefix(names.dns1123_subdomain, name) if prefix else names.dns1123_subdomain(name)


def strategy_for(info):
    return S(info)
