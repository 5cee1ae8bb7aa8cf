"""Manifests of an operator's webhooks: Service, configurations, certificate, and the rights to keep both up to date.

The operator makes its own certificate, or cert-manager does. In the first case the Secret is part of the manifests,
empty, so that the operator needs rights on this one Secret only and none to create any; and so are the configurations,
into which it writes the authority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.runtime.manifest_objects import labelled, role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime.manifests import Operator

PORT = 9443
DIRECTORY = "/var/run/attractor/webhooks"
"""Where the certificate of cert-manager is mounted."""


def manifests(operator: Operator, labels: JsonObject) -> Iterator[JsonObject]:
    """Service, certificate and configurations; nothing where there are no webhooks."""
    if not operator.webhooks:
        return
    name, namespace = webhooks_name(operator), operator.namespace
    yield {
        **labelled("v1", "Service", name, namespace, labels),
        "spec": {"selector": dict(labels), "ports": [{"name": "https", "port": 443, "targetPort": "webhooks"}]},
    }
    if operator.cert_manager:
        yield from _cert_manager(operator, labels)
    else:
        yield {**labelled("v1", "Secret", f"{name}-certificate", namespace, labels), "type": "Opaque"}
    for document in operator.webhooks.configurations(name, client_of(operator), spared=(namespace, "kube-system")):
        document["metadata"]["labels"] = dict(labels)
        yield _injected(operator, document)


def definitions(operator: Operator, kinds: Iterable[type[Resource]]) -> list[JsonObject]:
    """The CustomResourceDefinitions; objects of kinds with several versions are converted by the operator."""
    found = operator.webhooks.definitions(kinds, client_of(operator))
    return [_injected(operator, one) if "conversion" in one["spec"] else one for one in found]


def client_of(operator: Operator) -> Callable[[str], JsonObject]:
    """From a path to the ``clientConfig`` under which a server reaches the operator."""
    name, namespace = webhooks_name(operator), operator.namespace
    return lambda path: {"service": {"namespace": namespace, "name": name, "path": path}}


def _injected(operator: Operator, document: JsonObject) -> JsonObject:
    """An object into which cert-manager is to write the authority, if it has one."""
    if operator.cert_manager:
        at = f"{operator.namespace}/{webhooks_name(operator)}"
        document["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": at}
    return document


def _cert_manager(operator: Operator, labels: JsonObject) -> Iterator[JsonObject]:
    """An authority that signs itself, and a certificate of it for the Service."""
    name, namespace = webhooks_name(operator), operator.namespace
    host = f"{name}.{namespace}.svc"
    yield {**labelled("cert-manager.io/v1", "Issuer", name, namespace, labels), "spec": {"selfSigned": {}}}
    yield {
        **labelled("cert-manager.io/v1", "Certificate", name, namespace, labels),
        "spec": {
            "secretName": f"{name}-certificate",
            "dnsNames": [host, f"{host}.cluster.local"],
            "issuerRef": {"kind": "Issuer", "name": name},
        },
    }


def access(operator: Operator, labels: JsonObject) -> Iterator[JsonObject]:
    """Rights on the one Secret and on the operator's own configurations; none where cert-manager has them."""
    if not operator.webhooks or operator.cert_manager:
        return
    name = webhooks_name(operator)
    own: JsonObject = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [f"{name}-certificate"]}
    yield from role(operator, name, operator.namespace, [{**own, "verbs": ["get", "update"]}], labels)
    configurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    kept: JsonObject = {"apiGroups": ["admissionregistration.k8s.io"], "resources": configurations}
    rules = [{**kept, "resourceNames": [name], "verbs": ["get", "patch"]}]
    if converted := [f"{one.hub.resource_info.resource}.{one.hub.gvk.group}" for one in operator.webhooks.versions()]:
        own = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
        rules.append({**own, "resourceNames": converted, "verbs": ["get", "patch"]})
    yield from role(operator, name, "", rules, labels)


def with_webhooks(operator: Operator, deployment: JsonObject) -> JsonObject:
    """The Deployment, serving webhooks if there are any."""
    if not operator.webhooks:
        return deployment
    name = webhooks_name(operator)
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container["ports"].append({"name": "webhooks", "containerPort": PORT})
    container["args"] += [f"--webhooks=0.0.0.0:{PORT}", f"--webhooks-service={operator.namespace}/{name}"]
    container["args"].append(f"--webhooks-name={name}")
    if operator.cert_manager:
        container["args"] += [f"--webhooks-cert={DIRECTORY}/tls.crt", f"--webhooks-key={DIRECTORY}/tls.key"]
        container["volumeMounts"] = [{"name": "webhooks", "mountPath": DIRECTORY, "readOnly": True}]
        pod["volumes"] = [{"name": "webhooks", "secret": {"secretName": f"{name}-certificate"}}]
    return deployment


def webhooks_name(operator: Operator) -> str:
    """The name of the Service and of the configurations."""
    return f"{operator.name}-webhooks"
