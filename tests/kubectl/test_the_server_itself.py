"""What kubectl tells about the server: version, kinds, schemas, health."""

import json

import pytest

from tests.kubectl.tool import Kubectl

pytestmark = pytest.mark.slow


def test_version_names_client_and_server(kubectl: Kubectl) -> None:
    versions = json.loads(kubectl("version", "-o", "json"))
    assert versions["clientVersion"]["major"] == "1"
    assert versions["serverVersion"]["gitVersion"].startswith("v1.")
    assert "+attractor-" in versions["serverVersion"]["gitVersion"]


def test_api_resources_lists_kinds_with_short_names_scopes_and_verbs(kubectl: Kubectl) -> None:
    rows = kubectl.rows("api-resources", "-o", "wide")
    assert rows[0] == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS", "CATEGORIES"]
    found = {row[0]: row[1:] for row in rows}
    verbs = "create,delete,deletecollection,get,list,patch,update,watch"
    assert found["deployments"] == ["deploy", "apps/v1", "true", "Deployment", verbs, "all"]
    assert found["namespaces"][:4] == ["ns", "v1", "false", "Namespace"]
    assert found["customresourcedefinitions"][0] == "crd,crds"
    names = set(kubectl("api-resources", "-o", "name", "--namespaced=false").split())
    assert {"nodes", "clusterroles.rbac.authorization.k8s.io"} <= names
    assert "pods" not in names
    in_group = kubectl("api-resources", "--api-group=batch", "-o", "name").split()
    assert in_group == ["cronjobs.batch", "jobs.batch"]


def test_api_versions_are_sorted_and_contain_the_usual_groups(kubectl: Kubectl) -> None:
    versions = kubectl("api-versions").split()
    assert {"apps/v1", "batch/v1", "rbac.authorization.k8s.io/v1", "apiextensions.k8s.io/v1", "v1"} <= set(versions)
    assert versions == sorted(versions)


def test_explain_shows_fields_and_their_documentation(kubectl: Kubectl) -> None:
    text = kubectl("explain", "deployment.spec.replicas")
    assert "GROUP:      apps" in text
    assert "FIELD: replicas <integer>" in text
    assert "Number of desired pods." in text
    values = kubectl("explain", "pods.spec.restartPolicy")
    assert "ENUM:\n    Always\n    Never\n    OnFailure\n" in values
    recursive = kubectl("explain", "pods", "--recursive")
    assert "terminationGracePeriodSeconds\t<integer>" in recursive
    assert "does not exist" in kubectl.fails("explain", "pods.spec.nonsense")


def test_explain_reads_the_older_openapi_too(kubectl: Kubectl) -> None:
    text = kubectl("explain", "deployment.spec.replicas", "--output=plaintext-openapiv2")
    assert text.startswith("KIND:     Deployment\nVERSION:  apps/v1\n\nFIELD:    replicas <integer>\n")
    assert "Number of desired pods." in text


def test_a_kind_that_nobody_serves_is_told_by_name(kubectl: Kubectl) -> None:
    unknown = kubectl.file("unknown.yaml", "apiVersion: example.org/v1\nkind: Nothing\nmetadata: {name: x}\n")
    assert 'no matches for kind "Nothing" in version "example.org/v1"' in kubectl.fails("create", "-f", unknown)


def test_cluster_info_names_the_address(kubectl: Kubectl) -> None:
    assert f"is running at {kubectl.server.url}" in kubectl("cluster-info").replace("\x1b[0m", "").replace(
        "\x1b[0;33m", ""
    )


def test_raw_paths_answer_health_discovery_and_metrics(kubectl: Kubectl) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert kubectl("get", "--raw", path) == "ok"
    assert kubectl("get", "--raw", "/readyz?verbose").endswith("[+]shutdown ok\nreadyz check passed\n")
    assert kubectl("get", "--raw", "/livez/etcd") == "ok"
    assert json.loads(kubectl("get", "--raw", "/api/v1/namespaces/default"))["metadata"]["name"] == "default"
    assert "attractor_store_revision" in kubectl("get", "--raw", "/metrics")
    assert "NotFound" in kubectl.fails("get", "--raw", "/nowhere")


def test_an_unknown_kind_is_told_plainly(kubectl: Kubectl) -> None:
    assert kubectl.fails("get", "unicorns") == 'error: the server doesn\'t have a resource type "unicorns"\n'


def test_wrong_credentials_are_refused(kubectl: Kubectl) -> None:
    assert "You must be logged in to the server" in kubectl.fails("get", "pods", "--token=wrong")


def test_a_fresh_cluster_leads_to_its_server(kubectl: Kubectl) -> None:
    port = kubectl.server.url.rpartition(":")[2]
    assert f"Endpoints:                127.0.0.1:{port}\n" in kubectl("describe", "-n", "default", "service/kubernetes")
    assert kubectl.rows("get", "ipaddress", "10.0.0.1")[1] == ["10.0.0.1", "services/default/kubernetes"]


def test_flow_schemas_are_listed_by_precedence_and_tell_whether_their_level_exists(kubectl: Kubectl) -> None:
    rows = kubectl.rows("get", "flowschemas", "--no-headers")
    assert (rows[0][0], rows[-1][0]) == ("exempt", "catch-all")
    assert {row[-1] for row in rows} == {"False"}
