"""Microseconds for one 1-KB custom resource: validate, prune, default, rules; rivals measured in the same run.

    .venv/bin/python benchmarks/objects_schema.py

Each number is the best of several rounds. ``ratio`` is the rival's time divided by ours.
"""

from __future__ import annotations

import copy
import json
import platform
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jsonschema
import orjson
from cel_expr_python import cel as google_cel

from attractor.schema.custom import CustomSchema
from attractor.schema.error_messages import explain

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = [
    "self.replicas >= 1 && self.replicas <= 100",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "self.ports.exists(p, p.name == 'http')",
    "!has(self.image) || self.image.contains('/')",
    "self.env.all(e, e.name.matches('^[A-Z_]+[0-9]*$'))",
    "size(self.env) < 50",
]
PORT = {
    "type": "object",
    "required": ["name", "port"],
    "properties": {
        "name": {"type": "string", "maxLength": 15},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
    },
}
ENV = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z_0-9]+$"},
        "value": {"type": "string", "maxLength": 200},
    },
}
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["replicas", "image"],
    "properties": {
        "replicas": {"type": "integer", "minimum": 1, "format": "int32"},
        "image": {"type": "string", "minLength": 1},
        "paused": {"type": "boolean", "default": False},
        "ports": {"type": "array", "maxItems": 20, "items": PORT},
        "env": {"type": "array", "maxItems": 50, "items": ENV},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "start": {"type": "string", "format": "date-time"},
    },
}
PLAIN: dict[str, Any] = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC}}
RULED: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {**SPEC, "x-kubernetes-validations": [{"rule": rule} for rule in RULES]}},
}


def widget() -> dict[str, Any]:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "image": "registry.example.org/team/web:1.2.3",
            "paused": False,
            "ports": [
                {"name": name, "port": 8000 + at, "protocol": "TCP"} for at, name in enumerate(("http", "admin"))
            ],
            "env": [{"name": f"SETTING_{at}", "value": "v" * 40} for at in range(8)],
            "labels": {f"label-{at}": "value" for at in range(5)},
            "start": "2024-01-01T00:00:00Z",
        },
    }


def microseconds(job: Callable[[], Any], least_s: float = 0.2, rounds: int = 5) -> float:
    count = 1
    while (took := _time(job, count)) < least_s / rounds:
        count *= 2
    return min(took, *(_time(job, count) for _ in range(rounds - 1))) / count * 1e6


def _time(job: Callable[[], Any], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        job()
    return time.perf_counter() - began


def against(mine: float, rival: float) -> dict[str, Any]:
    return {"us": round(mine, 2), "rival_us": round(rival, 2), "ratio": round(rival / mine, 1)}


def main() -> None:
    plain, ruled, obj, invalid = CustomSchema(PLAIN), CustomSchema(RULED), widget(), widget()
    invalid["spec"]["replicas"] = 0
    assert plain.validate(obj) == ruled.validate(obj) == []
    assert len(plain.validate(invalid)) == 1
    rival = jsonschema.Draft202012Validator(PLAIN)
    env = google_cel.NewEnv(variables={"self": google_cel.Type.Map(google_cel.Type.STRING, google_cel.Type.DYN)})
    programs = [env.compile(rule) for rule in RULES]

    def google() -> None:
        activation = env.Activation({"self": obj["spec"]})
        for program in programs:
            assert program.eval(activation).value()

    accepted = microseconds(lambda: plain.validate(obj))
    rules = microseconds(lambda: ruled.validate(obj)) - accepted
    report = {
        "benchmark": "objects_schema",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("jsonschema", "jsonschema-rs", "cel-expr-python", "google-re2")},
        "object_bytes": len(orjson.dumps(obj)),
        "validate_accepted": against(accepted, microseconds(lambda: list(rival.iter_errors(obj)))),
        "validate_refused": against(
            microseconds(lambda: plain.validate(invalid)), microseconds(lambda: list(rival.iter_errors(invalid)))
        ),
        "validate_slow_path_alone": {"us": round(microseconds(lambda: explain(plain.node, obj)), 2)},
        "prune": {"us": round(microseconds(lambda: plain.prune_in_place(obj)), 2)},
        "default": {"us": round(microseconds(lambda: plain.default_in_place(obj)), 2)},
        "rules": {**against(rules, microseconds(google)), "count": len(RULES), "rival": "cel-expr-python, no limits"},
        "compile_schema": {"us": round(microseconds(lambda: CustomSchema(copy.deepcopy(RULED)).validate(obj)), 1)},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
