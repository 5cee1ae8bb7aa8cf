"""To which flow schema, and which flow of it, a request belongs."""

import json
from typing import Any

import pytest

from attractor.apiserver.auth.authorizer import AUTHENTICATED, MASTERS, UNAUTHENTICATED, Attributes, attributes_of
from attractor.apiserver.fairness.configuration import LEVELS, SCHEMAS, Configuration
from attractor.apiserver.request.caller import User
from attractor.embedded.bootstrap import flow_control
from attractor.store.mvcc import Mvcc

LEASE = Attributes("update", "coordination.k8s.io", "v1", "leases", namespace="kube-system", name="x")
ADMIN = User("admin", groups=(MASTERS, AUTHENTICATED))
READER = User("reader", groups=(AUTHENTICATED,))
ACCOUNT = User(
    "system:serviceaccount:shop:robot",
    groups=("system:serviceaccounts", "system:serviceaccounts:shop", AUTHENTICATED),
)
MANAGER = User("system:kube-controller-manager", groups=(AUTHENTICATED,))
NODE = User("system:node:n1", groups=("system:nodes", AUTHENTICATED))
NOBODY = User("system:anonymous", groups=(UNAUTHENTICATED,))


def configuration(*objects: dict[str, Any], seats: int = 600) -> Configuration:
    mvcc = Mvcc()
    for obj in objects:
        prefix = SCHEMAS if obj["kind"] == "FlowSchema" else LEVELS
        key = prefix + obj["metadata"]["name"]
        mvcc.append(mvcc.head.plan({key: 0}, {key: json.dumps(obj).encode()}))
    return Configuration.of(mvcc.head, seats, flow_control())


@pytest.mark.parametrize(
    ("user", "asked", "schema", "level"),
    [
        (ADMIN, attributes_of("GET", "/api/v1/pods", {}), "exempt", "exempt"),
        (NOBODY, attributes_of("GET", "/healthz", {}), "probes", "exempt"),
        (READER, attributes_of("GET", "/readyz", {}), "probes", "exempt"),
        (READER, attributes_of("GET", "/api/v1/pods", {}), "global-default", "global-default"),
        (ACCOUNT, attributes_of("GET", "/api/v1/pods", {}), "service-accounts", "workload-low"),
        (MANAGER, LEASE, "system-leader-election", "leader-election"),
        (MANAGER, attributes_of("GET", "/api/v1/pods", {}), "kube-controller-manager", "workload-high"),
        (NODE, attributes_of("GET", "/api/v1/pods", {}), "system-nodes", "system"),
        (NODE, Attributes("update", "", "v1", "nodes", "status", name="n1"), "system-node-high", "node-high"),
        (User("of no group"), attributes_of("GET", "/api/v1/pods", {}), "catch-all", "catch-all"),
    ],
)
def test_requests_belong_to_the_schemas_that_kube_apiserver_puts_them_in(
    user: User, asked: Attributes, schema: str, level: str
) -> None:
    flow = configuration().flow_of(user, asked)
    assert (flow.schema.name, flow.schema.level) == (schema, level)


def test_the_schema_of_masters_is_known_without_looking_at_the_request() -> None:
    only = configuration().candidates(ADMIN).only
    assert only is not None
    assert only.schema.is_exempt
    assert configuration().candidates(READER).only is None, "probes are another schema's"


def test_seats_are_shared_out_as_kube_apiserver_shares_its_six_hundred() -> None:
    seats = {spec.name: spec.nominal for spec in configuration().levels}
    assert seats == {
        "catch-all": 13,
        "global-default": 49,
        "leader-election": 25,
        "node-high": 98,
        "system": 74,
        "workload-high": 98,
        "workload-low": 245,
    }


def rule(*namespaces: str, user: str = "*") -> dict[str, Any]:
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": list(namespaces)}
    return {"subjects": [{"kind": "User", "user": {"name": user}}], "resourceRules": [resources]}


def schema(name: str, level: str, precedence: int, by: str, *rules: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": level},
        "distinguisherMethod": {"type": by},
        "rules": list(rules),
    }
    return {"kind": "FlowSchema", "metadata": {"name": name, "uid": f"uid-of-{name}"}, "spec": spec}


def level(name: str, shares: int) -> dict[str, Any]:
    limited = {"nominalConcurrencyShares": shares, "limitResponse": {"type": "Reject"}}
    metadata = {"name": name, "uid": f"uid-of-{name}-level"}
    return {"kind": "PriorityLevelConfiguration", "metadata": metadata, "spec": {"type": "Limited", "limited": limited}}


def test_the_schema_with_the_lower_precedence_wins_and_flows_are_told_apart_by_namespace() -> None:
    found = configuration(
        level("shops", 10),
        schema("later", "shops", 600, "ByUser", rule("*")),
        schema("shops", "shops", 500, "ByNamespace", rule("shop", "store")),
    )
    there = [found.flow_of(READER, Attributes("get", "", "v1", "pods", namespace=one)) for one in ("shop", "store")]
    assert [flow.schema.name for flow in there] == ["shops", "shops"]
    assert [flow.distinguisher for flow in there] == ["shop", "store"]
    assert there[0].hash != there[1].hash
    elsewhere = found.flow_of(READER, Attributes("get", "", "v1", "pods", namespace="bank"))
    assert (elsewhere.schema.name, elsewhere.distinguisher) == ("later", "reader")
    assert b"X-Kubernetes-Pf-Flowschema-Uid: uid-of-later\r\n" in elsewhere.schema.headers


def test_a_schema_whose_level_does_not_exist_matches_nothing_and_the_mandatory_ones_are_always_there() -> None:
    found = configuration(schema("dangling", "nowhere", 2, "ByUser", rule("*")))
    assert found.flow_of(READER, Attributes("get", "", "v1", "pods", namespace="shop")).schema.name == "catch-all"
    assert found.flow_of(ADMIN, Attributes("get", "", "v1", "pods")).schema.name == "exempt"


def test_an_object_that_cannot_be_understood_takes_nobody_elses_rules_away() -> None:
    odd = {"kind": "FlowSchema", "metadata": {"name": "odd"}, "spec": {"matchingPrecedence": "soon", "rules": 7}}
    nulls = schema("nulls", "shops", 100, "ByUser", {**rule("*"), "nonResourceRules": None})
    nulls["spec"]["rules"][0]["subjects"][0]["group"] = None
    found = configuration(level("shops", 10), odd, nulls)
    assert found.flow_of(READER, Attributes("get", "", "v1", "pods", namespace="shop")).schema.name == "nulls"
    assert "odd" not in [one.name for one in found.schemas]
