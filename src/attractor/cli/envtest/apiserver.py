"""``kube-apiserver``, for programs that start one: the flags are translated, and ``attractor serve`` does the rest."""

from __future__ import annotations

import json
import os
import sys
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from attractor.cli.envtest.apiserver_flags import FlagError, help_text, translate
from attractor.cli.envtest.etcd import NAME

OPTIONS = "ATTRACTOR_ENVTEST"
"""What runs beside the server: ``nodes=2`` for workloads on simulated nodes, ``no-controllers`` for a bare server."""
ASKED_S = 2.0


def main(words: list[str]) -> int:
    """Serve until told to stop."""
    if "--help" in words or "-h" in words:
        print(help_text())
        return 0
    if "--version" in words:
        from attractor.k8s.catalog import KUBERNETES_VERSION

        print(f"Kubernetes v{KUBERNETES_VERSION}")
        return 0
    try:
        made = translate(words)
        serve = ["serve", *made.words, *_beside(os.environ.get(OPTIONS, "")), "--store", _store(made.etcd)]
    except FlagError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    from attractor.cli.main import main as attractor

    return attractor(serve)


def _beside(options: str) -> list[str]:
    """What the environment asks for, as flags of ``attractor serve``; raises ``FlagError``."""
    words: list[str] = []
    for option in filter(None, (one.strip() for one in options.split(","))):
        name, _, number = option.partition("=")
        if name == "nodes" and number.isdigit():
            words += ["--nodes", number]
        elif option == "no-controllers":
            words += ["--controllers", "none"]
        else:
            raise FlagError(f"{OPTIONS} has {option!r}; there are nodes=NUMBER and no-controllers")
    return words


def _store(etcd: str) -> str:
    """Return the store that ``--etcd-servers`` means: memory for the stand-in, and for none at all.

    The stand-in says who it is. An etcd that does not answer is taken for a real one: the server then says so itself.
    """
    if not etcd:
        return "memory"
    place = urlsplit(etcd if "//" in etcd else f"http://{etcd}")
    host, port = place.hostname or "127.0.0.1", place.port or 2379
    asked = HTTPConnection(host, port, timeout=ASKED_S)
    try:
        asked.request("GET", "/version")
        if json.load(asked.getresponse()).get("etcdserver") == NAME:
            return "memory"
    except (OSError, ValueError, HTTPException):
        pass
    finally:
        asked.close()
    return f"etcd:{host}:{port}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
