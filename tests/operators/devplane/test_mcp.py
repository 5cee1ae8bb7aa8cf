"""A coding assistant drives a plane: the protocol line by line, and the tools on a plane that runs."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from attractor.cli.terminal import UsageError
from attractor.operators.devplane.cli.mcp import TOOLS, Assistance, Tool
from attractor.operators.devplane.cli.session import ORDER
from tests.operators.devplane.planes import Plane


async def _called(tool: Tool, given: Mapping[str, Any]) -> Any:
    """Stands for a plane: it knows what it was asked, and refuses a name."""
    if "nobody" in given.get("names", []):
        raise UsageError("there is no nobody", "name one of: web")
    return {"asked": dict(given)}


async def said(method: str, params: Any = None, about: Any = 1) -> Any:
    """The answer to a request."""
    message = {"jsonrpc": "2.0", "id": about, "method": method, "params": params}
    answer = await Assistance(_called).answer(json.dumps(message))
    assert answer is not None
    found = json.loads(answer)
    assert (found["jsonrpc"], found["id"]) == ("2.0", about)
    return found.get("result") or found["error"]


@pytest.mark.parametrize(("asked", "agreed"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-06-18")])
async def test_a_version_of_the_protocol_is_agreed_on(asked: str, agreed: str) -> None:
    result = await said("initialize", {"protocolVersion": asked})
    assert (result["protocolVersion"], result["capabilities"]) == (agreed, {"tools": {}})


async def test_notifications_get_no_answer() -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert await Assistance(_called).answer(line) is None


async def test_the_tools_are_listed_with_schemas() -> None:
    listed = {tool["name"]: tool for tool in (await said("tools/list"))["tools"]}
    assert set(listed) == set(TOOLS) == {"list", "logs", "restart", "wait"}
    assert listed["restart"]["inputSchema"]["required"] == ["names"]


async def test_a_tool_answers_text_and_says_what_went_wrong() -> None:
    right = await said("tools/call", {"name": "restart", "arguments": {"names": ["web"]}})
    assert (json.loads(right["content"][0]["text"]), right["isError"]) == ({"asked": {"names": ["web"]}}, False)
    wrong = await said("tools/call", {"name": "restart", "arguments": {"names": ["nobody"]}})
    assert (wrong["content"][0]["text"], wrong["isError"]) == ("there is no nobody; name one of: web", True)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/cook", None, -32601),
        ("tools/call", {"name": "cook"}, -32602),
        ("tools/call", {"name": "restart", "arguments": {}}, -32602),
        ("tools/call", {"name": "list", "arguments": {"colour": "red"}}, -32602),
    ],
)
async def test_what_is_not_there_is_refused(method: str, params: Any, code: int) -> None:
    assert (await said(method, params))["code"] == code


@pytest.mark.parametrize(("line", "code"), [("{", -32700), ("[]", -32600), ('{"id": 1}', -32600)])
async def test_what_is_no_request_is_refused(line: str, code: int) -> None:
    answer = await Assistance(_called).answer(line)
    assert answer is not None
    assert json.loads(answer)["error"]["code"] == code


async def test_an_assistant_looks_reads_restarts_and_waits(plane: Plane) -> None:
    await plane.cluster.install(*ORDER)
    await plane.create("web", "echo begins; while :; do sleep 1000 & wait; done")
    await plane.create("job", "exit 3")

    async def call(name: str, **given: Any) -> Any:
        return await TOOLS[name].run(plane.cluster.client, given)

    assert await call("wait", names=["web"]) == {"reached": True, "problems": []}
    failed = await call("wait", names=["job"], **{"for": "completed"})
    assert failed == {"reached": False, "problems": ["Executable job has failed: it ended with exit code 3"]}
    assert {line["name"]: line["state"] for line in await call("list")} == {"web": "Running", "job": "Failed"}
    assert (await call("restart", names=["web"]))["ready"] is True
    assert (await plane.get("web")).status.restarts == 1
    await plane.until("web", lambda one: one.status.phase == "Running")
    lines = await call("logs", names=["web"], grep="^beg", run=0)
    assert [(line["name"], line["text"]) for line in lines] == [("web", "begins")]
