"""A server for kubectl that answers with these formats and remembers what it was sent."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from attractor.apiserver.request.bodies import PROTOBUF
from attractor.apiserver.request.routing import parse_path
from attractor.httpd.formats.catalog import Catalog, catalog_of
from attractor.httpd.formats.discovery import discover
from attractor.httpd.formats.document import Document
from attractor.httpd.formats.negotiate import negotiate
from attractor.httpd.formats.openapi.v2 import openapi_v2
from attractor.httpd.formats.openapi.v3 import openapi_v3
from attractor.httpd.formats.protobuf import decode
from attractor.httpd.formats.tables import include_object, view
from attractor.httpd.formats.transform import TransformOptions, transform
from attractor.objects.errors import NotFound
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.timestamps import parse_time

NOW = parse_time("2026-01-01T01:00:00Z")


@dataclass
class Sent:
    """A request that wrote something."""

    method: str
    path: str
    content_type: str
    body: bytes


@dataclass
class Recorder:
    """What is served, and what was sent."""

    catalog: Catalog
    url: str = ""
    home: Path = field(default_factory=Path)
    stored: dict[str, Any] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)

    def kubectl(self, *arguments: str, code: int = 0) -> str:
        """Run kubectl against this server; its output."""
        environment = {**os.environ, "HOME": str(self.home), "KUBECONFIG": str(self.home / "none")}
        done = subprocess.run(
            ["kubectl", "--server", self.url, *arguments],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def answer(self, method: str, target: str, accept: str, content_type: str, body: bytes) -> Document:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True)
        if parts.path == "/version":
            return _json({"major": "1", "minor": "36", "gitVersion": "v1.36.4"})
        document = (
            discover(self.catalog, parts.path, accept)
            or openapi_v3(self.catalog, parts.path, accept, asked_hash=query.get("hash", [""])[0])
            or openapi_v2(self.catalog, parts.path, accept)
        )
        if document is not None:
            return document
        if method != "GET":
            self.sent.append(Sent(method, parts.path, content_type, body))
            if method != "POST" and parts.path in self.stored:
                return _json(self.stored[parts.path])
            sent = decode(body, "Object") if content_type == PROTOBUF else json.loads(body or b"{}")
            return _json(sent, 201 if method == "POST" else 200)
        return self._read(parts.path, accept, query)

    def _read(self, path: str, accept: str, query: dict[str, list[str]]) -> Document:
        found = self.stored.get(path)
        if found is None:
            return _json(NotFound("not found").status(), 404)
        agreed = negotiate(accept)
        target = parse_path(path)
        assert target is not None
        if agreed.transform:
            gvk = GroupVersionKind.of(found["apiVersion"], found["kind"].removesuffix("List"))
            shown = view(self.catalog, gvk, target.resource)
            found = transform(shown, found, TransformOptions(agreed.transform, NOW, include_object(query)))
        return _json(found)


def _json(value: Any, code: int = 200) -> Document:
    return Document(code, "application/json", json.dumps(value).encode())


@contextmanager
def recorder(home: Path, *definitions: bytes) -> Iterator[Recorder]:
    """A running server; it ends with the context."""
    recorder = Recorder(catalog_of(definitions), home=home)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            header = self.headers.get
            answer = recorder.answer(
                self.command, self.path, header("Accept") or "", header("Content-Type") or "", body
            )
            self.send_response(answer.code)
            for name, value in (("Content-Type", answer.content_type), *answer.headers):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        recorder.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield recorder
        finally:
            server.shutdown()
            thread.join()
