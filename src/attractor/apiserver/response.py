"""``Response``: the core's answer, with a body of one object, a list, any JSON, or a log.

A body stays as stored bytes for as long as possible: reading an object is then a look-up and one splice of its
resourceVersion, and a list is a join.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import orjson

if TYPE_CHECKING:
    from attractor.objects.errors import ApiError
    from attractor.objects.json_types import JsonObject

T = TypeVar("T")

_METADATA = b'"metadata":{'


def with_version(value: bytes, revision: int) -> bytes:
    """A stored object with its resourceVersion put in.

    Stored objects begin with kind, apiVersion and metadata, in this order, and metadata is never empty, so the first
    occurrence of ``"metadata":{`` is the object's own (inside a JSON string its quotes would be escaped).
    """
    return value.replace(_METADATA, b'"metadata":{"resourceVersion":"%d",' % revision, 1)


UNWRITTEN = 0
"""The revision of an object that a dry run would have created: it has none."""


class ObjectBody:
    """One stored object; ``revision`` is None until the transaction that writes it is committed."""

    __slots__ = ("revision", "value")

    def __init__(self, value: bytes, revision: int | None) -> None:
        self.value = value
        self.revision = revision

    def encode(self) -> bytes:
        """The object as JSON."""
        assert self.revision is not None, "the transaction that writes this object is not committed yet"
        return with_version(self.value, self.revision) if self.revision != UNWRITTEN else self.value


class ListBody(NamedTuple):
    """A list of stored objects."""

    kind: str
    api_version: str
    revision: int
    items: Sequence[bytes]
    """Encoded items, versions already put in."""
    continue_token: str | None = None
    """Empty on the last page of a custom kind, None on that of a built-in one: so Kubernetes has it."""
    remaining: int | None = None

    def head(self) -> JsonObject:
        """The list without its items."""
        metadata: JsonObject = {"resourceVersion": str(self.revision)}
        if self.continue_token is not None:
            metadata["continue"] = self.continue_token
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return {"kind": self.kind, "apiVersion": self.api_version, "metadata": metadata}

    def encode(self, after: bytes = b"") -> bytes:
        """The list as JSON, with something after it."""
        return b"".join((orjson.dumps(self.head())[:-1], b',"items":[', b",".join(self.items), b"]}", after))


class LongListBody:
    """A list so long that it is made in pieces: whoever has other work runs ``steps`` one at a time."""

    __slots__ = ("_made", "_steps")

    def __init__(self, steps: Generator[None, None, ListBody]) -> None:
        self._steps = steps
        self._made: ListBody | None = None

    def steps(self) -> Generator[None, None, ListBody]:
        """The list, after as many pauses as it takes; what was done before is not done again."""
        if self._made is None:
            self._made = yield from self._steps
        return self._made

    def finished(self) -> ListBody:
        """The list, all at once."""
        if self._made is None:
            self._made = run_through(self._steps)
        return self._made

    def encode(self) -> bytes:
        """The list as JSON."""
        return self.finished().encode()


def run_through(steps: Generator[None, None, T]) -> T:
    """Run a generator to its end and return its value, without pausing."""
    try:
        while True:
            next(steps)
    except StopIteration as done:
        answer: T = done.value
        return answer


class JsonBody(NamedTuple):
    """Any other JSON value."""

    value: JsonObject

    def encode(self) -> bytes:
        """The answer as JSON."""
        return orjson.dumps(self.value)


class LogOptions(NamedTuple):
    """Which part of a log is wanted."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_s: int | None = None


class LogBody(NamedTuple):
    """A container's log as far as the store knows it; whoever runs the container may stream a better one."""

    pod: JsonObject
    container: str
    options: LogOptions
    text: bytes
    unknown: ApiError | None = None
    """Why the store knows nothing, if that is the caller's business."""

    def encode(self) -> bytes:
        """The text."""
        return self.text


Body = ObjectBody | ListBody | LongListBody | JsonBody | LogBody


class Response:
    """A code, a body, and warnings for the caller."""

    __slots__ = ("body", "code", "warnings")

    def __init__(self, code: int, body: Body, warnings: tuple[str, ...] = ()) -> None:
        self.code = code
        self.body = body
        self.warnings = warnings

    @property
    def shows_placeholder(self) -> bool:
        """Whether it tells a placeholder: the revision of a write that was on its way, which nobody knew yet."""
        body = self.body
        return isinstance(body, ObjectBody) and body.revision is not None and body.revision < 0

    def committed(self, revision: int) -> Response:
        """This response once its transaction is committed at that revision."""
        body = self.body
        if isinstance(body, ObjectBody):
            if body.revision is not None:
                return self
            return Response(self.code, ObjectBody(body.value, revision), self.warnings)
        if isinstance(self.body, JsonBody) and self.body.value.get("metadata", {}).get("resourceVersion") == "":
            metadata = {**self.body.value["metadata"], "resourceVersion": str(revision)}
            return Response(self.code, warnings=self.warnings, body=JsonBody({**self.body.value, "metadata": metadata}))
        return self

    def encode(self) -> bytes:
        """The body as JSON."""
        return self.body.encode()

    def json(self) -> JsonObject:
        """The body as a JSON value of the caller's own."""
        if isinstance(self.body, JsonBody):
            return self.body.value
        decoded: JsonObject = orjson.loads(self.body.encode())
        return decoded


def refusal(error: ApiError) -> Response:
    """The response that carries an error's Status."""
    return Response(error.code, JsonBody(error.status()))
