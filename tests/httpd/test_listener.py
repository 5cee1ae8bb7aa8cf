"""Accepting clients when that does not go well."""

import errno
import socket

import pytest

from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.listener import Listener
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.reply import Reply
from tests.httpd.wire import connected


class Narrow(socket.socket):
    """An entrance to a process that has no room for another socket at first."""

    refused = 0

    def accept(self) -> tuple[socket.socket, object]:
        if self.refused < 2:
            self.refused += 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def test_a_process_without_room_for_sockets_accepts_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listening(host: str, port: int) -> list[socket.socket]:
        entrance = Narrow()
        entrance.setblocking(False)
        entrance.bind((host, port))
        entrance.listen()
        return [entrance]

    monkeypatch.setattr("attractor.httpd.listener.listening", listening)
    monkeypatch.setattr("attractor.httpd.listener.BREATH_S", 0.01)
    listener = Listener(lambda request, peer: Reply(200, b"ok"), limits=DEFAULT_LIMITS, observer=Metrics())
    await listener.start("127.0.0.1", 0)
    async with connected(listener.port) as wire:
        wire.request("GET", "/")
        assert (await wire.answer()).body == b"ok"
    await listener.aclose(grace_s=0.5)
