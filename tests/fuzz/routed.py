"""Requests straight to the router of a cluster in this process: all of a request's way but the socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.auth.authorizer import AUTHENTICATED
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.connection import Peer
from attractor.httpd.heads import IMPERSONATION, LINE_BREAK, Head
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply, encode_head
from tests.httpd.conftest import TOKENS

if TYPE_CHECKING:
    from tests.fuzz.attacks import Attack


def new_cluster() -> EmbeddedCluster:
    """A cluster with an administrator, and with a writer who may do what roles let him."""
    tokens = {**TOKENS, "writer-token": User("writer", "writer", (AUTHENTICATED,))}
    return EmbeddedCluster(controllers=(), authenticator=Authenticator(tokens))


def http(attack: Attack) -> HttpRequest:
    """The request as the parser would give it."""
    headers = {b"authorization": b"Bearer " + attack.token.encode(), b"accept": attack.accept.encode(), b"host": b"t"}
    if attack.body:
        headers[b"content-type"] = attack.content_type.encode()
    for name, value in attack.headers:
        joined = LINE_BREAK if name.startswith(IMPERSONATION) else b", "
        headers[name] = headers[name] + joined + value if name in headers else value
    return HttpRequest(attack.method, attack.path, Head(headers), attack.body)


async def answered(cluster: EmbeddedCluster, request: HttpRequest) -> Reply:
    """The whole answer, its head included."""
    router = cluster._router
    assert router is not None
    answer = router(request, Peer("127.0.0.1"))
    reply = answer if isinstance(answer, Reply) else await answer
    encode_head(reply, audit_id=b"id", date=b"", keep_alive=True, version="1.1")
    return reply
