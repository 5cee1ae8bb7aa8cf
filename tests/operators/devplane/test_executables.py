"""Executables are real processes: started, watched, restarted and stopped, with nothing left behind."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from attractor.objects.errors import Invalid
from attractor.objects.gvk import Key
from attractor.operators.devplane.api.executables import EnvVar, Executable, Serves
from attractor.operators.local.processes import PROC, started_at
from attractor.testing import eventually
from tests.operators.devplane.planes import FOREVER, Plane, family, text_of


async def test_an_executable_is_started(plane: Plane) -> None:
    await plane.create("web")
    status = (await plane.until_in("web", "Running")).status
    assert status.pid is not None
    assert started_at(status.pid)
    assert (status.health, status.restarts, status.exit_code) == ("Healthy", 0, None)
    assert [(one.type, one.status) for one in status.conditions] == [("Ready", "True")]


@pytest.mark.parametrize("code", [0, 7])
async def test_the_exit_code_is_captured_also_when_it_ends_at_once(plane: Plane, code: int) -> None:
    for number in range(3):
        await plane.create(f"job-{number}", f"exit {code}")
    for number in range(3):
        status = (await plane.until_in(f"job-{number}", "Finished")).status
        assert (status.exit_code, status.health) == (code, "Unhealthy" if code else "Caution")
        assert status.started_at is not None
        assert status.finished_at is not None
        assert status.started_at <= status.finished_at


async def test_what_it_writes_is_in_the_files_that_the_status_names(plane: Plane) -> None:
    await plane.create("job", "echo out; echo err >&2")
    status = (await plane.until_in("job", "Finished")).status
    assert (text_of(status.stdout_file), text_of(status.stderr_file)) == ("out\n", "err\n")


async def test_a_signal_that_ends_it_is_told_as_shells_tell_it(plane: Plane) -> None:
    await plane.create("web", FOREVER)
    running = await plane.until_in("web", "Running")
    assert running.status.pid is not None
    os.kill(running.status.pid, signal.SIGKILL)
    assert (await plane.until_in("web", "Finished")).status.exit_code == 128 + signal.SIGKILL


async def test_it_gets_arguments_variables_and_directory(plane: Plane, tmp_path: Path) -> None:
    (tmp_path / "first.env").write_text("A=file\nB=file\n")
    await plane.create(
        "job",
        command=["sh", "-c", 'echo "$A $B $C $1 $(pwd)"', "sh"],
        args=["argument"],
        env=[EnvVar(name="B", value="own"), EnvVar(name="C", value="c")],
        env_files=["first.env"],
        working_directory=str(tmp_path),
    )
    status = (await plane.until_in("job", "Finished")).status
    assert text_of(status.stdout_file) == f"file own c argument {tmp_path}\n"


async def test_it_inherits_the_environment_unless_told_not_to(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_CONTROLLER", "yes")
    await plane.create("heir", "echo $OF_THE_CONTROLLER")
    await plane.create("other", "echo $OF_THE_CONTROLLER", inherit_env=False)
    said = [text_of((await plane.until_in(one, "Finished")).status.stdout_file) for one in ("heir", "other")]
    assert said == ["yes\n", "\n"]


async def test_it_waits_until_it_is_to_start(plane: Plane) -> None:
    await plane.create("web", start=False)
    await plane.until("web", lambda one: one.status.message == "waits for spec.start")
    assert plane.records == []
    await plane.change("web", start=True)
    await plane.until_in("web", "Running")


async def test_stopping_ends_the_whole_family(plane: Plane) -> None:
    made = await plane.create("web", f"(setsid sleep 1000 &); env -i sleep 1000 & sh -c '{FOREVER}' & {FOREVER}")
    running = await plane.until_in("web", "Running")
    await eventually(lambda: len(family(made.metadata.uid)) >= 5)
    await plane.change("web", stop=True)
    status = (await plane.until_in("web", "Terminated")).status
    assert (status.exit_code, status.health) == (128 + signal.SIGTERM, "Caution")
    assert family(made.metadata.uid) == []
    assert running.status.pid is not None
    assert not (PROC / str(running.status.pid)).exists()


async def test_what_does_not_heed_sigterm_is_killed_after_the_grace(plane: Plane) -> None:
    made = await plane.create("web", f"trap '' TERM; echo ready; {FOREVER}", stop_grace_seconds=0.3)
    running = await plane.until_in("web", "Running")
    await eventually(lambda: text_of(running.status.stdout_file) == "ready\n")
    await plane.change("web", stop=True)
    assert (await plane.until_in("web", "Terminated")).status.exit_code == 128 + signal.SIGKILL
    assert family(made.metadata.uid) == []


async def test_one_that_is_stopped_before_it_was_started_never_runs(plane: Plane) -> None:
    await plane.create("web", stop=True)
    assert (await plane.until_in("web", "Terminated")).status.pid is None
    assert plane.records == []


@pytest.mark.parametrize("script", [FOREVER, "exit 0", "trap '' TERM; (sleep 1000 &) ; exit 0"])
async def test_deletion_leaves_nothing(plane: Plane, script: str) -> None:
    made = await plane.create("web", script, stop_grace_seconds=0.3)
    await plane.until("web", lambda one: one.status.phase in {"Running", "Finished"})
    await plane.delete("web")
    assert family(made.metadata.uid) == []
    assert plane.records == []
    assert not plane.remembers("web")


async def test_deletion_while_it_waits_for_a_service_leaves_nothing(plane: Plane) -> None:
    await plane.create("web", args=['{{portFor "db"}}'])
    await plane.until("web", lambda one: one.status.message.startswith("waits for Service db"))
    await plane.delete("web")
    assert plane.records == []
    assert not plane.remembers("web")


async def test_deletion_at_once_leaves_nothing(plane: Plane) -> None:
    made = [await plane.create(f"web-{number}", stop_grace_seconds=0.3) for number in range(4)]
    for one in made:
        await plane.delete(one.metadata.name)
    assert [family(one.metadata.uid) for one in made] == [[]] * 4
    assert plane.records == []


async def test_a_successor_of_the_same_name_has_a_process_of_its_own(plane: Plane) -> None:
    pids = set()
    for number in range(3):
        made = await plane.create("web", f": {number}; {FOREVER}")
        pids.add((await plane.until_in("web", "Running")).status.pid)
        assert plane.records == [made.metadata.uid]
        await plane.delete("web")
    assert len(pids) == 3


async def test_what_is_left_by_one_whose_finalizer_was_removed_is_cleared_away(plane: Plane) -> None:
    made = await plane.create("web")
    await plane.until_in("web", "Running")
    await plane.cluster.client.delete(Executable, Key("default", "web"))
    await plane.cluster.client.patch(Executable, Key("default", "web"), {"metadata": {"finalizers": None}})
    successor = await plane.create("web")
    await plane.until("web", lambda one: one.status.phase == "Running" and one.metadata.uid == successor.metadata.uid)
    await eventually(lambda: family(made.metadata.uid) == [] and plane.records == [successor.metadata.uid])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": ["no-such-program"]}, "program 'no-such-program' is not in PATH"),
        ({"command": ["./nothing"]}, "/nothing does not exist"),
        ({"command": ["./text"]}, "may not be executed; allow it with chmod +x"),
        ({"command": ["./odd"]}, "the interpreter that its first line names does not exist"),
        ({"command": ["./blob"]}, "it is no program of this machine"),
        ({"working_directory": "/no/such/place"}, "working directory /no/such/place does not exist"),
        ({"env_files": ["nothing.env"]}, "nothing.env cannot be read: No such file"),
        ({"args": ['{{portForServing "web"}}']}, "add it to `serves`"),
    ],
)
async def test_what_cannot_be_started_says_why(plane: Plane, tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    (tmp_path / "text").write_text("no program")
    for name, content in (("odd", "#!/no/such/interpreter\n"), ("blob", "\0\0\0\0")):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o700)
    await plane.create("job", **{"working_directory": str(tmp_path), **fields})
    status = (await plane.until_in("job", "FailedToStart")).status
    assert said in status.message
    assert (status.health, status.exit_code) == ("Unhealthy", None)
    await plane.delete("job")
    assert plane.records == []


async def test_a_process_that_fails_is_restarted_later_each_time(plane: Plane) -> None:
    await plane.create("web", "exit 3", restart_policy="OnFailure")
    status = (await plane.until("web", lambda one: one.status.restarts == 3)).status
    assert (status.backoff_seconds, status.exit_code) == (2.0, 3)
    await plane.change("web", stop=True)
    await plane.until_in("web", "Terminated")


async def test_one_that_succeeds_is_not_restarted_on_failure_but_always_is(plane: Plane) -> None:
    await plane.create("once", "exit 0", restart_policy="OnFailure")
    await plane.create("always", "exit 0", restart_policy="Always")
    assert (await plane.until_in("once", "Finished")).status.restarts == 0
    await plane.until("always", lambda one: one.status.restarts == 1)


async def test_a_restart_ends_first_what_the_run_before_left_behind(plane: Plane) -> None:
    made = await plane.create("web", "echo run; (sleep 1000 &); exit 1", restart_policy="Always")
    await plane.until("web", lambda one: one.status.restarts == 2)
    await eventually(lambda: len(family(made.metadata.uid)) <= 1)


async def test_ports_are_chosen_once_and_told(plane: Plane) -> None:
    said = 'echo {{addressForServing "a"}}:{{portForServing "a"}} {{portForServing "b"}}; exit 1'
    await plane.create("web", said, serves=[Serves(service="a"), Serves(service="b", port=7)], restart_policy="Always")
    status = (await plane.until("web", lambda one: one.status.restarts == 2)).status
    assert status.ports["b"] == 7
    lines = text_of(status.stdout_file).splitlines()
    assert lines == [f"127.0.0.1:{status.ports['a']} 7"] * len(lines)
    assert len(lines) == 2


@pytest.mark.parametrize("change", [{"command": ["true"]}, {"env": [{"name": "A"}]}, {"probes": []}, {"start": False}])
async def test_what_runs_is_not_changed_once_it_was_started(plane: Plane, change: dict[str, object]) -> None:
    await plane.create("web", probes=[{"name": "a", "command": {"command": ["true"]}}])
    with pytest.raises(Invalid, match="cannot be"):
        await plane.change("web", **change)
    await plane.change("web", stopGraceSeconds=1, restartPolicy="Always")


async def test_one_whose_shim_was_killed_too_is_unknown(plane: Plane) -> None:
    made = await plane.create("web")
    pid = (await plane.until_in("web", "Running")).status.pid
    assert pid is not None
    shim = int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    for one in (shim, pid):
        os.kill(one, signal.SIGKILL)
    status = (await plane.until_in("web", "Unknown")).status
    assert (status.exit_code, status.health) == (None, "Unhealthy")
    assert "nobody saw how it ended" in status.message
    await plane.delete("web")
    assert family(made.metadata.uid) == []
