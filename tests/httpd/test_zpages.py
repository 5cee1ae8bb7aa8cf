"""What the server tells of itself: flags, start, and results of checks."""

from attractor.httpd.pages.zpages import ServerFacts
from tests.httpd.api import HttpApi


def test_flags_are_told_as_text_and_as_an_object() -> None:
    facts = ServerFacts({"store": "memory", "listen": ":1"})
    text = facts.reply("/flagz", "*/*")
    assert text is not None
    assert text.body.decode().endswith("listen: :1\nstore: memory\n")
    told = facts.reply("/flagz", "application/json;as=Flagz;v=v1alpha1;g=config.k8s.io")
    assert told is not None
    assert b'"flags":{"listen":":1","store":"memory"}' in told.body
    assert told.warnings == ("This version of the flagz endpoint is deprecated. Please use a newer version.",)


async def test_status_tells_versions_and_paths(api: HttpApi) -> None:
    answer = await api.get("/statusz", Accept="application/json;as=Statusz;v=v1beta1;g=config.k8s.io")
    assert (answer.json["kind"], answer.json["emulationVersion"]) == ("Statusz", "1.36")
    assert "/statusz" in answer.json["paths"]
    text = await api.get("/statusz", Accept="text/plain")
    assert "\nEmulation version: 1.36\n" in text.body.decode()


async def test_results_of_checks_are_counted(api: HttpApi) -> None:
    for _ in range(2):
        assert (await api.get("/readyz")).code == 200
    lines = (await api.get("/metrics/slis")).body.decode().splitlines()
    assert 'kubernetes_healthcheck{name="etcd",type="readyz"} 1' in lines
    assert 'kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 2' in lines
