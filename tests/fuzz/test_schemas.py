"""Requests made up from the published schemas (schemathesis): whatever is asked, the server answers, and not with a 5xx.

A binding to nothing is the exception: kube-apiserver answers it with 500, and so do we.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.clients.conftest import DEFINITION
from tests.fuzz.test_mutations import RECORDED
from tests.serving import Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
PATIENCE_S = 10
MEMORY_BYTES = 400_000_000
"""Far more than the server needs for what is left in it, far less than a leak of bodies would take."""
NAMES = ("fuzzed", "default", "absent")
CUSTOM = "example.org"
USUAL = ("configmaps", "services", "gadgets", "roles", "customresourcedefinitions", "namespaces", "deployments")
"""The kinds of the short run."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    crds = tmp_path_factory.mktemp("crds")
    (crds / "gadgets.json").write_text(json.dumps(DEFINITION))
    with serving(tmp_path_factory.mktemp("server"), "--crds", str(crds)) as running:
        yield running


@pytest.fixture(scope="module")
def session(server: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[requests.Session]:
    authority = tmp_path_factory.mktemp("trust") / "ca.crt"
    authority.write_text(server.authority)
    with requests.Session() as session:
        session.trust_env = False
        session.verify = str(authority)
        session.headers["Authorization"] = f"Bearer {server.token}"
        yield session


def operations(session: requests.Session, server: Serving, path: str) -> Iterator[Any]:
    document = session.get(f"{server.url}/openapi/v3/{path}", timeout=PATIENCE_S).json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=server.url)
    for found in schema.get_all_operations():
        yield found.ok()


def fuzz(operation: Any, session: requests.Session, examples: int) -> None:
    @seed(2026)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), name=st.sampled_from(NAMES))
    def answers(case: Any, name: str) -> None:
        for parameter in case.path_parameters or {}:
            case.path_parameters[parameter] = "default" if parameter == "namespace" else name
        if case.query:
            case.query.pop("watch", None)
        response = case.call(session=session, timeout=PATIENCE_S, verify=session.verify)
        as_recorded = any(said in response.content for said in RECORDED)
        assert response.status_code < 500 or as_recorded, f"{case.as_curl_command()}\n{response.text}"

    answers()


@pytest.mark.parametrize(
    "path",
    [
        "api/v1",
        "apis/apps/v1",
        "apis/example.org/v1",
        "apis/rbac.authorization.k8s.io/v1",
        "apis/apiextensions.k8s.io/v1",
    ],
)
def test_whatever_the_schemas_allow_gets_an_answer(server: Serving, session: requests.Session, path: str) -> None:
    asked = 0
    for operation in operations(session, server, path):
        if any(f"/{kind}" in operation.path for kind in USUAL) and asked < 60:
            asked += 1
            fuzz(operation, session, examples=2)
    assert asked
    assert resident_bytes(session, server) < MEMORY_BYTES


def resident_bytes(session: requests.Session, server: Serving) -> float:
    text = session.get(f"{server.url}/metrics", timeout=PATIENCE_S).text
    (line,) = [line for line in text.splitlines() if line.startswith("process_resident_memory_bytes ")]
    return float(line.split()[1])


@pytest.mark.nightly
def test_whatever_any_schema_allows_gets_an_answer(server: Serving, session: requests.Session) -> None:
    index = session.get(f"{server.url}/openapi/v3", timeout=PATIENCE_S).json()["paths"]
    # Read before anything is asked: requests may delete a definition and with it its document. Custom kinds come first,
    # so that they are still served while they are asked about.
    groups = {path: list(operations(session, server, path)) for path in sorted(index, key=lambda at: CUSTOM not in at)}
    for found in groups.values():
        for operation in found:
            fuzz(operation, session, examples=15)
    assert len(groups) > 20
    assert resident_bytes(session, server) < MEMORY_BYTES
