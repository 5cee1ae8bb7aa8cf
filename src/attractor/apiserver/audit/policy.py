"""Which requests are written down, and how much of them: Kubernetes' ``Policy``, read and matched as Kubernetes does.

The first rule that matches decides; a request that no rule matches is not written down.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from attractor.objects.yaml_json import YamlError, parse_yaml

if TYPE_CHECKING:
    from attractor.apiserver.auth.authorizer import Attributes
    from attractor.apiserver.request.caller import User

API_VERSION = "audit.k8s.io/v1"

Stage = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]


class Level(IntEnum):
    """How much is written down; each level has all that the one before it has."""

    NONE = 0
    METADATA = 1
    """Who asked for what, when, and how it ended."""
    REQUEST = 2
    """And the request's body."""
    REQUEST_RESPONSE = 3
    """And the answer's."""


_LEVELS = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}
LEVEL_NAMES = {level: name for name, level in _LEVELS.items()}


class PolicyError(ValueError):
    """A policy cannot be used; the text says which part, and what is wrong with it."""


class Verdict(NamedTuple):
    """The level and the stages that a policy sets for one request."""

    level: Level
    omit_stages: frozenset[Stage] = frozenset()
    omit_managed_fields: bool = False


NOT_AUDITED = Verdict(Level.NONE)


class GroupResources(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Resources of one API group; with no resource named, all of them."""

    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def covers(self, asked: Attributes) -> bool:
        """Whether a request is about one of these; ``pods`` does not cover ``pods/log``, ``pods/*`` and ``*`` do."""
        if self.group != asked.group:
            return False
        if not self.resources:
            return True
        if self.resource_names and asked.name not in self.resource_names:
            return False
        if not asked.subresource:
            return bool({"*", asked.resource, f"{asked.resource}/*"} & set(self.resources))
        combined = f"{asked.resource}/{asked.subresource}"
        return bool({"*", combined, f"*/{asked.subresource}", f"{asked.resource}/*"} & set(self.resources))


class Rule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One rule: all that it names must be so of a request; what it does not name may be anything."""

    level: Literal["None", "Metadata", "Request", "RequestResponse"]
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, user: User | None, asked: Attributes) -> bool:
        """Whether the rule is about this request; ``user`` is None when nobody could be told from its credentials."""
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.user_groups and (user is None or not set(self.user_groups) & set(user.groups)):
            return False
        if self.verbs and asked.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._matches_resource(asked)
        if self.non_resource_urls:
            return not asked.resource and any(_url_matches(url, asked.path) for url in self.non_resource_urls)
        return True

    def _matches_resource(self, asked: Attributes) -> bool:
        if not asked.resource or (self.namespaces and asked.namespace not in self.namespaces):
            return False
        return not self.resources or any(some.covers(asked) for some in self.resources)

    def check(self, where: str) -> None:
        """Raise ``PolicyError`` for a rule that could never mean what it says."""
        if self.non_resource_urls and (self.resources or self.namespaces):
            raise PolicyError(f"{where}: rules cannot apply to both regular resources and non-resource URLs")
        for url in self.non_resource_urls:
            if url != "*" and (not url.startswith("/") or "*" in url[:-1]):
                raise PolicyError(
                    f"{where}.nonResourceURLs: {url!r} must be *, or begin with / and have * only at its end"
                )
        for index, some in enumerate(self.resources):
            if some.resource_names and not some.resources:
                raise PolicyError(
                    f"{where}.resources[{index}]: using resourceNames requires at least one resource in resources"
                )


def _url_matches(pattern: str, path: str) -> bool:
    return pattern in {"*", path} or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


@lru_cache(maxsize=256)
def _verdict(level: str, omit: tuple[Stage, ...], omit_always: tuple[Stage, ...], omit_managed: bool) -> Verdict:
    return Verdict(_LEVELS[level], frozenset((*omit, *omit_always)), omit_managed)


class Policy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An audit policy, as ``--audit-policy`` names it."""

    rules: tuple[Rule, ...]
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool = False
    metadata: dict[str, object] = {}
    api_version: str = API_VERSION
    kind: str = "Policy"

    @classmethod
    def parse(cls, text: bytes) -> Policy:
        """Read a policy from YAML or JSON; raises ``PolicyError``.

        >>> Policy.parse(b"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}").rules[0].level
        'Metadata'
        """
        try:
            given = parse_yaml(text)
            said = (given.get("apiVersion"), given.get("kind")) if isinstance(given, dict) else None
            if said != (API_VERSION, "Policy"):
                raise PolicyError(f"it must say apiVersion: {API_VERSION} and kind: Policy")
            policy = msgspec.convert(given, cls)
        except (YamlError, msgspec.ValidationError) as error:
            raise PolicyError(str(error)) from error
        if not policy.rules:
            raise PolicyError("it has no rules, so that nothing would ever be written down")
        for index, rule in enumerate(policy.rules):
            rule.check(f"rules[{index}]")
        return policy

    def decide(self, user: User | None, asked: Attributes) -> Verdict:
        """What is to be written down of a request."""
        for rule in self.rules:
            if rule.matches(user, asked):
                omit_managed = (
                    self.omit_managed_fields if rule.omit_managed_fields is None else rule.omit_managed_fields
                )
                return _verdict(rule.level, rule.omit_stages, self.omit_stages, omit_managed)
        return NOT_AUDITED


METADATA_ONLY = Policy(rules=(Rule(level="Metadata"),), omit_stages=("RequestReceived",))
"""Who did what, once for each request (twice for a watch: when it began and when it ended), and nobody's data."""
