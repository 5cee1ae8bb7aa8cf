"""Names, sockets that listen, and sockets that connect."""

import errno
import socket

import pytest

from attractor.wire.addresses import addresses, connected, listening


async def test_a_number_is_its_own_address() -> None:
    assert await addresses("127.0.0.1", 80) == [(socket.AF_INET, ("127.0.0.1", 80))]


async def test_who_listens_can_be_reached() -> None:
    (entrance,) = await listening("127.0.0.1", 0)
    with entrance, await connected("127.0.0.1", entrance.getsockname()[1]) as here:
        there, _ = entrance.accept()
        with there:
            here.send(b"x")
            assert there.recv(1) == b"x"


async def test_an_address_that_is_taken_is_named() -> None:
    (entrance,) = await listening("127.0.0.1", 0)
    port = entrance.getsockname()[1]
    with entrance, pytest.raises(OSError, match=rf"bind on address \('127.0.0.1', {port}\)") as raised:
        await listening("127.0.0.1", port)
    assert raised.value.errno == errno.EADDRINUSE


async def test_whoever_does_not_answer_is_named() -> None:
    (entrance,) = await listening("127.0.0.1", 0)
    port = entrance.getsockname()[1]
    entrance.close()
    with pytest.raises(ConnectionRefusedError, match=str(port)):
        await connected("127.0.0.1", port)
