"""At level Metadata the audit log never has anything of what is in a body or in a credential.

Random requests, right and wrong in every way that quotes its input, carry marked values where Secrets, ConfigMaps and
credentials have theirs; no mark may be found in what was written down.
"""

import asyncio
import base64
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.apiserver.audit.policy import METADATA_ONLY
from attractor.apiserver.auth.rbac import RbacAuthorizer
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.audit.trail import Auditor
from attractor.httpd.auth.authentication import Authenticator
from attractor.httpd.connection import Peer
from attractor.httpd.heads import Head
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply
from attractor.httpd.router import Router
from attractor.httpd.watch.streams import WatchHub
from tests.httpd.auditlines import Lines

MARK = "s3cr3t"
ENCODED = base64.b64encode(b"s3cr3ts3cr3t").decode()
HEX = MARK.encode().hex()
TOKEN = f"token-{MARK}"
USERS = {TOKEN: User("admin", groups=("system:masters",))}

marked = st.text(max_size=5).map(lambda text: f"{text}{MARK}{text}") | st.just(ENCODED)
wrong = st.sampled_from([None, 7, [], {}, [MARK], {MARK: MARK}])
data = st.dictionaries(st.sampled_from(["key", "no key", MARK]), marked | wrong, max_size=3) | marked | wrong
annotations = st.dictionaries(st.sampled_from(["a", "no key"]), marked | wrong, max_size=2) | wrong
objects = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({"name": st.just("a")}, optional={"annotations": annotations}),
        "data": data,
        "stringData": data,
        "type": marked | wrong,
        "immutable": marked | wrong,
        "apiVersion": st.just("v1") | marked | wrong,
        MARK: marked,
    },
)
patches = st.lists(
    st.fixed_dictionaries({"op": st.sampled_from(["add", "test", MARK]), "path": marked, "value": marked | wrong}),
    max_size=2,
)
bodies = (objects | patches).map(lambda value: json.dumps(value).encode())
garbled = st.tuples(bodies, st.integers(0, 60)).map(lambda pair: pair[0][: pair[1]] + MARK.encode())
CONTENT_TYPES = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
]


@st.composite
def requests(draw: st.DrawFn) -> HttpRequest:
    method = draw(st.sampled_from(["POST", "PUT", "PATCH", "DELETE", "GET"]))
    resource = draw(st.sampled_from(["secrets", "configmaps"]))
    name = "" if method == "POST" else "/a"
    query = draw(st.sampled_from(["", "?fieldValidation=Strict&fieldManager=m", "?dryRun=All"]))
    headers = {
        b"content-type": draw(st.sampled_from(CONTENT_TYPES)).encode(),
        b"authorization": draw(st.sampled_from([f"Bearer {TOKEN}", f"Bearer {MARK}", f"Basic {ENCODED}"])).encode(),
    }
    target = f"/api/v1/namespaces/default/{resource}{name}{query}"
    return HttpRequest(method, target, Head(headers), draw(bodies | garbled))


async def lines_of(asked: list[HttpRequest]) -> Lines:
    log, metrics = Lines(), Metrics()
    async with EmbeddedCluster(controllers=()) as cluster:
        router = Router(
            cluster.server,
            WatchHub(cluster.store, metrics),
            authenticator=Authenticator(USERS),
            authorizer=RbacAuthorizer(),
            metrics=metrics,
            limits=DEFAULT_LIMITS,
            auditor=Auditor(log, METADATA_ONLY, lambda: "2026-11-16T03:50:50.000000Z"),
        )
        for request in (valid(), *asked):
            answer = router(request, Peer("127.0.0.1:1"))
            if not isinstance(answer, Reply):
                await answer
    return log


def valid() -> HttpRequest:
    headers = {b"authorization": f"Bearer {TOKEN}".encode(), b"content-type": b"application/json"}
    body = json.dumps({"metadata": {"name": "a"}, "stringData": {"key": MARK}}).encode()
    return HttpRequest("POST", "/api/v1/namespaces/default/secrets", Head(headers), body)


@settings(max_examples=40, deadline=None)
@given(st.lists(requests(), min_size=1, max_size=12))
def test_no_body_and_no_credential_is_in_the_log_whatever_was_sent(asked: list[HttpRequest]) -> None:
    log = asyncio.run(lines_of(asked))
    assert len(log.lines) == 1 + len(asked)
    assert log.events[0]["responseStatus"]["code"] == 201, "the valid request was refused, so nothing was at stake"
    for line in log.lines:
        for mark in (MARK, ENCODED, HEX):
            assert mark.encode() not in line
