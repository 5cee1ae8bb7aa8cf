"""The Pod Security Standards: what baseline and restricted pods may not do, and how that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from attractor.objects.json_types import JsonObject

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_CAPABILITIES = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
     "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")
)  # fmt: skip
_VOLUMES = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
     "secret")
)  # fmt: skip
_SYSCTLS = frozenset(
    ("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
     "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
     "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
     "net.ipv4.tcp_wmem")
)  # fmt: skip
_SECCOMP = frozenset(("RuntimeDefault", "Localhost"))


class Violation(NamedTuple):
    """Which rule is broken, and by what."""

    reason: str
    detail: str


Check: TypeAlias = "Callable[[JsonObject], Violation | None]"


def violations(spec: JsonObject, level: str) -> list[Violation]:
    """What a pod's spec does that the level does not allow.

    >>> [str(found.reason) for found in violations({"hostPID": True, "containers": []}, "baseline")]
    ['host namespaces']
    """
    return [found for check in _CHECKS.get(level, ()) if (found := check(spec)) is not None]


def _containers(spec: JsonObject) -> Iterator[tuple[str, JsonObject, JsonObject]]:
    """Name, container and its security context."""
    for field in _LISTS:
        for container in spec.get(field) or ():
            yield container.get("name", ""), container, container.get("securityContext") or {}


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _who(names: list[str]) -> str:
    return f"container{'s' if len(names) > 1 else ''} {_quoted(names)}"


def _is_windows(spec: JsonObject) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _privilege_escalation(spec: JsonObject) -> Violation | None:
    bad = [name for name, _, context in _containers(spec) if context.get("allowPrivilegeEscalation") is not False]
    if not bad or _is_windows(spec):
        return None
    detail = f"{_who(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _capabilities_baseline(spec: JsonObject) -> Violation | None:
    bad: list[str] = []
    added: set[str] = set()
    for name, _, context in _containers(spec):
        found = set((context.get("capabilities") or {}).get("add") or ()) - _CAPABILITIES
        added |= found
        bad += [name] if found else []
    if not bad:
        return None
    detail = f"{_who(bad)} must not include {_quoted(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _capabilities_restricted(spec: JsonObject) -> Violation | None:
    keeping: list[str] = []
    adding: list[str] = []
    added: set[str] = set()
    for name, _, context in _containers(spec):
        said = context.get("capabilities") or {}
        keeping += [] if "ALL" in (said.get("drop") or ()) else [name]
        found = set(said.get("add") or ()) - {"NET_BIND_SERVICE"}
        added |= found
        adding += [name] if found else []
    details = []
    if keeping:
        details.append(f'{_who(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        details.append(f"{_who(adding)} must not include {_quoted(sorted(added))} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details and not _is_windows(spec) else None


def _host_namespaces(spec: JsonObject) -> Violation | None:
    found = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_paths(spec: JsonObject) -> Violation | None:
    found = [one.get("name", "") for one in spec.get("volumes") or () if one.get("hostPath") is not None]
    what = "volumes" if len(found) > 1 else "volume"
    return Violation("hostPath volumes", f"{what} {_quoted(found)}") if found else None


def _host_ports(spec: JsonObject) -> Violation | None:
    bad: list[str] = []
    ports: set[str] = set()
    for name, container, _ in _containers(spec):
        found = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        ports |= found
        bad += [name] if found else []
    if not bad:
        return None
    uses, what = "use" if len(bad) > 1 else "uses", "hostPorts" if len(ports) > 1 else "hostPort"
    return Violation("hostPort", f"{_who(bad)} {uses} {what} {', '.join(sorted(ports))}")


def _privileged(spec: JsonObject) -> Violation | None:
    bad = [name for name, _, context in _containers(spec) if context.get("privileged")]
    return Violation("privileged", f"{_who(bad)} must not set securityContext.privileged=true") if bad else None


def _proc_mount(spec: JsonObject) -> Violation | None:
    bad = [(name, context["procMount"]) for name, _, context in _containers(spec) if context.get("procMount")]
    bad = [(name, mount) for name, mount in bad if mount != "Default"]
    if not bad or spec.get("hostUsers") is False:
        return None
    mounts = _quoted(sorted({mount for _, mount in bad}))
    return Violation(
        "procMount", f"{_who([name for name, _ in bad])} must not set securityContext.procMount to {mounts}"
    )


def _restricted_volumes(spec: JsonObject) -> Violation | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in spec.get("volumes") or ():
        found = set(volume) - _VOLUMES - {"name"}
        kinds |= found
        bad += [volume.get("name", "")] if found else []
    if not bad:
        return None
    uses = "use" if len(bad) > 1 else "uses"
    what = "restricted volume types" if len(kinds) > 1 else "restricted volume type"
    volumes = f"volume{'s' if len(bad) > 1 else ''} {_quoted(bad)}"
    return Violation("restricted volume types", f"{volumes} {uses} {what} {_quoted(sorted(kinds))}")


def _non_root(spec: JsonObject) -> Violation | None:
    if spec.get("hostUsers") is False:
        return None
    whole = (spec.get("securityContext") or {}).get("runAsNonRoot")
    explicit = [name for name, _, context in _containers(spec) if context.get("runAsNonRoot") is False]
    implicit = [name for name, _, context in _containers(spec) if context.get("runAsNonRoot") is None and not whole]
    setters = [*(["pod"] if whole is False else []), *([_who(explicit)] if explicit else [])]
    if setters:
        detail = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
        return Violation("runAsNonRoot != true", detail)
    if implicit:
        return Violation("runAsNonRoot != true", f"pod or {_who(implicit)} must set securityContext.runAsNonRoot=true")
    return None


def _root_user(spec: JsonObject) -> Violation | None:
    if spec.get("hostUsers") is False:
        return None
    bad = [name for name, _, context in _containers(spec) if context.get("runAsUser") == 0]
    setters = ["pod"] if (spec.get("securityContext") or {}).get("runAsUser") == 0 else []
    setters += [_who(bad)] if bad else []
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def _seccomp(spec: JsonObject, *, must_be_set: bool) -> Violation | None:
    whole = _profile(spec.get("securityContext"))
    values = {whole} if whole and whole not in _SECCOMP else set()
    setters = ["pod"] if values else []
    profiles = [(name, _profile(context)) for name, _, context in _containers(spec)]
    explicit = [name for name, profile in profiles if profile and profile not in _SECCOMP]
    values |= {profile for _, profile in profiles if profile and profile not in _SECCOMP}
    setters += [_who(explicit)] if explicit else []
    if setters:
        to = _quoted(sorted(values))
        return Violation(
            "seccompProfile", f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {to}"
        )
    implicit = [name for name, profile in profiles if not profile and not whole]
    if must_be_set and implicit and not _is_windows(spec):
        allowed = '"RuntimeDefault" or "Localhost"'
        detail = f"pod or {_who(implicit)} must set securityContext.seccompProfile.type to {allowed}"
        return Violation("seccompProfile", detail)
    return None


def _profile(context: JsonObject | None) -> str:
    return str(((context or {}).get("seccompProfile") or {}).get("type") or "")


def _seccomp_baseline(spec: JsonObject) -> Violation | None:
    return _seccomp(spec, must_be_set=False)


def _seccomp_restricted(spec: JsonObject) -> Violation | None:
    return _seccomp(spec, must_be_set=True)


def _sysctls(spec: JsonObject) -> Violation | None:
    said: list[Any] = (spec.get("securityContext") or {}).get("sysctls") or []
    found = [one.get("name", "") for one in said if one.get("name") not in _SYSCTLS]
    return Violation("forbidden sysctls", ", ".join(found)) if found else None


_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "baseline": (
        _capabilities_baseline, _host_namespaces, _host_paths, _host_ports, _privileged, _proc_mount,
        _seccomp_baseline, _sysctls,
    ),
    "restricted": (
        _host_namespaces, _host_ports, _privileged, _proc_mount, _sysctls, _privilege_escalation,
        _capabilities_restricted, _restricted_volumes, _non_root, _root_user, _seccomp_restricted,
    ),
}  # fmt: skip
"""The checks of each level in the order in which Kubernetes reports them."""
