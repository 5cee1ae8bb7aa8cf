"""``WebhookSet``: the webhooks of one operator, found by path, and as configurations for a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.objects.resource import crd_for
from attractor.webhooks.admission import AdmissionWebhook, WebhookError
from attractor.webhooks.conversion import PATH as CONVERSION_PATH
from attractor.webhooks.conversion import Conversion, Versions, answer_conversion
from attractor.webhooks.review import answer_admission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.webhooks.admission import UserInfo

Webhook: TypeAlias = AdmissionWebhook[Any] | Conversion[Any, Any]
"""What an author declares with ``validate``, ``mutate`` and ``convert``."""

GROUP = "admissionregistration.k8s.io"
IN_PROCESS = ("default", "attractor-in-process")
"""Namespace and name of the Service that stands for functions of the server's own process; there is no such object."""


def in_process(path: str) -> JsonObject:
    """The ``clientConfig`` of a function of the server's own process."""
    return {"service": {"namespace": IN_PROCESS[0], "name": IN_PROCESS[1], "path": path}}


class NoSuchWebhook(LookupError):
    """No webhook is at a path; the text says which there are."""


class WebhookSet:
    """Webhooks by path, each name once, and conversions by kind. Iteration goes by admission webhook, in order."""

    def __init__(self, hooks: Iterable[Webhook] = ()) -> None:
        self._hooks: dict[str, AdmissionWebhook[Any]] = {}
        self._conversions: list[Conversion[Any, Any]] = []
        self._versions: dict[tuple[str, str], Versions] = {}
        self.add(*hooks)

    def __iter__(self) -> Iterator[AdmissionWebhook[Any]]:
        return iter(self._hooks.values())

    def __bool__(self) -> bool:
        return bool(self._hooks or self._conversions)

    def add(self, *hooks: Any) -> None:
        """Take up more; the same twice is one. Raises ``WebhookError`` for what is none, and for what is ambiguous."""
        for hook in hooks:
            if isinstance(hook, Conversion):
                self._conversions += [] if hook in self._conversions else [hook]
            elif not isinstance(hook, AdmissionWebhook):
                called = getattr(hook, "__name__", repr(hook))
                raise WebhookError(f"{called} is no webhook; declare it with @validate(Kind) or @mutate(Kind)")
            elif self._hooks.setdefault(hook.path, hook) is not hook:
                raise WebhookError(
                    f"two webhooks are called {hook.name!r}; give one of them another, as in name='other'"
                )
        by_kind: dict[tuple[str, str], list[Conversion[Any, Any]]] = {}
        for one in self._conversions:
            by_kind.setdefault((one.source.gvk.group, one.source.gvk.kind), []).append(one)
        self._versions = {kind: Versions(ways) for kind, ways in by_kind.items()}

    def declared(self) -> tuple[Webhook, ...]:
        """All of them."""
        return (*self._hooks.values(), *self._conversions)

    def versions(self) -> list[Versions]:
        """The kinds that have conversions."""
        return list(self._versions.values())

    def versions_of(self, kind: type[Resource]) -> Versions | None:
        """The versions of a kind, if there are conversions of it."""
        return self._versions.get((kind.gvk.group, kind.gvk.kind))

    def answer(self, path: str, request: JsonObject, user: UserInfo | None = None) -> JsonObject:
        """The ``response`` to a review's ``request`` that was sent to a path; raises ``NoSuchWebhook``."""
        if path == CONVERSION_PATH and self._versions:
            return answer_conversion(self._versions, request)
        hook = self._hooks.get(path)
        if hook is None:
            known = [*self._hooks, *([CONVERSION_PATH] if self._versions else [])]
            raise NoSuchWebhook(f"there is no webhook at {path}; there are {', '.join(known) or 'none'}")
        return answer_admission(hook, request, user)

    def definitions(
        self, kinds: Iterable[type[Resource]], client: Callable[[str], JsonObject] | None = None
    ) -> list[JsonObject]:
        """One CustomResourceDefinition for each kind; classes that are versions of one kind share it.

        A kind with conversions has all their versions, is stored as its hub, and is converted by who is reached under
        ``client``, by default in the server's own process.
        """
        by_kind: dict[tuple[str, str], list[type[Resource]]] = {}
        for kind in kinds:
            by_kind.setdefault((kind.gvk.group, kind.gvk.kind), []).append(kind)
        found = []
        for named, classes in by_kind.items():
            versions = self._versions.get(named)
            if versions is None:
                found.append(crd_for(*classes))
                continue
            everyone = dict.fromkeys((*versions.classes.values(), *classes))
            definition = crd_for(*everyone, storage=versions.hub)
            definition["spec"]["conversion"] = conversion_of((client or in_process)(CONVERSION_PATH))
            found.append(definition)
        return found

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


def conversion_of(client: JsonObject) -> JsonObject:
    """``spec.conversion`` of a definition whose objects are converted by who is reached under a ``clientConfig``."""
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


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
