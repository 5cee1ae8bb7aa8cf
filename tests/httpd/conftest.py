"""A cluster behind a socket."""

from collections.abc import AsyncIterator

import pytest

from attractor.apiserver.auth.authorizer import AUTHENTICATED
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.httpd.api import HttpApi

TOKENS = {"admin-token": ADMIN, "reader-token": User("reader", "reader", (AUTHENTICATED,))}


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator(TOKENS)) as running:
        yield running


@pytest.fixture
async def api(cluster: EmbeddedCluster) -> HttpApi:
    return HttpApi((await cluster.listen()).port)
