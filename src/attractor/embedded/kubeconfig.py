"""The kubeconfig of a running server: there while it is ready, gone when it is not."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import tempfile
from typing import TYPE_CHECKING

import yaml

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


class KubeconfigTaken(Exception):
    """A server that runs has its kubeconfig there."""


class KubeconfigFile:
    """A kubeconfig on disk, locked for as long as its server runs; ``remove`` takes it away if it is still this one.

    The lock is on the file itself and ends with the process, so what a killed server has left is replaced.
    """

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self._content = content
        self._held: int | None = None

    def write(self) -> None:
        """Put it there, whole or not at all, readable by its owner only; raises ``KubeconfigTaken`` and ``OSError``."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            os.write(descriptor, self._content)
            _lock(descriptor)
            self._place(name)
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name)
        self._held = descriptor

    def _place(self, name: str) -> None:
        try:
            os.link(name, self.path)
        except FileExistsError:
            try:
                there = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
            except OSError:  # a link, wherever it leads, or gone by now: no server holds it
                os.replace(name, self.path)
                return
            try:
                _lock(there)
                os.replace(name, self.path)
            finally:
                os.close(there)
        except OSError:  # a file system without links
            os.replace(name, self.path)

    def remove(self) -> None:
        """Take it away if it is still this one."""
        with contextlib.suppress(OSError):
            if self.path.read_bytes() == self._content:
                self.path.unlink()
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _lock(descriptor: int) -> None:
    """Lock an open file, where its file system can; raises ``KubeconfigTaken`` when somebody has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise KubeconfigTaken("a server that runs has its kubeconfig there") from error
    except OSError:  # such as one on another machine
        pass
