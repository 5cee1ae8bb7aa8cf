"""From an Executable to what the machine is asked for, with its templates replaced. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.devplane.api.templates import expand, references
from attractor.operators.devplane.controllers.health import Question
from attractor.operators.devplane.drivers.processes import Launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.operators.devplane.api.executables import Executable, ExecutableSpec, Probe
    from attractor.operators.devplane.api.services import Service
    from attractor.operators.devplane.drivers.processes import Run


@dataclass(frozen=True)
class Places:
    """Addresses of services, as one Executable sees them: its own ports, and the Services of its namespace."""

    own: Mapping[str, tuple[str, int]]
    services: Mapping[str, Service]

    @classmethod
    def of(cls, executable: Executable, services: Mapping[str, Service]) -> Places:
        """The places of an Executable whose ports have been chosen."""
        ports = executable.status.ports
        own = {one.service: (one.address, ports[one.service]) for one in executable.spec.serves}
        return cls(own, services)

    def serving(self, service: str) -> tuple[str, int]:
        """Address and port on which this Executable serves a Service; raises ``KeyError`` when it does not serve it."""
        return self.own[service]

    def reaching(self, service: str) -> tuple[str, int] | None:
        """Address and port at which a Service is reached; None while it has none."""
        found = self.services.get(service)
        if found is None or not found.status.effective_port:
            return None
        return found.status.effective_address, found.status.effective_port


def needed(spec: ExecutableSpec) -> list[str]:
    """The Services, by name, whose places the templates of an Executable ask for; not those that it serves."""
    texts = [*spec.command, *spec.args, *(one.value for one in spec.env)]
    texts += [text for probe in spec.probes for text in _texts(probe)]
    return sorted({found.service for found in references(texts) if not found.is_serving})


def needed_keys(executable: Executable) -> list[str]:
    """The same as ``namespace/name``: the index by which a change of a Service leads to those who wait for it."""
    return [str(Key(executable.metadata.namespace, name)) for name in needed(executable.spec)]


def _texts(probe: Probe) -> list[str]:
    """The texts of a probe that may have templates."""
    if probe.http is not None:
        return [probe.http.url]
    if probe.tcp is not None:
        return [probe.tcp.address, probe.tcp.port]
    return list(probe.command.command) if probe.command is not None else []


def launch_of(spec: ExecutableSpec, places: Places, word: str = "") -> Launch:
    """The process; raises ``Unresolved`` when a Service has no place yet, ``NotServed`` when it never will."""
    return Launch(
        command=tuple(expand(text, places) for text in (*spec.command, *spec.args)),
        directory=spec.working_directory,
        environment=tuple((one.name, expand(one.value, places)) for one in spec.env),
        env_files=tuple(spec.env_files),
        inherits=spec.inherit_env,
        word=word,
    )


def question_of(probe: Probe, spec: ExecutableSpec, places: Places, run: Run) -> Question:
    """Return the request or command of a probe; raises ``Unresolved`` and ``NotServed``."""
    texts = tuple(expand(text, places) for text in _texts(probe))
    if probe.http is not None:
        return Question(url=texts[0], timeout_s=probe.timeout_seconds)
    if probe.tcp is not None:
        return Question(connection=(texts[0], texts[1]), timeout_s=probe.timeout_seconds)
    if probe.log is not None:
        files = ((run.stdout_file, run.stdout_from), (run.stderr_file, run.stderr_from))
        return Question(pattern=probe.log.pattern, files=files, timeout_s=probe.timeout_seconds)
    launch, command = launch_of(spec, places), texts
    asking = Launch(command, launch.directory, launch.environment, launch.env_files, launch.inherits)
    return Question(launch=asking, timeout_s=probe.timeout_seconds)
