"""Reading an application: what is right, what is refused and with which words, what is doubtful."""

from __future__ import annotations

import pytest

from attractor.operators.devplane.api.application import ApplicationError, doubts, read

HEAD = "apiVersion: dev.attractor.dev/v1\n"
SERVICE = HEAD + "kind: Service\nmetadata: {name: web}\n"
SERVER = HEAD + (
    "kind: ExecutableReplicaSet\nmetadata: {name: api}\nspec:\n  replicas: 2\n  template:\n    spec:\n"
    "      command: [serve]\n      args: ['{{portForServing \"web\"}}']\n      serves: [{service: web}]\n"
)
CLIENT = HEAD + (
    "kind: Executable\nmetadata: {name: ask, namespace: other}\nspec:\n  command: [ask, '{{addressFor \"db\"}}']\n"
)


def test_objects_are_found_with_their_places_and_get_a_namespace() -> None:
    parts = read([("a.yaml", f"# the web\n{SERVICE}---\n{SERVER}---\n"), ("b.yaml", CLIENT)])
    assert [(part.place, str(part), part.namespace) for part in parts] == [
        ("a.yaml:2", "Service web", "default"),
        ("a.yaml:6", "ExecutableReplicaSet api", "default"),
        ("b.yaml:1", "Executable ask", "other"),
    ]
    assert parts[1].object["spec"]["template"]["spec"]["command"] == ["serve"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a: [1", "app.yaml:1:6: this is no YAML: expected ',' or ']'", "indentation"),
        ("", "there is no object", "Service, Executable, ExecutableReplicaSet"),
        ("- 1", "app.yaml:1: this is no object", "kind: Executable"),
        ("kind: Pod\napiVersion: v1", "app.yaml:1: Pod of v1 is no kind", "there are: Service"),
        (HEAD + "kind: Excutable", "app.yaml:1: Excutable of dev.attractor.dev/v1 is no kind", "mean Executable of"),
        ("kind: Service\napiVersion: v1", "Service of v1 is no kind", "mean Service of dev.attractor.dev/v1"),
        (HEAD + "kind: Service", "app.yaml:1: this Service has no name", "metadata"),
        (SERVICE + "spec: {prot: 1}", "app.yaml:1: Service web has no field spec.prot", "did you mean port?"),
        (SERVICE + "specs: {}", "Service web has no field specs", "did you mean spec?"),
        (
            SERVER.replace("serves: [{service", "serves: [{servce"),
            "ExecutableReplicaSet api has no field spec.template.spec.serves[0].servce",
            "did you mean service?",
        ),
        (f"{SERVICE}---\n{SERVICE}", "app.yaml:5: Service web is at app.yaml:1 too", "another name"),
    ],
)
def test_what_cannot_be_right_is_refused_in_words(text: str, message: str, hint: str) -> None:
    with pytest.raises(ApplicationError) as refused:
        read([("app.yaml", text)])
    assert message in str(refused.value)
    assert hint in refused.value.hint


def test_environment_variables_and_labels_may_have_any_name() -> None:
    text = SERVICE.replace("{name: web}", "{name: web, labels: {any.org/thing: x}}")
    assert read([("a", text)])[0].object["metadata"]["labels"] == {"any.org/thing": "x"}


def test_a_whole_application_leaves_no_doubt() -> None:
    asks = CLIENT.replace("other", "default").replace("db", "web")
    assert doubts(read([("a", f"{SERVICE}---\n{SERVER}---\n{asks}")])) == []


def test_what_looks_like_a_slip_is_named_with_its_place() -> None:
    assert doubts(read([("a", SERVICE)])) == [
        "nobody serves Service web (a:1): no Executable or Container has `serves: [{service: web}]`"
    ]
    assert doubts(read([("a", SERVER)])) == [
        "ExecutableReplicaSet api (a:1) serves Service web, which is not there; nobody finds it"
    ]
    assert doubts(read([("a", CLIENT)])) == [
        "Executable ask (a:1) waits for Service db, which is not there; it starts when there is one"
    ]
