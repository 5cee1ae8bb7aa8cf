"""The kubeconfig of a running server: there while it is ready, gone when it is not."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING

import yaml

from attractor.httpd.certificates import write_private

if TYPE_CHECKING:
    from pathlib import Path

NAME = "attractor"


def kubeconfig(url: str, token: str, ca: bytes | None) -> bytes:
    """A kubeconfig with one cluster, one user and the context that joins them."""
    cluster: dict[str, str] = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


class KubeconfigFile:
    """A kubeconfig on disk; ``remove`` takes it away unless somebody else has replaced it since."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self._content = content

    def write(self) -> None:
        """Put it there, whole or not at all, readable by its owner only."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_private(self.path, self._content)

    def remove(self) -> None:
        """Take it away if it is still this one."""
        with contextlib.suppress(OSError):
            if self.path.read_bytes() == self._content:
                self.path.unlink()
