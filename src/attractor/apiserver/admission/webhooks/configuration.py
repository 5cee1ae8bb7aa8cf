"""The webhooks that are registered, read from the store and remembered by their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import orjson

from attractor.apiserver.admission.match import Rule, Selectors, Target, match_rules
from attractor.apiserver.admission.match_conditions import MatchConditions
from attractor.apiserver.admission.outside_calls import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
DEFAULT_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration."""

    name: str
    endpoint: Endpoint
    rules: tuple[Rule, ...]
    is_exact: bool
    """Whether only the versions that the rules name count."""
    selectors: Selectors
    conditions: MatchConditions
    fails_open: bool
    """Whether the request goes on when the webhook cannot be asked."""
    timeout_s: int
    has_side_effects: bool
    """Whether it must not be asked about dry runs."""
    is_reinvoked: bool
    api_version: str
    """The version of AdmissionReview that it is sent."""

    def match(self, attributes: Attributes) -> Target | None:
        """The resource as which the webhook wants to see the request; None when it does not."""
        target = match_rules(self.rules, attributes, is_exact=self.is_exact)
        return target if target is not None and self.selectors.match(attributes) else None


def _webhook(spec: JsonObject) -> Webhook:
    versions = spec.get("admissionReviewVersions") or ["v1"]
    known = next((version for version in versions if version in {"v1", "v1beta1"}), "v1")
    fails_open = spec.get("failurePolicy") == "Ignore"
    return Webhook(
        name=spec["name"],
        endpoint=Endpoint.of(spec["clientConfig"]),
        rules=msgspec.convert(spec.get("rules") or (), tuple[Rule, ...]),
        is_exact=spec.get("matchPolicy") == "Exact",
        selectors=Selectors.of(spec.get("namespaceSelector"), spec.get("objectSelector")),
        conditions=MatchConditions.of(spec.get("matchConditions") or (), fails_open=fails_open),
        fails_open=fails_open,
        timeout_s=spec.get("timeoutSeconds") or DEFAULT_TIMEOUT_S,
        has_side_effects=spec.get("sideEffects") not in {"None", "NoneOnDryRun"},
        is_reinvoked=spec.get("reinvocationPolicy") == "IfNeeded",
        api_version=f"admission.k8s.io/{known}",
    )


@lru_cache(maxsize=1024)
def _webhooks(value: bytes) -> tuple[Webhook, ...]:
    return tuple(map(_webhook, orjson.loads(value).get("webhooks") or ()))


def webhooks(txn: Transaction, resource: str) -> Iterator[Webhook]:
    """Every webhook of a resource, in the order in which they are asked."""
    for entry in txn.range(f"{GROUP}/{resource}/"):
        yield from _webhooks(entry.value)
