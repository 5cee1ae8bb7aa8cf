"""Links on every poller that there is."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from attractor.httpd.auth.certificates import CertificateFiles, ensure_certificates
from attractor.wire.poller import EachByItself, OneEpoll, Poller
from tests.wire.ends import Ends

Linked = Callable[..., Ends]


@pytest_asyncio.fixture(params=[OneEpoll, EachByItself])
async def poller(request: pytest.FixtureRequest) -> Poller:
    found: Poller = request.param(asyncio.get_running_loop())
    return found


@pytest.fixture
def linked(poller: Poller) -> Iterator[Linked]:
    made: list[Ends] = []

    def link(**options: Any) -> Ends:
        made.append(Ends(poller, **options))
        return made[-1]

    yield link
    for ends in made:
        ends.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"), ["127.0.0.1", "localhost"])


@pytest.fixture(scope="session")
def server_tls(files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.cert, files.key)
    return context


@pytest.fixture(scope="session")
def client_tls(files: CertificateFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(files.ca))
