"""The app that the process driver runs: it answers every HTTP request with what it is. Standard library only."""

from __future__ import annotations

import argparse
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main() -> None:
    """Serve on a free port of this machine, and say where in a file."""
    parser = argparse.ArgumentParser(description="An app that says what it is.")
    for name in ("name", "revision", "cluster", "address-file"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    answer = json.dumps({"app": args.name, "revision": args.revision, "cluster": args.cluster}).encode()

    class Answer(BaseHTTPRequestHandler):
        """Says the same to everybody."""

        def do_GET(self) -> None:
            """Answer."""
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    path = Path(args.address_file)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(f"http://127.0.0.1:{server.server_port}")
    beside.replace(path)
    server.serve_forever()


if __name__ == "__main__":
    main()
