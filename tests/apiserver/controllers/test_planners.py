"""Built-in controllers as planners: from a snapshot to what is to be done, and nothing twice."""

from collections.abc import Callable, Iterable
from typing import Any

from attractor.apiserver.controllers.api_services import plan_api_services
from attractor.apiserver.controllers.expiry import plan_events, plan_leases
from attractor.apiserver.controllers.flow_schemas import plan_flow_schemas
from attractor.apiserver.controllers.namespace_content import plan_root_ca, plan_service_accounts
from attractor.apiserver.controllers.role_aggregation import plan_aggregation
from attractor.apiserver.controllers.termination import plan_definitions
from attractor.apiserver.request.operation import Operation
from attractor.store.contract import Snapshot
from tests.apiserver.conftest import Api

EVENTS = "/api/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


async def run(api: Api, plan: Callable[[Snapshot], Iterable[Operation]]) -> int:
    """Carry out a plan; answers how many operations it had. Planning again right away finds nothing."""
    operations = list(plan(api.server.store.snapshot_nowait()))
    for op in operations:
        await api.server.perform(op)
    assert list(plan(api.server.store.snapshot_nowait())) == []
    return len(operations)


async def event(api: Api, name: str) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    await api.create(EVENTS, name, involvedObject=about, reason="Tested", message="m", type="Normal")


def events_now(api: Api) -> Callable[[Snapshot], Iterable[Operation]]:
    return lambda snapshot: plan_events(snapshot, api.source.now())


async def test_an_event_goes_an_hour_after_it_was_last_written(api: Api) -> None:
    await event(api, "quiet")
    await event(api, "repeated")
    api.source.advance(1800)
    await api.merge(f"{EVENTS}/repeated", {"count": 2})
    api.source.advance(1799)
    assert await run(api, events_now(api)) == 0
    api.source.advance(1)
    assert await run(api, events_now(api)) == 1
    assert (await api.get(EVENTS)).names == ["repeated"]
    api.source.advance(1800)
    assert await run(api, events_now(api)) == 1
    assert (await api.get(EVENTS)).names == []


async def test_an_event_that_is_written_again_meanwhile_stays(api: Api) -> None:
    await event(api, "e")
    api.source.advance(3600)
    (planned,) = plan_events(api.server.store.snapshot_nowait(), api.source.now())
    await api.merge(f"{EVENTS}/e", {"count": 2})
    assert planned.delete.preconditions.resource_version != (await api.get(f"{EVENTS}/e")).version


async def lease(api: Api, name: str, **labels: str) -> None:
    spec = {"holderIdentity": name, "leaseDurationSeconds": 60, "renewTime": api.source.now_micro()}
    await api.create(LEASES, name, metadata={"labels": labels}, spec=spec)


async def test_the_lease_of_an_api_server_goes_when_it_was_not_renewed(api: Api) -> None:
    await lease(api, "server", **{"apiserver.kubernetes.io/identity": "kube-apiserver"})
    await lease(api, "election")
    api.source.advance(60)
    assert list(plan_leases(api.server.store.snapshot_nowait(), api.source.now())) == []
    api.source.advance(1)
    assert await run(api, lambda snapshot: plan_leases(snapshot, api.source.now())) == 1
    assert (await api.get(LEASES)).names == ["election"]


async def test_every_namespace_gets_a_service_account_and_gets_it_back(api: Api) -> None:
    assert await run(api, plan_service_accounts) == 4
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert (await api.get(accounts)).names == ["default"]
    await api.delete(f"{accounts}/default")
    await api.create("/api/v1/namespaces", "new")
    assert await run(api, plan_service_accounts) == 2


async def test_a_namespace_that_goes_away_gets_nothing(api: Api) -> None:
    await api.create("/api/v1/namespaces", "ending")
    await api.delete("/api/v1/namespaces/ending")
    planned = plan_service_accounts(api.server.store.snapshot_nowait())
    assert "ending" not in [op.namespace for op in planned]


async def test_the_root_authority_is_published_and_kept_right(api: Api) -> None:
    def publish(snapshot: Snapshot) -> Iterable[Operation]:
        return plan_root_ca(snapshot, "PEM")

    assert list(plan_root_ca(api.server.store.snapshot_nowait(), "")) == []
    assert await run(api, publish) == 4
    path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
    assert (await api.get(path)).body["data"] == {"ca.crt": "PEM"}
    await api.merge(path, {"data": {"ca.crt": "forged"}})
    assert await run(api, publish) == 1
    assert (await api.get(path)).body["data"] == {"ca.crt": "PEM"}


def rule(resource: str) -> dict[str, Any]:
    return {"verbs": ["get"], "apiGroups": [""], "resources": [resource]}


async def test_an_aggregated_role_has_the_rules_of_those_that_it_selects(api: Api) -> None:
    selector = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    await api.create(ROLES, "all", aggregationRule=selector, rules=[])
    await api.create(ROLES, "b", metadata={"labels": {"to": "all"}}, rules=[rule("pods"), rule("secrets")])
    await api.create(ROLES, "a", metadata={"labels": {"to": "all"}}, rules=[rule("nodes"), rule("pods")])
    await api.create(ROLES, "c", rules=[rule("events")])
    assert await run(api, plan_aggregation) == 1
    found = (await api.get(f"{ROLES}/all")).body["rules"]
    assert [one["resources"][0] for one in found] == ["nodes", "pods", "secrets"]
    await api.delete(f"{ROLES}/a")
    await api.delete(f"{ROLES}/b")
    assert await run(api, plan_aggregation) == 1
    assert not (await api.get(f"{ROLES}/all")).body["rules"]


async def test_roles_that_aggregate_each_other_come_to_rest_with_all_rules_of_all(api: Api) -> None:
    everything: dict[str, Any] = {"clusterRoleSelectors": [{}]}
    labelled = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    await api.create(ROLES, "a", aggregationRule=everything, rules=[rule("stale")])
    await api.create(ROLES, "b", metadata={"labels": {"to": "all"}}, aggregationRule=everything)
    await api.create(ROLES, "c", metadata={"labels": {"to": "all"}}, aggregationRule=labelled)
    await api.create(ROLES, "d", metadata={"labels": {"to": "all"}}, rules=[rule("pods"), rule("nodes")])
    await api.create(ROLES, "e", rules=[rule("events"), rule("pods")])
    assert await run(api, plan_aggregation) == 3
    assert await run(api, plan_aggregation) == 0, "one write for each, and no more"
    for name in "abc":
        found = (await api.get(f"{ROLES}/{name}")).body["rules"]
        assert [one["resources"][0] for one in found] == ["pods", "nodes", "events"]


async def test_a_flow_schema_says_whether_its_priority_level_exists(api: Api) -> None:
    flow = "/apis/flowcontrol.apiserver.k8s.io/v1"

    def now(snapshot: Snapshot) -> Iterable[Operation]:
        return plan_flow_schemas(snapshot, api.source.now())

    async def told() -> tuple[str, str]:
        (condition,) = (await api.get(f"{flow}/flowschemas/a")).body["status"]["conditions"]
        return condition["status"], condition["message"].rpartition('"')[2]

    await api.create(f"{flow}/flowschemas", "a", spec={"priorityLevelConfiguration": {"name": "low"}})
    assert await run(api, now) == 1
    assert await told() == ("True", " but there is no such object")
    limited = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    await api.create(f"{flow}/prioritylevelconfigurations", "low", spec=limited)
    assert await run(api, now) == 1
    assert await told() == ("False", " and it exists")
    await api.delete(f"{flow}/prioritylevelconfigurations/low")
    assert await run(api, now) == 1
    assert await told() == ("True", " but there is no such object")


async def define(api: Api, *versions: str) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    served = [{"name": one, "served": True, "storage": one == versions[0], "schema": schema} for one in versions]
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": served}
    await api.create(DEFINITIONS, "widgets.example.org", spec=spec)


async def test_every_version_that_a_definition_serves_has_an_api_service(api: Api) -> None:
    await define(api, "v1", "v2")
    assert await run(api, plan_api_services) == 2
    made = (await api.get(f"{API_SERVICES}/v2.example.org")).body
    assert made["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    assert made["spec"] == {
        "group": "example.org",
        "version": "v2",
        "groupPriorityMinimum": 1000,
        "versionPriority": 100,
    }
    assert [one["reason"] for one in made["status"]["conditions"]] == ["Local"]
    assert [one["manager"] for one in made["metadata"]["managedFields"]] == ["kube-apiserver"]


async def test_an_api_service_is_kept_as_it_should_be_and_goes_with_its_definition(api: Api) -> None:
    await define(api, "v1")
    assert await run(api, plan_api_services) == 1
    await api.merge(f"{API_SERVICES}/v1.example.org", {"spec": {"versionPriority": 5}})
    assert await run(api, plan_api_services) == 1
    assert (await api.get(f"{API_SERVICES}/v1.example.org")).body["spec"]["versionPriority"] == 100
    await api.delete(f"{DEFINITIONS}/widgets.example.org")
    await run(api, lambda snapshot: plan_definitions(snapshot, api.source.now()))
    assert await run(api, plan_api_services) == 1
    assert (await api.get(API_SERVICES)).names == []


async def test_an_api_service_that_somebody_took_over_is_left_alone(api: Api) -> None:
    await define(api, "v1")
    await run(api, plan_api_services)
    labels = {"kube-aggregator.kubernetes.io/automanaged": None}
    await api.merge(f"{API_SERVICES}/v1.example.org", {"metadata": {"labels": labels}, "spec": {"versionPriority": 5}})
    assert await run(api, plan_api_services) == 0
