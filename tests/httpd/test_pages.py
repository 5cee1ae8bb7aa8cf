"""What the server tells about itself: health, metrics, paths, version."""

import re
from typing import NoReturn

import pytest

from attractor.embedded import EmbeddedCluster
from attractor.store.contract import StoreUnavailable
from tests.httpd.api import HttpApi


async def test_metrics_count_requests_by_method_and_code(api: HttpApi) -> None:
    await api.get("/api/v1/namespaces")
    await api.get("/api/v1/bogus")
    text = (await api.get("/metrics")).body.decode()
    assert 'apiserver_request_total{method="GET",code="200"} 1' in text
    assert 'apiserver_request_total{method="GET",code="404"} 1' in text
    assert 'apiserver_request_duration_seconds_bucket{le="+Inf"} 2' in text
    assert re.search(r"^process_resident_memory_bytes \d", text, re.MULTILINE)
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


async def test_readiness_ends_when_the_server_stops_and_health_does_not(api: HttpApi, cluster: EmbeddedCluster) -> None:
    assert (await api.get("/readyz")).code == 200
    assert cluster._router is not None
    cluster._router.is_ready = False
    assert (await api.get("/readyz")).code == 500
    assert (await api.get("/livez")).code == 200
    assert (await api.get("/livez/ping")).code == 200
    assert (await api.get("/livez/bogus")).code == 404
    assert b"[-]shutdown failed: reason withheld\nreadyz check failed\n" in (await api.get("/readyz")).body
    assert (await api.get("/readyz/shutdown")).body == b"internal server error: process is shutting down\n"
    assert (await api.get("/readyz?exclude=shutdown")).code == 200


async def test_a_store_that_does_not_answer_is_told_by_name(
    api: HttpApi, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost() -> NoReturn:
        raise StoreUnavailable("it is gone")

    monkeypatch.setattr(cluster.store, "snapshot", lost)
    assert b"[-]etcd failed: reason withheld\n" in (await api.get("/livez")).body
    assert (await api.get("/readyz/etcd-readiness")).body == b"internal server error: it is gone\n"
    assert (await api.get("/livez?exclude=etcd")).code == 200


async def test_the_root_lists_every_path_and_each_leads_somewhere(api: HttpApi) -> None:
    paths = (await api.get("/")).json["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/healthz", "/metrics", "/openapi/v3", "/version"} <= set(paths)
    for path in set(paths) - {"/openapi/v3/"}:  # which Kubernetes lists, and does not have
        assert (await api.get(path, Accept="*/*")).code == 200, path


async def test_pages_are_for_reading_only(api: HttpApi) -> None:
    for path in ("/version", "/api", "/api/v1", "/apis/apps/v1"):
        assert (await api.call("POST", path, {})).json["reason"] == "MethodNotAllowed"


async def test_pages_of_the_aggregator_are_shown_whatever_the_method(api: HttpApi) -> None:
    for path in ("/apis", "/apis/apps", "/openapi/v3"):
        assert (await api.call("PUT", path, {})).json == (await api.get(path)).json


async def test_documents_are_not_sent_again_to_those_who_have_them(api: HttpApi) -> None:
    first = await api.get("/openapi/v3")
    again = await api.get("/openapi/v3", If_None_Match=first.headers["etag"])
    assert (again.code, again.body) == (304, b"")


async def test_people_get_indented_json_and_yaml_on_request(api: HttpApi) -> None:
    path = "/api/v1/namespaces/default"
    assert (await api.get(path)).body.count(b"\n") == 1
    assert (await api.get(path, User_Agent="curl/8")).body.count(b"\n") > 5
    answer = await api.get(path, Accept="application/yaml")
    assert answer.headers["content-type"] == "application/yaml"
    assert answer.body.startswith(b"apiVersion: v1\nkind: Namespace\n")
    assert (await api.get(path, Accept="image/png")).code == 406
