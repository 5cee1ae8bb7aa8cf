"""``attractor demo server``: a Kubernetes API in this process, and what it does with a kind and its objects."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from attractor.objects.resource import Meta, PrinterColumn, Resource, Rule, Struct

if TYPE_CHECKING:
    import argparse

    from attractor.embedded import Address, EmbeddedCluster

TOKEN = "demo-token"  # noqa: S105  # it opens a server that lives for seconds, on loopback
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class WidgetSpec(Struct):
    """Desired state of a widget."""

    size: Annotated[int, Meta(ge=1, le=100)] = 1
    """How large the widget is."""
    color: str = "red"
    """Its color."""


class Widget(
    Resource,
    group="demo.attractor.dev",
    version="v1",
    printer_columns=(PrinterColumn("Size", ".spec.size", "integer"), PrinterColumn("Color", ".spec.color")),
    rules=(Rule("self.spec.color != 'blue' || self.spec.size > 1", "a blue widget must be larger than 1"),),
):
    """A widget."""

    spec: WidgetSpec


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor demo server`` takes."""
    parser.description = "Start a cluster in this process, define a kind, write and watch objects, and delete an owner."
    parser.epilog = "example:\n  attractor demo server"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Run the demonstration."""
    asyncio.run(_demo())
    print("\npoint kubectl at a server of your own with `attractor serve`")
    return 0


def _say(step: str, text: str = "") -> None:
    print(f"{step:<10}{text}", flush=True)


async def _demo() -> None:
    from attractor.embedded import EmbeddedCluster
    from attractor.httpd.auth.authentication import ADMIN, Authenticator

    started = time.perf_counter()
    async with EmbeddedCluster(authenticator=Authenticator({TOKEN: ADMIN})) as cluster:
        address = await cluster.listen()
        _say("run", f"a Kubernetes API on {address.url}, ready in {time.perf_counter() - started:.2f} s")
        web = _Web(address)
        await web.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Widget.crd())
        _say("define", "kind Widget in group demo.attractor.dev, from one Python class")
        await _write_and_watch(cluster, web)


async def _write_and_watch(cluster: EmbeddedCluster, web: _Web) -> None:
    widgets = "/apis/demo.attractor.dev/v1/namespaces/default/widgets"
    watching = asyncio.create_task(_watch(cluster, 5))
    widget = {"apiVersion": "demo.attractor.dev/v1", "kind": "Widget"}
    small = await web.send("POST", widgets, {**widget, "metadata": {"name": "small"}, "spec": {}})
    large = {"metadata": {"name": "large"}, "spec": {"size": 10, "color": "blue"}}
    await web.send("POST", widgets, {**widget, **large})
    _say("create", "widgets small and large")
    refused = await web.send("PATCH", f"{widgets}/small", {"spec": {"color": "blue"}})
    _say("refuse", refused["message"])
    await web.send("PATCH", f"{widgets}/small", {"spec": {"size": 3, "color": "blue"}})
    owner = {**widget, "name": "small", "uid": small["metadata"]["uid"]}
    child = {"metadata": {"name": "settings", "ownerReferences": [owner]}, "data": {"size": "3"}}
    await web.send("POST", "/api/v1/namespaces/default/configmaps", child)
    _say("own", "configmap settings, a child of widget small")
    print()
    _print_table(await web.send("GET", widgets, accept=_TABLE))
    print()
    await web.send("DELETE", f"{widgets}/small")
    seen = await watching
    _say("watch", ", ".join(seen))
    _say("collect", "widget small was deleted, and its configmap went with it")


async def _watch(cluster: EmbeddedCluster, count: int) -> list[str]:
    """The first changes of widgets and configmaps in the default namespace, as a watcher of the store sees them."""
    seen: list[str] = []
    async with cluster.store.watch("", after=cluster.store.revision) as batches:
        async for batch in batches:
            for event in batch.events:
                _, _, rest = event.key.partition("/")
                if rest.startswith(("widgets/default/", "configmaps/default/settings")):
                    kind = "DELETED" if event.value is None else "MODIFIED" if event.previous else "ADDED"
                    seen.append(f"{kind} {rest.rsplit('/', 1)[1]}")
            if sum(item.startswith("DELETED") for item in seen) == 2 or len(seen) > 2 * count:
                return seen
    return seen


def _print_table(table: dict[str, Any]) -> None:
    rows = [[column["name"].upper() for column in table["columnDefinitions"] if not column["priority"]]]
    rows += [[str(cell) for cell in row["cells"]] for row in table["rows"]]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for row in rows:
        print("   " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


class _Web:
    """A few requests over a real socket."""

    def __init__(self, address: Address) -> None:
        self._address = address

    async def send(self, method: str, path: str, body: Any = None, *, accept: str = "application/json") -> Any:
        """One request; the decoded answer, refusals included."""
        reader, writer = await asyncio.open_connection(self._address.host, self._address.port)
        data = b"" if body is None else json.dumps(body).encode()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self._address.host}",
            f"Authorization: Bearer {TOKEN}",
            f"Accept: {accept}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(data)}",
            "Connection: close",
        ]
        writer.write("\r\n".join([*head, "", ""]).encode() + data)
        answer = await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        return json.loads(answer.partition(b"\r\n\r\n")[2])
