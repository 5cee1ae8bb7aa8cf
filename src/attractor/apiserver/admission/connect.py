"""Admission of CONNECT: who may exec, attach, forward ports and proxy is for webhooks and policies to say, too.

Nothing is reached from here (``verbs.connect`` says why), but a request that admission refuses is refused by it, and a
webhook that keeps a record of such requests hears of them. As in kube-apiserver, admission comes first, before it is
known whether there is anything to reach, and what it sees is the options that the query gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attractor.apiserver.admission.plugin import REGISTRATIONS, Attributes
from attractor.apiserver.request.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.apiserver.admission.plugin import Chain
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.caller import User
    from attractor.apiserver.request.routing import Target
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

_KINDS: Final = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
_TRUTHS: Final = {"exec": ("stdin", "stdout", "stderr", "tty"), "attach": ("stdin", "stdout", "stderr", "tty")}
_TEXTS: Final = {"exec": ("container",), "attach": ("container",), "proxy": ("path",)}
_LISTS: Final = {"exec": ("command",)}


def options_of(resource: str, subresource: str, query: Mapping[str, Sequence[str]]) -> JsonObject:
    """The options of a request, as an object of their kind; what Go leaves out when it is empty is left out."""
    found: JsonObject = {"kind": _KINDS[resource, subresource], "apiVersion": "v1"}
    for name in _TRUTHS.get(subresource, ()):
        if name in query and (not query[name] or query[name][0] not in {"0", "false"}):
            found[name] = True
    for name in _TEXTS.get(subresource, ()):
        if query.get(name) and query[name][0]:
            found[name] = query[name][0]
    for name in _LISTS.get(subresource, ()):
        if query.get(name):
            found[name] = list(query[name])
    if subresource == "portforward" and query.get("ports"):
        found["ports"] = [int(port) for each in query["ports"] for port in each.split(",") if port.isdigit()]
    return found


def admit_connection(
    chain: Chain, kind: Kind, target: Target, query: Mapping[str, Sequence[str]], user: User, txn: Transaction
) -> None:
    """Ask those who have registered for it; raises ``ApiError``."""
    if not txn.snapshot.has_any(REGISTRATIONS):
        return
    gvk = kind.gvk
    op = Operation(
        verb="create",
        group=gvk.group,
        version=gvk.version,
        resource=kind.resource,
        namespace=target.namespace,
        name=target.name,
        subresource=target.subresource,
        user=user,
    )
    options = options_of(kind.resource, target.subresource, query)
    attributes = Attributes(op, kind, options, None, txn, is_connecting=True)
    for plugin in chain.plugins:
        if plugin.obeys_registrations:
            plugin.admit(attributes)
    for plugin in chain.plugins:
        if plugin.obeys_registrations:
            plugin.validate(attributes)
