"""Pages: answers that are not about objects but about the server itself.

The root's list of paths, the version, discovery and OpenAPI. A page is a function from what is asked to a
reply, or to None when the path is not its own.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, NamedTuple

import orjson

from attractor import __version__
from attractor.apiserver.request.bodies import JSON
from attractor.httpd.formats.catalog import catalog
from attractor.httpd.formats.discovery import discover
from attractor.httpd.formats.negotiate import no_representation
from attractor.httpd.formats.openapi.v2 import openapi_v2
from attractor.httpd.formats.openapi.v3 import openapi_v3
from attractor.httpd.pages.health import HEALTH_PATHS
from attractor.httpd.pages.issuer import issuer_page
from attractor.httpd.pages.zpages import ZPAGES
from attractor.httpd.reply import Reply
from attractor.k8s.catalog import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.httpd.formats.document import Document
    from attractor.httpd.parser import HttpRequest
    from attractor.store.contract import Snapshot

    Query = Mapping[str, Sequence[str]]

_FIXED_PATHS = (
    "/.well-known/openid-configuration", "/api", "/apis", "/apis/", "/metrics", "/openapi/v2", "/openapi/v3",
    "/openapi/v3/", "/openid/v1/jwks", "/version", *HEALTH_PATHS, *ZPAGES,
)  # fmt: skip


class Ask(NamedTuple):
    """A request for a page, and the snapshot that it may show."""

    request: HttpRequest
    query: Query
    snapshot: Snapshot


def answers_any_method(path: str) -> bool:
    """Whether Kubernetes shows a page whatever the method: those of its aggregator do not look at it."""
    parts = path.rstrip("/").split("/")
    return path == "/" or path.startswith("/openapi/") or (parts[1] == "apis" and len(parts) <= len(("", "apis", "G")))


def reply_of(document: Document) -> Reply:
    """A document as it is sent."""
    return Reply(document.code, document.body, document.content_type, dict(document.headers))


def root_page(ask: Ask) -> Reply | None:
    """``/``: every path there is."""
    if ask.request.path != "/":
        return None
    served = catalog(ask.snapshot).groups
    paths = set(_FIXED_PATHS)
    for group, versions in served.items():
        base = f"/apis/{group}" if group else "/api"
        paths |= {base, *(f"{base}/{version}" for version in versions)}
    return Reply(200, orjson.dumps({"paths": sorted(paths)}, option=orjson.OPT_INDENT_2))


def version_page(ask: Ask) -> Reply | None:
    """``/version``: the Kubernetes version whose API is served, and what serves it."""
    if ask.request.path not in {"/version", "/version/"}:
        return None
    refused = no_representation(ask.request.header(b"accept"), (JSON,))
    if refused is not None:
        raise refused
    major, minor, *_ = KUBERNETES_VERSION.split(".")
    about = {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{KUBERNETES_VERSION}+attractor-{__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{_MACHINES.get(platform.machine(), platform.machine())}",
    }
    return Reply(200, orjson.dumps(about, option=orjson.OPT_INDENT_2))


_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def discovery_page(ask: Ask) -> Reply | None:
    """``/api``, ``/apis`` and what is directly below them."""
    document = discover(
        catalog(ask.snapshot),
        ask.request.path,
        ask.request.header(b"accept"),
        server_address=ask.request.header(b"host"),
        if_none_match=ask.request.header(b"if-none-match"),
    )
    return reply_of(document) if document is not None else None


def openapi_page(ask: Ask) -> Reply | None:
    """``/openapi/v2``, and ``/openapi/v3`` and below."""
    path = ask.request.path
    if not path.startswith("/openapi/"):
        return None
    accept, known = ask.request.header(b"accept"), ask.request.header(b"if-none-match")
    asked = next(iter(ask.query.get("hash", ())), "")
    served = catalog(ask.snapshot)
    document = openapi_v3(served, path, accept, asked_hash=asked, if_none_match=known)
    document = document or openapi_v2(served, path, accept, if_none_match=known)
    return reply_of(document) if document is not None else None


PAGES = (root_page, version_page, discovery_page, openapi_page, issuer_page)
