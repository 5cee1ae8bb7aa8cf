"""A whole answer that is the same for everybody until it changes: discovery and OpenAPI documents."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Document:
    """Code, media type, bytes and further headers of an answer."""

    code: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    def when_changed(self, if_none_match: str) -> Document:
        """This document, or 304 without a body when the client has it already."""
        etag = dict(self.headers).get("ETag")
        if etag is None or self.code != 200:
            return self
        known = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
        return replace(self, code=304, body=b"") if etag in known or "*" in known else self


def page_not_found() -> Document:
    """The answer for paths that belong to no API group, as Go's HTTP server gives it."""
    return Document(404, "text/plain; charset=utf-8", b"404 page not found\n", (("X-Content-Type-Options", "nosniff"),))
