"""JSONPath of printer columns."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.httpd.formats.jsonpath import MAX_RESULTS, Path, PathError

OBJ: dict[str, Any] = {
    "metadata": {"annotations": {"example.org/color": "red", "a.b": "dotted"}, "labels": {}},
    "spec": {"size": 3, "tags": ["x", "y", "z"], "ports": [{"name": "http", "port": 80}, {"name": "tls", "port": 443}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Synced", "status": "False", "n": 2.5},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        ("{.spec.size}", [3]),
        ("$.spec.size", [3]),
        ("spec.size", [3]),
        (".spec.missing.deeper", []),
        (".spec.tags[0]", ["x"]),
        (".spec.tags[-1]", ["z"]),
        (".spec.tags[7]", []),
        (".spec.tags[0:2]", ["x", "y"]),
        (".spec.tags[::2]", ["x", "z"]),
        (".spec.tags[*]", ["x", "y", "z"]),
        (".spec.tags[0,2]", ["x", "z"]),
        (".spec.tags", [["x", "y", "z"]]),
        (r".metadata.annotations.a\.b", ["dotted"]),
        (r".metadata.annotations.example\.org/color", ["red"]),
        (".metadata.annotations['example.org/color']", ["red"]),
        ('.metadata.annotations["a.b"]', ["dotted"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Synced')].status", ["False"]),
        ('.status.conditions[?(@.type!="Ready")].type', ["Synced"]),
        (".status.conditions[?(@.n>1)].type", ["Synced"]),
        ('.status.conditions[?(@["type"]=="Ready")].status', ["True"]),
        ('.status.conditions[?(@.type=="a==b")].status', []),
        (".status.conditions[?(@.n<=2.5)].type", ["Ready", "Synced"]),
        (".status.conditions[?(@.absent)].type", []),
        (".status.conditions[?(@.status)].type", ["Ready", "Synced"]),
        ('.status.conditions[?(@.n=="1")].type', []),
        (".spec.ports[*].port", [80, 443]),
        ("..port", [80, 443]),
        (".spec.ports[0].*", ["http", 80]),
        (".spec.size.deeper", []),
        (".spec.size[0]", []),
        (".", [OBJ]),
    ],
)
def test_path_finds_values_in_document_order(path: str, found: list[Any]) -> None:
    assert Path.parse(path).find(OBJ) == found


@pytest.mark.parametrize("path", [".spec[", ".spec[x]", ".a[?(@.b==c)]", ".a[]", ".a b"])
def test_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        Path.parse(path)


@pytest.mark.parametrize("path", ["." + "a" * 1000, ".a" + "[?(@.b)]" * 11, ".a[?(@.b=c)]"])
def test_path_that_would_cost_too_much_or_means_nothing_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        Path.parse(path)


def test_walk_over_everything_stops_somewhere() -> None:
    wide = {str(i): {str(j): j for j in range(100)} for i in range(100)}
    assert len(Path.parse("." * 40 + "[*]").find(wide)) <= MAX_RESULTS


@given(st.text(alphabet=".[]'\"?(@)=*:0a,\\ ", max_size=20))
def test_any_text_is_either_a_path_or_refused(text: str) -> None:
    try:
        path = Path.parse(text)
    except PathError:
        return
    assert isinstance(path.find(OBJ), list)
