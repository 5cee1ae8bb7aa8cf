"""What ``attractor dev`` shows: a line for each object, one for each change, and what processes write."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from attractor.cli.terminal import Paint
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import (
    CommandProbe,
    Executable,
    ExecutableReplicaSet,
    ExecutableReplicaSetSpec,
    ExecutableReplicaSetStatus,
    ExecutableSpec,
    ExecutableStatus,
    ExecutableTemplate,
    Probe,
)
from attractor.operators.devplane.api.services import Service, ServiceStatus
from attractor.operators.devplane.cli.log_tail import LONGEST_BYTES, Tail, Tails
from attractor.operators.devplane.cli.view import Line, lines_of, news, table


def process(start: bool = True, probes: bool = False, namespace: str = "default", **status: Any) -> Executable:
    asked = [Probe(name="p", command=CommandProbe(command=["true"]))] if probes else []
    return Executable(
        metadata=ObjectMeta(name="a", namespace=namespace),
        spec=ExecutableSpec(command=["x"], start=start, probes=asked),
        status=ExecutableStatus(**status),
    )


def service(**status: Any) -> Service:
    return Service(metadata=ObjectMeta(name="web", namespace="default"), status=ServiceStatus(**status))


def replicas(wanted: int, **status: Any) -> ExecutableReplicaSet:
    template = ExecutableTemplate(spec=ExecutableSpec(command=["x"]))
    return ExecutableReplicaSet(
        metadata=ObjectMeta(name="set", namespace="default"),
        spec=ExecutableReplicaSetSpec(replicas=wanted, template=template),
        status=ExecutableReplicaSetStatus(**status),
    )


def line_of(obj: Any) -> Line:
    found: dict[str, list[Any]] = {"Service": [], "ExecutableReplicaSet": [], "Executable": []}
    found[type(obj).__name__].append(obj)
    return lines_of(found)[0]


@pytest.mark.parametrize(
    ("obj", "line"),
    [
        (process(), Line("process", "a", "Waiting")),
        (process(start=False), Line("process", "a", "Created")),
        (process(phase="Starting", message="waits for db"), Line("process", "a", "Starting", "waits for db")),
        (process(phase="Running", pid=7, restarts=2), Line("process", "a", "Running", "pid 7, restart 2")),
        (process(phase="Running", pid=7, exit_code=1), Line("process", "a", "Running", "pid 7")),
        (process(probes=True, phase="Running", health="Caution"), Line("process", "a", "Unproven")),
        (process(probes=True, phase="Running", health="Unhealthy"), Line("process", "a", "Unhealthy")),
        (process(probes=True, phase="Running", health="Healthy"), Line("process", "a", "Running")),
        (process(phase="Finished", exit_code=0), Line("process", "a", "Finished", "exit code 0")),
        (process(phase="Finished", exit_code=3), Line("process", "a", "Failed", "exit code 3")),
        (process(namespace="b"), Line("process", "b/a", "Waiting")),
        (service(), Line("service", "web", "Waiting")),
        (service(observed_generation=1, message="nobody"), Line("service", "web", "NotReady", "nobody")),
        (
            service(observed_generation=1, phase="Ready", effective_address="::1", effective_port=80, endpoints=1),
            Line("service", "web", "Ready", "[::1]:80, 1 endpoint"),
        ),
        (replicas(2), Line("replicas", "set", "Waiting", "0 of 2 run")),
        (
            replicas(2, observed_generation=1, running_replicas=1, failed_replicas=1, health="Caution"),
            Line("replicas", "set", "Starting", "1 of 2 run, 1 failed"),
        ),
        (
            replicas(1, observed_generation=1, running_replicas=1, health="Healthy"),
            Line("replicas", "set", "Running", "1 of 1 run"),
        ),
    ],
)
def test_an_object_is_a_line(obj: Any, line: Line) -> None:
    assert line_of(obj) == line


def test_a_table_has_headings_and_no_colour_where_nobody_looks() -> None:
    assert table([Line("process", "a", "Running", "pid 7")], Paint(io.StringIO())) == [
        "KIND      NAME  STATE          WHAT",
        "process   a     Running        pid 7",
    ]


def test_news_are_what_changed_and_what_is_gone() -> None:
    one, two = Line("process", "a", "Starting"), Line("process", "b", "Running")
    known = {line.about: line for line in (one, two)}
    changed = one._replace(state="Running")
    assert news(known, [changed]) == [changed, Line("process", "b", "gone")]
    assert news(known, [one, two]) == []


def test_lines_come_whole_and_the_rest_in_the_end(tmp_path: Path) -> None:
    file = tmp_path / "out"
    tail = Tail(str(file))
    assert tail.lines() == []
    file.write_bytes(b"one\ntw")
    assert tail.lines() == ["one"]
    with file.open("ab") as more:
        more.write(b"o\r\n\xff")
    assert tail.lines() == ["two"]
    file.unlink()
    assert tail.last() == ["\N{REPLACEMENT CHARACTER}"]
    tail.close()


def test_a_line_without_an_end_comes_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"x" * (LONGEST_BYTES + 1))
    tail = Tail(str(file))
    assert [len(line) for line in tail.lines()] == [LONGEST_BYTES + 1]
    tail.close()


def test_files_are_followed_by_name_until_their_owner_is_gone(tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    tails = Tails(lambda name, line: said.append((name, line)))
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name} begins\nand ")
        tails.follow(name, [str(tmp_path / name), ""])
    tails.follow("a", [str(tmp_path / "a")])
    tails.look()
    assert said == [("a", "a begins"), ("b", "b begins")]
    tails.forget(["a"])
    assert (said[2:], tails.names) == ([("a", "and ")], {"b"})
    tails.forget(["b"])
