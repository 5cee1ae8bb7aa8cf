"""``etcd``, for programs that start one before the API server: it answers that it is healthy, and keeps nothing.

The API server keeps its objects in its own memory. A process of its own is needed all the same, because envtest starts
it, waits for its ``/health``, and stops it.
"""

from __future__ import annotations

import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

NAME = "attractor"
"""What it says in ``/version`` in place of a version, so that our API server knows it."""
DEFAULT = "http://127.0.0.1:2379"
_ANSWERS = {
    "/health": b'{"health":"true","reason":""}',
    "/readyz": b"ok",
    "/livez": b"ok",
    "/version": b'{"etcdserver":"%s","etcdcluster":"%s"}' % (NAME.encode(), NAME.encode()),
}
_HELP = """\
A stand-in for etcd: it is healthy, and keeps nothing.

      --listen-client-urls       where to answer, such as http://127.0.0.1:2379
      --advertise-client-urls    not used
      --listen-peer-urls         not used
      --data-dir                 not used
      --unsafe-no-fsync          not used
"""


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = _ANSWERS.get(self.path)
        self.send_response(200 if answer else 404)
        self.send_header("Content-Length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in http.server
        """Nobody reads who asked."""


def main(words: list[str]) -> int:
    """Answer until told to stop."""
    if "--help" in words:
        print(_HELP, end="")
        return 0
    given = [word.partition("=")[2] for word in words if word.startswith("--listen-client-urls=")]
    place = urlsplit((given[-1] if given else DEFAULT).split(",")[0])
    if place.scheme != "http" or place.port is None:
        print(f"error: --listen-client-urls={place.geturl()}: write http://HOST:PORT", file=sys.stderr)
        return 2
    server = ThreadingHTTPServer((place.hostname or "127.0.0.1", place.port), _Answers)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
