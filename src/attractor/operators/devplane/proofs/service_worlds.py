"""Worlds of Services and Endpoints: ``attractor check attractor.operators.devplane.proofs.service_worlds:runs``.

The controllers are the production ones, unchanged. ``ProxiesModel`` stands for this machine's listeners, which end with
the process that holds them; users stand for whoever runs the Executables and says so in their status. Each world is
explored completely for its faults, with caches that lag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Faults,
    Script,
    World,
    WorldState,
    always,
    always_step,
    eventually_stable,
    happens,
    sometimes,
)
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import Executable, ExecutableSpec, Serves
from attractor.operators.devplane.api.services import Endpoint, EndpointSpec, Service, ServiceSpec
from attractor.operators.devplane.controllers.endpoints import endpoints, is_serving
from attractor.operators.devplane.controllers.services import backends_of, services
from attractor.operators.devplane.drivers.proxies import CannotListen, Place, Proxies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check import WorldProperty
    from attractor.runtime import Controller

WEB = Key("default", "web")
API = Key("default", "api")
"""The Executable that serves the Service web."""
FREE = 40000
MOST = 3
"""Free ports beyond this number are told apart no more, so that there are finitely many."""
FIXED = 8080
LISTENING = "eventually a service listens where it says, for whom it should"
NAMED = "eventually endpoints are those of what runs"


class ProxiesModel:
    """Listeners by the uid of their Service; a free port is never one that was given before."""

    def __init__(self, *, is_taken: bool = False) -> None:
        self.listeners: dict[str, tuple[int, tuple[Place, ...]]] = {}
        self.given = 0
        self.is_taken = is_taken
        """Whether another program listens on the fixed port."""

    def serve(self, uid: str, at: Place, backends: tuple[Place, ...]) -> Place:
        """As the real one does."""
        port = self.listeners[uid][0] if uid in self.listeners and at.port == 0 else at.port
        if self.is_taken and port == FIXED:
            self.listeners.pop(uid, None)
            raise CannotListen(f"{at} is in use")
        if port == 0:
            self.given = min(self.given + 1, MOST)
            port = FREE + self.given
        self.listeners[uid] = (port, backends)
        return Place(at.address, port)

    def close(self, uid: str) -> None:
        """As the real one does."""
        self.listeners.pop(uid, None)

    @happens(times=1)
    def the_other_program_ends(self) -> list[tuple[str, str]]:
        """Nobody is told."""
        self.is_taken = False
        return []

    def host_dies(self, host: str) -> None:
        """Listeners end with the process."""
        self.listeners = {}


# What is promised.


def listens_where_it_says_for_whom_it_should(look: WorldState) -> bool:
    """Each Service's listener is where the status says, leads to its Endpoints, and it is Ready when it has any."""
    held = dict(look.external(Proxies).listeners)
    for service in look.list(Service):
        behind = backends_of(one for one in look.list(Endpoint) if one.spec.service == service.metadata.name)
        status = service.status
        if service.metadata.is_deleting or status.endpoints != len(behind) or not status.effective_port:
            return False
        if held.pop(service.metadata.uid, None) != (status.effective_port, behind):
            return False
        if (status.phase == "Ready") != bool(behind):
            return False
    return not held


def published_ports_never_change(before: WorldState, after: WorldState) -> bool:
    """While a Service lives, the port that its status once said is the port that it says."""
    said = {one.metadata.uid: one.status.effective_port for one in before.list(Service)}
    now = {one.metadata.uid: one.status.effective_port for one in after.list(Service)}
    return all(now.get(uid, port) == port for uid, port in said.items() if port)


def no_listener_outlives_its_service(look: WorldState) -> bool:
    """A Service is there for as long as its listener is."""
    return set(look.external(Proxies).listeners) <= {one.metadata.uid for one in look.list(Service)}


def endpoints_are_those_of_what_runs(look: WorldState) -> bool:
    """Each Executable that serves has an Endpoint for each Service that it serves, and there is none besides."""
    wanted = [
        (one.metadata.uid, served.service, one.status.ports[served.service])
        for one in look.list(Executable)
        if is_serving(one)
        for served in one.spec.serves
        if served.service in one.status.ports
    ]
    found = [
        (one.metadata.controller.uid, one.spec.service, one.spec.port)
        for one in look.list(Endpoint)
        if one.metadata.controller is not None
    ]
    return sorted(found) == sorted(wanted)


def never_changes(before: WorldState, after: WorldState) -> bool:
    """An Endpoint is replaced, not changed."""
    said = {one.metadata.uid: one.spec for one in before.list(Endpoint)}
    return all(said.get(one.metadata.uid, one.spec) == one.spec for one in after.list(Endpoint))


def service_promises() -> list[WorldProperty]:
    """Return the properties of the controller of Services."""
    return [
        eventually_stable(listens_where_it_says_for_whom_it_should, name=LISTENING),
        always_step(published_ports_never_change),
        always(no_listener_outlives_its_service),
    ]


def endpoint_promises() -> list[WorldProperty]:
    """Return the properties of the controller of Endpoints: above all, that none outlives its run."""
    return [eventually_stable(endpoints_are_those_of_what_runs, name=NAMED), always_step(never_changes)]


# Things and worlds.


def service(port: int = 0) -> Service:
    """The Service web."""
    return Service(metadata=ObjectMeta(name=WEB.name, namespace=WEB.namespace), spec=ServiceSpec(port=port))


def endpoint(number: int) -> Endpoint:
    """Somebody behind the Service web."""
    spec = EndpointSpec(service=WEB.name, address="127.0.0.1", port=9000 + number)
    return Endpoint(metadata=ObjectMeta(name=f"web-{number}", namespace=WEB.namespace), spec=spec)


def executable() -> Executable:
    """An Executable that serves the Service web."""
    spec = ExecutableSpec(command=["serve"], serves=[Serves(service=WEB.name)])
    return Executable(metadata=ObjectMeta(name=API.name, namespace=API.namespace), spec=spec)


def says(**status: Any) -> Edit:
    """Return a user who writes the status of an Executable, as whoever runs it does."""
    return Edit(Executable, API, patch=[{"status": status}], subresource="status")


RUNS = says(phase="Running", ports={WEB.name: 5001})
RUNS_ELSEWHERE = says(phase="Running", ports={WEB.name: 5002})
ENDS = says(phase="Finished")


def world(
    controllers: Sequence[Controller],
    objects: Any,
    users: Any = (),
    faults: Faults | None = None,
    properties: Sequence[WorldProperty] = (),
    proxies: ProxiesModel | None = None,
) -> World:
    """A world of this machine's listeners; one worker for each controller, so that there is less to interleave."""
    externals = {Proxies: proxies or ProxiesModel()} if services in controllers or proxies else {}
    return World(
        controllers=controllers,
        objects=objects,
        users=users,
        faults=faults,
        properties=properties,
        externals=externals,
        workers=1,
        bounds=Bounds(lag=2),
    )


def publication(declared: Controller = services) -> World:
    """A new Service on a free port, with a crash and a lost answer at any step, and a list from a server behind."""
    reached = [
        sometimes(lambda look: look.external(Proxies).given == 2, name="a port is opened that was never published"),
        sometimes(lambda look: any(one.status.phase == "Ready" for one in look.list(Service)), name="it is Ready"),
    ]
    faults = Faults(crash=1, lost_answer=1, stale_list=1)
    return world([declared], [service(), endpoint(1)], (), faults, [*service_promises(), *reached], ProxiesModel())


def coming_and_going(declared: Controller = services) -> World:
    """Endpoints come and go while the process crashes."""
    users = [Script(Create(endpoint(1)), Create(endpoint(2)), Delete(Endpoint, endpoint(1).key))]
    reached = [sometimes(lambda look: any(one.status.endpoints == 2 for one in look.list(Service)), name="two at once")]
    faults = Faults(crash=1, lost_answer=1)
    return world([declared], [service()], users, faults, [*service_promises(), *reached], ProxiesModel())


def taken(declared: Controller = services) -> World:
    """A fixed port that another program has, until that ends; with a crash."""
    reached = [
        sometimes(lambda look: any("in use" in one.status.message for one in look.list(Service)), name="it is told"),
        sometimes(lambda look: any(one.status.effective_port for one in look.list(Service)), name="it listens"),
    ]
    proxies = ProxiesModel(is_taken=True)
    promised = [*service_promises()[1:], eventually_stable(_listens_unless_taken, name=LISTENING)]
    return world([declared], [service(FIXED), endpoint(1)], (), Faults(crash=1), [*promised, *reached], proxies)


def _listens_unless_taken(look: WorldState) -> bool:
    """As promised once the port is free; before, it is told, and nothing listens."""
    if not look.external(Proxies).is_taken:
        return listens_where_it_says_for_whom_it_should(look)
    return not look.external(Proxies).listeners and all(
        one.status.phase == "NotReady" and "in use" in one.status.message for one in look.list(Service)
    )


def ending(declared: Controller = services) -> World:
    """A Service that is deleted and made again, with a crash and a lost answer at any step."""
    users = [Script(Delete(Service, WEB), Create(service()))]
    faults = Faults(crash=1, lost_answer=1)
    return world([declared], [service(), endpoint(1)], users, faults, service_promises(), ProxiesModel())


def runs(declared: Controller = endpoints) -> World:
    """An Executable that runs, runs again on another port, and ends; with a crash and a lost answer at any step."""
    users = [Script(RUNS, RUNS_ELSEWHERE, ENDS)]
    reached = [
        sometimes(lambda look: _ports(look) == [5001], name="the first is named"),
        sometimes(lambda look: _ports(look) == [5002], name="the second is named"),
    ]
    faults = Faults(crash=1, lost_answer=1, stale_list=1)
    return world([declared], [executable()], users, faults, [*endpoint_promises(), *reached])


def _ports(look: WorldState) -> list[int]:
    return [one.spec.port for one in look.list(Endpoint)]


def replacement(declared: Controller = endpoints) -> World:
    """An Executable that runs, is deleted and made again under its name, and runs there again; with a crash."""
    users = [Script(RUNS, Delete(Executable, API), Create(executable()), RUNS)]
    faults = Faults(crash=1, lost_answer=1)
    return world([declared], [executable()], users, faults, endpoint_promises())


def together() -> World:
    """Both controllers: clients find a process that runs, and nobody is sent to one that has ended; with a crash."""
    users = [Script(RUNS, RUNS_ELSEWHERE, ENDS)]
    reached = [
        sometimes(lambda look: any(one.status.phase == "Ready" for one in look.list(Service)), name="it is Ready"),
    ]
    properties = [*service_promises(), *endpoint_promises(), *reached]
    return world([services, endpoints], [service(), executable()], users, Faults(crash=1), properties, ProxiesModel())


WORLDS = (publication, coming_and_going, taken, ending, runs, replacement, together)
