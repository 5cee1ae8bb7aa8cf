"""``attractor dev mcp``: a Model Context Protocol server, by which a coding assistant drives a developer control plane.

It speaks JSON-RPC, a message a line, on stdin and stdout. ``Assistance.answer`` is the protocol, without any I/O of its
own; ``serve`` reads and writes. Each call opens a connection of its own to the plane that runs then, so that the server
may be started before the plane, and outlive it. A tool that fails says so in its result, as the protocol has it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor import __version__
from attractor.cli.terminal import UsageError
from attractor.operators.devplane.cli import logs, readiness, view
from attractor.operators.devplane.cli.plane_client import client_of, everything, executables_named
from attractor.operators.devplane.cli.restarts import restart

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from attractor.client import Client
    from attractor.operators.devplane.cli.up import Place

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that are understood, the newest first."""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMETERS = -32700, -32600, -32601, -32602
TAIL = 200
"""How many lines a call of ``logs`` answers, unless it says otherwise."""
WAIT_S = 60.0

_NAMES = {"type": "array", "items": {"type": "string"}, "description": "Executables or replica sets; all when empty"}


@dataclass(frozen=True)
class Tool:
    """Something that an assistant may ask for."""

    description: str
    properties: Mapping[str, Any]
    run: Callable[[Client, Mapping[str, Any]], Awaitable[Any]]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


async def _list(client: Client, _: Mapping[str, Any]) -> Any:
    return [line._asdict() for line in view.lines_of(await everything(client))]


async def _logs(client: Client, given: Mapping[str, Any]) -> Any:
    asked = logs.Question(
        names=given.get("names", []),
        pattern=logs.pattern(given.get("grep")),
        since=logs.since(given["since"]) if "since" in given else 0.0,
        tail=given.get("tail", TAIL),
        run=given.get("run"),
    )
    chosen = executables_named(await everything(client), asked.names)
    return [line.json() for line in logs.lines_of(chosen, asked)]


async def _restart(client: Client, given: Mapping[str, Any]) -> Any:
    outcome = await restart(client, given["names"], given.get("timeoutSeconds", WAIT_S), is_awaited=True)
    return {"ready": outcome.code == readiness.DONE, "problems": outcome.said}


async def _wait(client: Client, given: Mapping[str, Any]) -> Any:
    names = given.get("names", [])
    executables_named(await everything(client), names)
    outcome = await readiness.wait(
        client,
        lambda found: executables_named(found, names, is_needed=False),
        given.get("for", "ready"),
        given.get("timeoutSeconds", WAIT_S),
    )
    return {"reached": outcome.code == readiness.DONE, "problems": outcome.said}


TOOLS: Mapping[str, Tool] = {
    "list": Tool("What runs in the developer control plane of this directory, in which state, and where", {}, _list),
    "logs": Tool(
        "What processes have written, the latest lines",
        {
            "names": _NAMES,
            "grep": {"type": "string", "description": "a regular expression that lines must contain"},
            "since": {"type": "string", "description": "90s, 5m, 2h ago, or a date"},
            "tail": {"type": "integer", "minimum": 1, "description": f"how many lines (default: {TAIL})"},
            "run": {"type": "integer", "description": "the number of a run; -1 is the one before the latest"},
        },
        _logs,
    ),
    "restart": Tool(
        "End processes, start them again, and wait until they are ready",
        {"names": _NAMES, "timeoutSeconds": {"type": "number"}},
        _restart,
        ("names",),
    ),
    "wait": Tool(
        "Wait until processes are ready, or have completed",
        {
            "names": _NAMES,
            "for": {"type": "string", "enum": ["ready", "completed"]},
            "timeoutSeconds": {"type": "number", "description": f"default: {WAIT_S:g}"},
        },
        _wait,
    ),
}


class Refusal(Exception):
    """A request that gets an error for an answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Assistance:
    """The protocol: from a message to its answer."""

    def __init__(self, call: Callable[[Tool, Mapping[str, Any]], Awaitable[Any]]) -> None:
        self._call = call

    async def answer(self, line: str) -> str | None:
        """The answer to a line; None when it gets none."""
        try:
            message = json.loads(line)
        except ValueError:
            return _failure(None, Refusal(PARSE_ERROR, "this is no JSON"))
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return _failure(None, Refusal(INVALID_REQUEST, "this is no request"))
        if "id" not in message:
            return None  # a notification
        try:
            result = await self._result(message["method"], message.get("params") or {})
        except Refusal as refusal:
            return _failure(message["id"], refusal)
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _result(self, method: str, given: Mapping[str, Any]) -> Any:
        match method:
            case "initialize":
                asked = given.get("protocolVersion")
                return {
                    "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "attractor-dev", "version": __version__},
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_described(name, tool) for name, tool in TOOLS.items()]}
            case "tools/call":
                return await self._tool(str(given.get("name")), given.get("arguments") or {})
        raise Refusal(NO_METHOD, f"there is no method {method}")

    async def _tool(self, name: str, given: Mapping[str, Any]) -> Any:
        if (tool := TOOLS.get(name)) is None:
            raise Refusal(BAD_PARAMETERS, f"there is no tool {name}; there are: {', '.join(TOOLS)}")
        if unknown := given.keys() - tool.properties.keys():
            raise Refusal(BAD_PARAMETERS, f"{name} takes no {', '.join(sorted(unknown))}")
        if missing := [one for one in tool.required if one not in given]:
            raise Refusal(BAD_PARAMETERS, f"{name} needs {', '.join(missing)}")
        try:
            text, is_error = json.dumps(await self._call(tool, given)), False
        except UsageError as error:
            text, is_error = f"{error}; {error.hint}" if error.hint else str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _described(name: str, tool: Tool) -> dict[str, Any]:
    return {"name": name, "description": tool.description, "inputSchema": tool.schema}


def _failure(about: Any, refusal: Refusal) -> str:
    error = {"code": refusal.code, "message": str(refusal)}
    return json.dumps({"jsonrpc": "2.0", "id": about, "error": error})


async def serve(place: Place) -> None:
    """Answer the lines of stdin on stdout, until stdin ends."""

    async def call(tool: Tool, given: Mapping[str, Any]) -> Any:
        async with client_of(place) as client:
            return await tool.run(client, given)

    assistance = Assistance(call)
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() and (answer := await assistance.answer(line)) is not None:
            print(answer, flush=True)
