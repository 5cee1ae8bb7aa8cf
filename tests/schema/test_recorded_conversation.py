"""What a real kube-apiserver 1.36 said about the same definition and the same objects."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from attractor.schema.custom import CustomSchema
from attractor.schema.structural import check_structural

STEPS = json.loads((Path(__file__).parents[1] / "golden/kube-apiserver-1.36/crd-lifecycle.json").read_text())["steps"]
SCHEMA = STEPS[0]["request"]["body"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
CREATES = [
    step
    for step in STEPS
    if step["request"]["method"] == "POST" and step["request"]["path"].endswith("/widgets") and "response" in step
]


@pytest.fixture(scope="module")
def widgets() -> CustomSchema:
    return CustomSchema(SCHEMA)


def test_recorded_definition_is_structural() -> None:
    assert check_structural(SCHEMA, has_status=True) == []


@pytest.mark.parametrize("step", CREATES, ids=lambda step: step["request"]["body"]["metadata"]["name"])
def test_recorded_causes_are_reproduced(widgets: CustomSchema, step: dict[str, Any]) -> None:
    widget = copy.deepcopy(step["request"]["body"])
    widgets.prune_in_place(widget)
    widgets.default_in_place(widget)
    said = step["response"]["body"].get("details", {}).get("causes", [])
    of_schema = [
        cause for cause in said if not cause["field"].startswith(".")
    ]  # the others are the scale subresource's
    mine = [error.cause() for error in widgets.validate(widget)]
    assert sorted(mine, key=str) == sorted(of_schema, key=str)
    if step["response"]["code"] == 201:
        assert widget["spec"] == step["response"]["body"]["spec"]
