"""The operator's three controllers, declared for given settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.k8s.core_v1 import ServiceAccount
from attractor.operators.irsa.api import IamRoleServiceAccount, Policy, Role
from attractor.operators.irsa.controllers.irsas import Irsas
from attractor.operators.irsa.controllers.policies import Policies
from attractor.operators.irsa.controllers.roles import Roles
from attractor.operators.irsa.drivers.iam import Iam
from attractor.runtime import For, Permission, Watches, controller
from attractor.runtime.predicates import Predicate, generation_changed
from attractor.workqueue.limits import Backoff

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.objects.resource import Resource
    from attractor.operators.irsa.controllers.settings import Settings
    from attractor.runtime import Controller
    from attractor.runtime.predicates import Change

WORKERS = 10
TIMEOUT_S = 120.0
FIRST_RETRY_S = 0.1
MAX_RETRY_S = 60.0


def controllers(settings: Settings) -> tuple[Controller, Controller, Controller]:
    """The controllers of resources, policies and roles. Whoever runs them provides ``Iam``."""
    children: tuple[type[Resource], ...] = (Policy, Role, ServiceAccount)
    irsas = controller(
        Irsas(settings),
        name="irsas",
        for_=For(IamRoleServiceAccount, when=generation_changed),
        watches=[
            Watches(Policy, to_keys=same_key, when=generation_changed | _status_changed),
            Watches(Role, to_keys=same_key, when=generation_changed | _status_changed),
            Watches(ServiceAccount, to_keys=same_key),
        ],
        permissions=[Permission(kind, ("create", "update", "patch", "delete")) for kind in children],
        workers=WORKERS,
    )
    policies = controller(
        Policies(settings),
        name="policies",
        for_=For(Policy, when=generation_changed),
        externals=[Iam],
        workers=WORKERS,
        timeout_s=TIMEOUT_S,
        limiter=_backoff,
    )
    roles = controller(
        Roles(settings),
        name="roles",
        for_=For(Role, when=generation_changed),
        watches=[Watches(Policy, to_keys=same_key, when=_policy_came_or_goes)],
        externals=[Iam],
        workers=WORKERS,
        timeout_s=TIMEOUT_S,
        limiter=_backoff,
    )
    return irsas, policies, roles


def same_key(obj: Resource) -> list[Key]:
    """A resource and its children share namespace and name."""
    return [obj.key]


def _has_other_status(change: Change) -> bool:
    return change.old is None or change.new is None or change.old.status != change.new.status


def _comes_or_goes(change: Change) -> bool:
    """Return the state of a Role's Policy: whether it is on AWS, and whether it is to go."""
    states = [obj and (bool(obj.status.arn), obj.metadata.is_deleting) for obj in (change.old, change.new)]
    return states[0] != states[1]


_status_changed = Predicate(_has_other_status, "status changed")
_policy_came_or_goes = Predicate(_comes_or_goes, "policy came or goes")


def _backoff() -> Backoff:
    """AWS is slower than an API server, and throttles whoever hurries."""
    return Backoff(FIRST_RETRY_S, MAX_RETRY_S)
