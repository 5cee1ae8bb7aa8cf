"""Services get addresses and ports of their own, and give them back."""

from typing import Any

import pytest

from tests.apiserver.conftest import Api

SERVICES = "/api/v1/namespaces/default/services"


def ports(**extra: Any) -> list[dict[str, Any]]:
    return [{"port": 80, **extra}]


async def test_every_service_gets_an_address_of_its_own(api: Api) -> None:
    made = [await api.create(SERVICES, f"s{number}", spec={"ports": ports()}) for number in range(20)]
    addresses = {answer.body["spec"]["clusterIP"] for answer in made}
    assert len(addresses) == 20
    assert all(answer.body["spec"]["clusterIPs"] == [answer.body["spec"]["clusterIP"]] for answer in made)


async def test_address_of_a_deleted_service_can_be_chosen_again(api: Api) -> None:
    first = await api.create(SERVICES, "a", spec={"ports": ports()})
    chosen = {"ports": ports(), "clusterIP": first.body["spec"]["clusterIP"]}
    taken = await api("POST", SERVICES, {"metadata": {"name": "b"}, "spec": chosen})
    assert taken.code == 422
    assert "provided IP is already allocated" in taken.body["message"]
    await api.delete(f"{SERVICES}/a")
    await api.create(SERVICES, "b", spec=chosen)


async def test_node_ports_are_claimed_and_given_up_with_the_type(api: Api) -> None:
    made = await api.create(SERVICES, "a", spec={"type": "NodePort", "ports": ports()})
    port = made.body["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port < 32768
    rival = {"type": "NodePort", "ports": ports(nodePort=port)}
    refused = await api("POST", SERVICES, {"metadata": {"name": "b"}, "spec": rival})
    assert "provided port is already allocated" in refused.body["message"]
    await api.merge(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})
    await api.create(SERVICES, "b", spec=rival)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"clusterIP": "192.168.1.1"}, "192.168.1.1: the provided network does not match the current range"),
        ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, "The range of valid ports is 30000-32767"),
    ],
)
async def test_what_is_out_of_range_is_refused(api: Api, spec: dict[str, Any], message: str) -> None:
    answer = await api("POST", SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": ports(), **spec}})
    assert (answer.code, message in answer.body["message"]) == (422, True), answer.body


async def test_dry_run_and_headless_services_claim_nothing(api: Api) -> None:
    before = api.server.store.revision
    shown = await api("POST", f"{SERVICES}?dryRun=All", {"metadata": {"name": "a"}, "spec": {"ports": ports()}})
    assert shown.body["spec"]["clusterIP"]
    assert api.server.store.revision == before
    await api.create(SERVICES, "h", spec={"clusterIP": "None", "ports": ports()})
    assert not (await api.server.store.snapshot()).range("allocations/")


async def test_a_service_without_a_name_is_refused_and_claims_nothing(api: Api) -> None:
    refused = await api("POST", SERVICES, {"metadata": {}, "spec": {"ports": ports()}})
    assert refused.code == 422
    assert "metadata.name: Required value: name or generateName is required" in refused.body["message"]
    assert (await api("GET", "/apis/networking.k8s.io/v1/ipaddresses")).body["items"] == []
