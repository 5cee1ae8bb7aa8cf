"""``/healthz``, ``/livez`` and ``/readyz``: whether the server works, check by check, in kube-apiserver's names.

Monitoring asks for checks by name, so every check of a fresh kube-apiserver is there. Most are of work that it does
after it began to listen (``poststarthook/...``, ``informer-sync``); here the same work is done before, so these pass
from the first request on. Three can fail: ``etcd`` and ``etcd-readiness``, which ask the store whatever its engine is,
and ``shutdown``, which fails from the moment the server was told to stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.reply import TEXT, Reply, page_not_found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Query = Mapping[str, Sequence[str]]

STORE, STORE_READY, SHUTDOWN = "etcd", "etcd-readiness", "shutdown"

_HOOKS = tuple(
    f"poststarthook/{name}"
    for name in (
        "start-apiserver-admission-initializer",
        "generic-apiserver-start-informers",
        "priority-and-fairness-config-consumer",
        "priority-and-fairness-filter",
        "storage-object-count-tracker-hook",
        "start-apiextensions-informers",
        "start-apiextensions-controllers",
        "crd-informer-synced",
        "start-system-namespaces-controller",
        "peer-endpoint-reconciler-controller",
        "start-cluster-authentication-info-controller",
        "start-kube-apiserver-identity-lease-controller",
        "start-kube-apiserver-identity-lease-garbage-collector",
        "storage-readiness",
        "start-legacy-token-tracking-controller",
        "start-service-ip-repair-controllers",
        "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes",
        "priority-and-fairness-config-producer",
        "bootstrap-controller",
        "start-kubernetes-service-cidr-controller",
        "start-kube-aggregator-informers",
        "apiservice-status-local-available-controller",
        "apiservice-status-remote-available-controller",
        "apiservice-registration-controller",
        "apiservice-discovery-controller",
        "kube-apiserver-autoregistration",
    )
)
_AGGREGATOR = (
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
_ALIVE = ("ping", "log", "loopback-serving-certificate", STORE, *_HOOKS, *_AGGREGATOR)
CHECKS: Mapping[str, tuple[str, ...]] = {
    "/healthz": _ALIVE,
    "/livez": _ALIVE,
    "/readyz": ("ping", "log", STORE, STORE_READY, "informer-sync", *_HOOKS, *_AGGREGATOR, SHUTDOWN),
}
"""The checks of each path, in the order in which they are told."""

HEALTH_PATHS = (*CHECKS, *(f"{path}/{check}" for path, checks in CHECKS.items() for check in checks))
_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}


def is_about_health(path: str) -> bool:
    """Whether a path is one of those of health, or below them."""
    return path in CHECKS or path.startswith(("/healthz/", "/livez/", "/readyz/"))


def health_reply(path: str, query: Query, failing: Mapping[str, str]) -> Reply:
    """The answer when the checks in ``failing`` fail, each with its reason.

    A reason is told to those who ask for that check alone: who may see a path below may see more than anonymous users.
    """
    if path in CHECKS:
        return _all_checks(path, query, failing)
    top, _, check = path[1:].partition("/")
    if check not in CHECKS[f"/{top}"]:
        return page_not_found()
    if check in failing:
        return Reply(500, f"internal server error: {failing[check]}\n".encode(), TEXT, _NO_SNIFFING)
    return Reply(200, b"ok", TEXT)


def _all_checks(path: str, query: Query, failing: Mapping[str, str]) -> Reply:
    checks, excluded = CHECKS[path], set(query.get("exclude", ()))
    lines = [_line(check, excluded, failing) for check in checks]
    unknown = sorted(excluded - set(checks))
    if unknown:
        names = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if any(check in failing for check in checks if check not in excluded):
        return Reply(500, "\n".join([*lines, f"{path[1:]} check failed\n"]).encode(), TEXT, _NO_SNIFFING)
    if "verbose" not in query:
        return Reply(200, b"ok", TEXT, _NO_SNIFFING)
    return Reply(200, "\n".join([*lines, f"{path[1:]} check passed\n"]).encode(), TEXT, _NO_SNIFFING)


def _line(check: str, excluded: set[str], failing: Mapping[str, str]) -> str:
    if check in excluded:
        return f"[+]{check} excluded: ok"
    return f"[-]{check} failed: reason withheld" if check in failing else f"[+]{check} ok"
