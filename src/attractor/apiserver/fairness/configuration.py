"""FlowSchemas and PriorityLevelConfigurations as they are in force, and the flow that a request belongs to.

A request belongs to the first schema that matches it, by precedence and then by name. What is stored counts; where
nothing of it is stored, the defaults that the caller gives do. The two mandatory schemas and levels, ``exempt`` and
``catch-all``, are always in force, so that every request has a schema and every schema a level.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from attractor.apiserver.auth.authorizer import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from attractor.apiserver.fairness.dispatcher import LevelSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attractor.apiserver.auth.authorizer import Attributes
    from attractor.apiserver.request.caller import User
    from attractor.objects.json_types import Json
    from attractor.store.contract import Snapshot

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS, LEVELS = f"{GROUP}/flowschemas/", f"{GROUP}/prioritylevelconfigurations/"
EXEMPT, CATCH_ALL = "exempt", "catch-all"
DEFAULT_PRECEDENCE = 1000
MAX_USERS = 4096
"""Of so many users the schemas that may match them are remembered."""
_SERVICE_ACCOUNT = "system:serviceaccount:"


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Subject(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    user: _Named = _Named()
    group: _Named = _Named()
    service_account: _Named = _Named()

    def is_for(self, user: User) -> bool:
        """Whether it names this user."""
        match self.kind:
            case "User":
                return self.user.name in {"*", user.name}
            case "Group":
                return self.group.name == "*" or self.group.name in user.groups
            case "ServiceAccount":
                return self._is_account(user.name)
        return False

    def _is_account(self, name: str) -> bool:
        whose = f"{_SERVICE_ACCOUNT}{self.service_account.namespace}:"
        if self.service_account.name == "*":
            return name.startswith(whose)
        return name == whose + self.service_account.name


class _ResourceRule(msgspec.Struct, frozen=True, rename="camel"):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    cluster_scope: bool = False
    namespaces: tuple[str, ...] = ()

    def covers(self, asked: Attributes) -> bool:
        """Whether it is about what is asked."""
        if asked.namespace:
            is_there = "*" in self.namespaces or asked.namespace in self.namespaces
        else:
            is_there = self.cluster_scope
        resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        return (
            is_there
            and ("*" in self.verbs or asked.verb in self.verbs)
            and ("*" in self.api_groups or asked.group in self.api_groups)
            and ("*" in self.resources or resource in self.resources)
        )

    @property
    def covers_all(self) -> bool:
        """Whether it is about every request for a resource."""
        return self.cluster_scope and all(
            "*" in each for each in (self.verbs, self.api_groups, self.resources, self.namespaces)
        )


class _PathRule(msgspec.Struct, frozen=True):
    verbs: tuple[str, ...] = ()
    paths: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")

    def covers(self, asked: Attributes) -> bool:
        """Whether it is about what is asked."""
        return ("*" in self.verbs or asked.verb in self.verbs) and any(_is_path(p, asked.path) for p in self.paths)

    @property
    def covers_all(self) -> bool:
        """Whether it is about every path."""
        return "*" in self.verbs and "*" in self.paths


def _is_path(pattern: str, path: str) -> bool:
    return pattern in {"*", path} or (pattern.endswith("/*") and path.startswith(pattern[:-1]))


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    subjects: tuple[_Subject, ...] = ()
    resource_rules: tuple[_ResourceRule, ...] = ()
    path_rules: tuple[_PathRule, ...] = msgspec.field(default=(), name="nonResourceRules")

    def is_for(self, user: User) -> bool:
        return any(subject.is_for(user) for subject in self.subjects)

    def covers(self, asked: Attributes) -> bool:
        rules: tuple[_ResourceRule | _PathRule, ...] = self.resource_rules if asked.resource else self.path_rules
        return any(rule.covers(asked) for rule in rules)

    @property
    def covers_all(self) -> bool:
        return any(rule.covers_all for rule in self.resource_rules) and any(rule.covers_all for rule in self.path_rules)


class _Type(msgspec.Struct, frozen=True):
    type: str = ""
    name: str = ""


class _SchemaSpec(msgspec.Struct, frozen=True, rename="camel"):
    priority_level_configuration: _Type = _Type()
    matching_precedence: int = DEFAULT_PRECEDENCE
    distinguisher_method: _Type | None = None
    rules: tuple[_Rule, ...] | None = ()


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""


class _Schema(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _SchemaSpec = _SchemaSpec()


class _Queuing(msgspec.Struct, frozen=True, rename="camel"):
    queues: int = 64
    hand_size: int = 8
    queue_length_limit: int = 50


class _LimitResponse(msgspec.Struct, frozen=True):
    type: str = "Reject"
    queuing: _Queuing | None = None


class _Limited(msgspec.Struct, frozen=True, rename="camel"):
    nominal_concurrency_shares: int | None = None
    limit_response: _LimitResponse = _LimitResponse()
    lendable_percent: int | None = None
    borrowing_limit_percent: int | None = None

    @property
    def shares(self) -> int:
        """Shares of the server's seats; 30 where nothing is said."""
        return 30 if self.nominal_concurrency_shares is None else self.nominal_concurrency_shares


class _LevelSpec(msgspec.Struct, frozen=True):
    type: str = "Limited"
    limited: _Limited | None = None
    exempt: _Limited | None = None


class _Level(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _LevelSpec = _LevelSpec()


def _said(value: Json) -> Json:
    """A value without the nulls in it, which say nothing."""
    if isinstance(value, dict):
        return {name: _said(one) for name, one in value.items() if one is not None}
    return [_said(one) for one in value] if isinstance(value, list) else value


_MANDATORY_SCHEMAS = {
    EXEMPT: _Schema(
        _Metadata(EXEMPT),
        _SchemaSpec(
            _Type(name=EXEMPT),
            1,
            None,
            (
                _Rule(
                    (_Subject("Group", group=_Named(MASTERS)),),
                    (_ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),),
                    (_PathRule(("*",), ("*",)),),
                ),
            ),
        ),
    ),
    CATCH_ALL: _Schema(
        _Metadata(CATCH_ALL),
        _SchemaSpec(
            _Type(name=CATCH_ALL),
            10_000,
            _Type("ByUser"),
            (
                _Rule(
                    (
                        _Subject("Group", group=_Named(AUTHENTICATED)),
                        _Subject("Group", group=_Named(UNAUTHENTICATED)),
                    ),
                    (_ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),),
                    (_PathRule(("*",), ("*",)),),
                ),
            ),
        ),
    ),
}
_MANDATORY_LEVELS = {
    EXEMPT: _Level(_Metadata(EXEMPT), _LevelSpec("Exempt", exempt=_Limited(0))),
    CATCH_ALL: _Level(_Metadata(CATCH_ALL), _LevelSpec(limited=_Limited(5, _LimitResponse(), 0))),
}


class FlowSchema(NamedTuple):
    """A schema in force, and the level that its requests go to."""

    name: str
    level: str
    is_exempt: bool
    distinguisher: str
    """``ByUser``, ``ByNamespace``, or empty where all requests of the schema are one flow."""
    rules: tuple[_Rule, ...]
    headers: bytes
    """The response headers that name schema and level; nothing for those that are not stored."""


class Flow(NamedTuple):
    """Requests that wait in line with each other: those of a schema, divided by its distinguisher."""

    schema: FlowSchema
    distinguisher: str
    hash: int
    """The same for equal flows, and as good as random between others."""


class _Candidates(NamedTuple):
    """The schemas that may match a user's requests, in order; ``only`` where the first matches all of them."""

    schemas: tuple[FlowSchema, ...]
    only: Flow | None


class Configuration:
    """All schemas and levels that are in force."""

    def __init__(self, schemas: Sequence[FlowSchema], levels: Sequence[LevelSpec]) -> None:
        self.schemas = tuple(schemas)
        self.levels = tuple(levels)
        self._users: dict[User, _Candidates] = {}
        self._flows: dict[tuple[str, str], Flow] = {}

    @classmethod
    def of(cls, snapshot: Snapshot, seats: int, defaults: Mapping[str, bytes]) -> Configuration:
        """What is stored, or the defaults by key where nothing is; ``seats`` is what all levels share."""
        stored = {entry.key: entry.value for entry in (*snapshot.range(SCHEMAS), *snapshot.range(LEVELS))}
        texts = stored or defaults
        schemas = dict(_MANDATORY_SCHEMAS)
        levels = dict(_MANDATORY_LEVELS)
        for key, text in texts.items():
            with suppress(msgspec.ValidationError):  # what cannot be understood is not in force; all else is
                if key.startswith(SCHEMAS):
                    schemas[key.removeprefix(SCHEMAS)] = msgspec.convert(_said(orjson.loads(text)), _Schema)
                else:
                    levels[key.removeprefix(LEVELS)] = msgspec.convert(_said(orjson.loads(text)), _Level)
        if not stored:
            schemas = {name: _unnamed(schema) for name, schema in schemas.items()}
        ordered = sorted(schemas.values(), key=lambda one: (one.spec.matching_precedence, one.metadata.name))
        known = (one for one in ordered if one.spec.priority_level_configuration.name in levels)
        return cls([_in_force(one, levels) for one in known], list(_shared_out(levels.values(), seats)))

    def candidates(self, user: User) -> _Candidates:
        """The schemas that may match a user's requests."""
        found = self._users.get(user)
        if found is None:
            if len(self._users) >= MAX_USERS:
                self._users.clear()
            found = self._users[user] = self._look_up(user)
        return found

    def _look_up(self, user: User) -> _Candidates:
        schemas: list[FlowSchema] = []
        for schema in self.schemas:
            mine = tuple(rule for rule in schema.rules if rule.is_for(user))
            if mine:
                schemas.append(schema._replace(rules=mine))
                if any(rule.covers_all for rule in mine):
                    break
        only = None
        if len(schemas) == 1 and schemas[0].distinguisher != "ByNamespace":
            only = self._flow(schemas[0], user.name if schemas[0].distinguisher else "")
        return _Candidates(tuple(schemas), only)

    def flow_of(self, user: User, asked: Attributes) -> Flow:
        """The flow that a request belongs to."""
        for schema in self.candidates(user).schemas:
            if any(rule.covers(asked) for rule in schema.rules):
                return self._flow(schema, _distinguisher(schema, user, asked))
        caught = next(one for one in self.schemas if one.name == CATCH_ALL)
        return self._flow(caught, user.name)  # of no group at all

    def _flow(self, schema: FlowSchema, distinguisher: str) -> Flow:
        key = (schema.name, distinguisher)
        found = self._flows.get(key)
        if found is None:
            if len(self._flows) >= MAX_USERS:
                self._flows.clear()
            digest = hashlib.sha256(f"{schema.name}\0{distinguisher}".encode()).digest()
            found = self._flows[key] = Flow(schema, distinguisher, int.from_bytes(digest[:8], "little"))
        return found


def _distinguisher(schema: FlowSchema, user: User, asked: Attributes) -> str:
    match schema.distinguisher:
        case "ByUser":
            return user.name
        case "ByNamespace":
            return asked.namespace
    return ""


def _unnamed(schema: _Schema) -> _Schema:
    return _Schema(_Metadata(schema.metadata.name), schema.spec)


def _in_force(schema: _Schema, levels: Mapping[str, _Level]) -> FlowSchema:
    spec = schema.spec
    level = levels[spec.priority_level_configuration.name]
    return FlowSchema(
        schema.metadata.name,
        level.metadata.name,
        is_exempt=level.spec.type == "Exempt",
        distinguisher=spec.distinguisher_method.type if spec.distinguisher_method else "",
        rules=spec.rules or (),
        headers=_headers(schema.metadata.uid, level.metadata.uid),
    )


def _headers(schema_uid: str, level_uid: str) -> bytes:
    if not (schema_uid and level_uid):
        return b""
    said = f"X-Kubernetes-Pf-Flowschema-Uid: {schema_uid}\r\nX-Kubernetes-Pf-Prioritylevel-Uid: {level_uid}\r\n"
    return said.encode("latin-1")


def _shared_out(levels: Iterable[_Level], seats: int) -> Iterable[LevelSpec]:
    """The levels with their seats: each has its share of all, rounded up, as in Kubernetes."""
    limits = {
        one.metadata.name: (one.spec.limited or _Limited()) if one.spec.type != "Exempt" else None for one in levels
    }
    total = sum(limit.shares for limit in limits.values() if limit is not None)
    for name, limit in limits.items():
        if limit is None:
            continue
        nominal = math.ceil(seats * limit.shares / total) if total else 0
        borrowing = limit.borrowing_limit_percent
        queuing = limit.limit_response.queuing or (_Queuing() if limit.limit_response.type == "Queue" else None)
        yield LevelSpec(
            name,
            nominal=nominal,
            lendable=round(nominal * (limit.lendable_percent or 0) / 100),
            borrowable=seats if borrowing is None else round(nominal * borrowing / 100),
            queues=queuing.queues if queuing else 0,
            hand_size=queuing.hand_size if queuing else 0,
            queue_length=queuing.queue_length_limit if queuing else 0,
        )
