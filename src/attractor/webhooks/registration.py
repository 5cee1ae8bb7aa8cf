"""``WebhookSet``: the webhooks of one operator, found by path, and as configurations for a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.webhooks.admission import AdmissionWebhook, WebhookError
from attractor.webhooks.review import answer_admission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from attractor.objects.json_types import JsonObject
    from attractor.webhooks.admission import UserInfo

GROUP = "admissionregistration.k8s.io"
IN_PROCESS = ("default", "attractor-in-process")
"""Namespace and name of the Service that stands for functions of the server's own process; there is no such object."""


def in_process(path: str) -> JsonObject:
    """The ``clientConfig`` of a function of the server's own process."""
    return {"service": {"namespace": IN_PROCESS[0], "name": IN_PROCESS[1], "path": path}}


class NoSuchWebhook(LookupError):
    """No webhook is at a path; the text says which there are."""


class WebhookSet:
    """Webhooks by path; each name once. ``in`` and iteration go by declaration, in the given order."""

    def __init__(self, hooks: Iterable[AdmissionWebhook[Any]] = ()) -> None:
        self._hooks: dict[str, AdmissionWebhook[Any]] = {}
        for hook in hooks:
            self.add(hook)

    def __iter__(self) -> Any:
        return iter(self._hooks.values())

    def __len__(self) -> int:
        return len(self._hooks)

    def add(self, hook: Any) -> None:
        """Take up one more; the same twice is one. Raises ``WebhookError`` when its name is another's."""
        if not isinstance(hook, AdmissionWebhook):
            called = getattr(hook, "__name__", repr(hook))
            raise WebhookError(f"{called} is no webhook; declare it with @validate(Kind) or @mutate(Kind)")
        if self._hooks.setdefault(hook.path, hook) is not hook:
            raise WebhookError(f"two webhooks are called {hook.name!r}; give one of them another, as in name='other'")

    def answer(self, path: str, request: JsonObject, user: UserInfo | None = None) -> JsonObject:
        """The ``response`` to a review's ``request`` that was sent to a path; raises ``NoSuchWebhook``."""
        return answer_admission(self.at(path), request, user)

    def at(self, path: str) -> AdmissionWebhook[Any]:
        """The webhook at a path; raises ``NoSuchWebhook``."""
        hook = self._hooks.get(path)
        if hook is None:
            raise NoSuchWebhook(f"there is no webhook at {path}; there are {', '.join(self._hooks) or 'none'}")
        return hook

    def configurations(
        self, name: str, client: Callable[[str], JsonObject], *, spared: Sequence[str] = ()
    ) -> list[JsonObject]:
        """The configurations that make a server ask: one for those that change, one for those that judge, if any.

        Args:
            name: The configurations' name.
            client: From a path to the ``clientConfig`` under which the server reaches it.
            spared: Namespaces whose built-in objects are not asked about, so that the webhook's own pods can start
                while it does not answer.
        """
        found = []
        for mutates, kind in ((True, "MutatingWebhookConfiguration"), (False, "ValidatingWebhookConfiguration")):
            hooks = [_entry(hook, client(hook.path), spared) for hook in self if hook.mutates is mutates]
            if hooks:
                head = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}}
                found.append({**head, "webhooks": hooks})
        return found


def _entry(hook: AdmissionWebhook[Any], client: JsonObject, spared: Sequence[str]) -> JsonObject:
    info = hook.kind.resource_info
    entry: JsonObject = {
        "name": hook.qualified_name,
        "clientConfig": client,
        "rules": [
            {
                "apiGroups": [info.group],
                "apiVersions": [info.version],
                "operations": list(hook.operations),
                "resources": [f"{info.resource}/{hook.subresource}" if hook.subresource else info.resource],
                "scope": "Namespaced" if info.namespaced else "Cluster",
            }
        ],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore" if hook.fails_open else "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": hook.timeout_s,
    }
    namespaces: JsonObject = {"matchLabels": dict(hook.namespace_labels)} if hook.namespace_labels else {}
    if spared and info.definition and info.namespaced:
        one = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted(spared)}
        namespaces["matchExpressions"] = [one]
    if namespaces:
        entry["namespaceSelector"] = namespaces
    if hook.object_labels:
        entry["objectSelector"] = {"matchLabels": dict(hook.object_labels)}
    if hook.conditions:
        entry["matchConditions"] = [{"name": one, "expression": text} for one, text in hook.conditions.items()]
    return entry
