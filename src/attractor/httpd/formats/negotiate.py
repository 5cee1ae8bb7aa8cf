"""``Accept``: in which format, and as which kind, a client wants its answer.

>>> negotiate("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").transform
Transform(kind='Table', version='v1')
>>> negotiate("application/vnd.kubernetes.protobuf,application/json").media_type
'application/vnd.kubernetes.protobuf'

Clauses are tried by weight, then in the order of the header; parameters that a server does not know are ignored,
transformations that it does not know rule a clause out. Custom objects and Tables have no protobuf form: a client that
prefers protobuf gets them in the next format that it accepts. The metadata of a custom object alone has one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from attractor.apiserver.request.bodies import JSON, PROTOBUF, YAML
from attractor.objects.errors import NotAcceptable

if TYPE_CHECKING:
    from collections.abc import Sequence


META_GROUP = "meta.k8s.io"
DISCOVERY_GROUP, DISCOVERY_LIST = "apidiscovery.k8s.io", "APIGroupDiscoveryList"
SUPPORTED = (JSON, YAML, PROTOBUF)
STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
MAX_CLAUSES = 64
"""How much of a header is read; clients send three or four clauses."""

TransformKind = Literal["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
MetaVersion = Literal["v1", "v1beta1"]
DiscoveryVersion = Literal["v2"]


class Clause(NamedTuple):
    """One alternative of an ``Accept`` header."""

    type: str
    subtype: str
    params: dict[str, str]
    weight: float

    def covers(self, media_type: str) -> bool:
        """Whether the clause names the media type, or stands for all; ``application/*`` is nothing to Kubernetes."""
        return (self.type, self.subtype) == ("*", "*") or f"{self.type}/{self.subtype}" == media_type


class Transform(NamedTuple):
    """Another kind to answer with, of the group ``meta.k8s.io``."""

    kind: TransformKind
    version: MetaVersion

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of what is answered."""
        return f"{META_GROUP}/{self.version}"


class Negotiated(NamedTuple):
    """The outcome of content negotiation; ``content_type`` is what the answer says about itself."""

    media_type: str
    transform: Transform | None = None
    pretty: bool = False

    @property
    def content_type(self) -> str:
        """The header of the answer."""
        return self.media_type


def parse_accept(header: str) -> list[Clause]:
    """The alternatives, best first; one of no weight at all is the last, as Kubernetes has it."""
    clauses = [clause for text in header.split(",")[:MAX_CLAUSES] if (clause := _clause(text))]
    return sorted(clauses, key=lambda one: (-one.weight, one.type == "*", one.subtype == "*"))


def _clause(text: str) -> Clause | None:
    head, *rest = (part.strip() for part in text.split(";"))
    if not head:
        return None
    kind, slash, subtype = head.lower().partition("/")
    if not slash:
        subtype = "*" if kind == "*" else ""
    params = {}
    weight = 1.0
    for part in rest:
        name, _, value = part.partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if name == "q":
            weight = _weight(value)
        elif name:
            params[name] = value
    return Clause(kind.strip(), subtype.strip(), params, weight)


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if 0 <= weight <= 1 else 1.0


@lru_cache(maxsize=256)
def negotiate(accept: str, supported: Sequence[str] = SUPPORTED, *, is_custom: bool = False) -> Negotiated:
    """What to answer a request on a resource with; raises ``NotAcceptable`` with what would be."""
    if not accept:
        return Negotiated(supported[0])
    for clause in parse_accept(accept):
        for media_type in supported:
            if not clause.covers(media_type) or clause.params.get("stream", "watch") != "watch":
                continue
            asked = _asked(clause.params)
            transform = _transform(*asked)
            if media_type == PROTOBUF and (is_custom if transform is None else transform.kind == "Table"):
                continue
            if transform is not None or not any(asked):
                return Negotiated(media_type, transform, clause.params.get("pretty") == "1")
    raise not_acceptable(supported)


@lru_cache(maxsize=256)
def negotiate_untabled(accept: str) -> Negotiated:
    """``negotiate`` for a resource that has no rows: a Table is none of its formats."""
    kept = [text for text in accept.split(",") if not _asks_table(text)]
    if not kept:
        raise not_acceptable()
    return negotiate(",".join(kept))


def _asks_table(text: str) -> bool:
    clause = _clause(text)
    return clause is not None and _asked(clause.params)[2] == "Table"


def not_acceptable(supported: Sequence[str] = SUPPORTED) -> NotAcceptable:
    """The refusal of a client that takes nothing that there is."""
    return NotAcceptable(f"only the following media types are accepted: {', '.join(supported)}")


def no_representation(accept: str, supported: Sequence[str] = SUPPORTED, *also: str) -> NotAcceptable | None:
    """The refusal by which Kubernetes' router forestalls its handlers; None when a format as such would be known."""
    if not accept or any(clause.covers(media_type) for clause in parse_accept(accept) for media_type in supported):
        return None
    shown = ", ".join((*supported, *also))
    return NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {shown}", details={})


def _asked(params: dict[str, str]) -> tuple[str, str, str]:
    return params.get("g", ""), params.get("v", ""), params.get("as", "")


def _transform(group: str, version: str, kind: str) -> Transform | None:
    if group != META_GROUP or version not in {"v1", "v1beta1"}:
        return None
    if kind not in {"Table", "PartialObjectMetadata", "PartialObjectMetadataList"}:
        return None
    return Transform(cast("TransformKind", kind), cast("MetaVersion", version))


@lru_cache(maxsize=256)
def negotiate_discovery(accept: str) -> DiscoveryVersion | None:
    """The version of aggregated discovery that a client wants; None when it wants the plain one.

    A client that takes both gets the aggregated one, whatever its order of preference.
    """
    for clause in parse_accept(accept):
        group, version, kind = _asked(clause.params)
        if clause.covers(JSON) and (group, kind) == (DISCOVERY_GROUP, DISCOVERY_LIST) and version == "v2":
            return "v2"
    return None
