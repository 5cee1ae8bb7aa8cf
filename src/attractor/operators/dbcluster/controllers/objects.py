"""From a Cluster to the objects that it consists of: a pure function, one object a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount
from attractor.k8s.policy_v1 import PodDisruptionBudget
from attractor.objects.quantity import canonical
from attractor.objects.resource import ObjectMeta, Resource
from attractor.operators.dbcluster.controllers import names
from attractor.operators.dbcluster.drivers import redis
from attractor.runtime.toolkit.children import hashed_name

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject
    from attractor.operators.dbcluster.api.types import Cluster, Component, ServiceSpec
    from attractor.operators.dbcluster.controllers.entropy import Certificate

R = TypeVar("R", bound=Resource)

CONFIG_DIR = "/etc/dbcluster/config"
CREDENTIALS_DIR = "/etc/dbcluster/credentials"
TLS_DIR = "/etc/dbcluster/tls"
DATA_DIR = "/var/lib/dbcluster"


class ComponentObjects(NamedTuple):
    """The objects of one component."""

    config: ConfigMap
    headless: Service
    workload: StatefulSet
    budget: PodDisruptionBudget | None


def credentials(cluster: Cluster, password: str) -> Secret:
    """The credentials of all components."""
    return Secret(metadata=names.metadata(cluster, "credentials"), data=dict(redis.credentials(password)))


def certificate(cluster: Cluster, component: Component, made: Certificate) -> Secret:
    """A component's certificate."""
    data = {"tls.crt": made.certificate.encode(), "tls.key": made.key.encode()}
    metadata = names.metadata(cluster, f"{component.name}-tls", component)
    return Secret(metadata=metadata, type="kubernetes.io/tls", data=data)


def account(cluster: Cluster) -> ServiceAccount:
    """Return the ServiceAccount of the pods."""
    return ServiceAccount(metadata=names.metadata(cluster, ""), automount_service_account_token=False)


def service(cluster: Cluster, spec: ServiceSpec, component: Component) -> Service:
    """A way to reach a component."""
    made = Service(metadata=names.metadata(cluster, spec.name, component))
    chosen = names.component_labels(cluster, component)
    if spec.role == "primary":
        chosen["statefulset.kubernetes.io/pod-name"] = f"{names.workload_key(cluster, component).name}-0"
    return _with_spec(made, {"type": spec.type, "selector": chosen, "ports": [_port()]})


def component_objects(cluster: Cluster, component: Component) -> ComponentObjects:
    """Return the objects of a component, its Secrets excepted."""
    data = {redis.CONFIG_FILE: redis.config_text(component)}
    config = ConfigMap(metadata=names.metadata(cluster, "", component), data=data)
    config.metadata.name = hashed_name(f"{cluster.metadata.name}-{component.name}-config", data)
    carried = names.component_labels(cluster, component)
    headless = Service(metadata=names.metadata(cluster, f"{component.name}-headless", component))
    headless = _with_spec(headless, {"clusterIP": "None", "selector": carried, "ports": [_port()]})
    workload = StatefulSet(metadata=names.metadata(cluster, component.name, component))
    workload = _with_spec(workload, _workload(cluster, component, config.metadata.name))
    budget = None
    if component.replicas > 1:
        budget = PodDisruptionBudget(metadata=names.metadata(cluster, component.name, component))
        budget = _with_spec(budget, {"maxUnavailable": 1, "selector": {"matchLabels": carried}})
    return ComponentObjects(config, headless, workload, budget)


def claim_for(claim: PersistentVolumeClaim, storage: str) -> PersistentVolumeClaim:
    """Return a stored claim with the size that it should grow to."""
    made = PersistentVolumeClaim(metadata=ObjectMeta(name=claim.metadata.name, namespace=claim.metadata.namespace))
    return _with_spec(made, {"resources": {"requests": {"storage": canonical(storage)}}})


def _with_spec(obj: R, spec: JsonObject) -> R:
    return type(obj).from_dict({**obj.to_dict(), "spec": spec})


def _port() -> JsonObject:
    return {"name": "database", "port": redis.PORT, "targetPort": redis.PORT, "protocol": "TCP"}


def _workload(cluster: Cluster, component: Component, config: str) -> JsonObject:
    carried = names.component_labels(cluster, component)
    template: JsonObject = {
        "metadata": {"labels": carried},
        "spec": {
            "serviceAccountName": cluster.metadata.name,
            "containers": [_container(cluster, component)],
            "volumes": _volumes(cluster, component, config),
        },
    }
    request = {"requests": {"storage": canonical(component.storage)}}
    claim: JsonObject = {
        "metadata": {"name": "data", "labels": carried},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": request},
    }
    return {
        "replicas": component.replicas,
        "serviceName": names.headless_name(cluster, component),
        "selector": {"matchLabels": carried},
        "template": template,
        "volumeClaimTemplates": [claim],
    }


def _volumes(cluster: Cluster, component: Component, config: str) -> list[JsonObject]:
    found: list[JsonObject] = [
        {"name": "config", "configMap": {"name": config}},
        {"name": "credentials", "secret": {"secretName": names.credentials_key(cluster).name}},
    ]
    if component.tls:
        found.append({"name": "tls", "secret": {"secretName": names.tls_key(cluster, component).name}})
    return found


def _container(cluster: Cluster, component: Component) -> JsonObject:
    primary = f"{names.workload_key(cluster, component).name}-0"
    password = {"secretKeyRef": {"name": names.credentials_key(cluster).name, "key": "password"}}
    mounts = {"data": DATA_DIR, "config": CONFIG_DIR, "credentials": CREDENTIALS_DIR}
    if component.tls:
        mounts["tls"] = TLS_DIR
    said = {
        "CONFIG_DIR": CONFIG_DIR,
        "CREDENTIALS_DIR": CREDENTIALS_DIR,
        "DATA_DIR": DATA_DIR,
        "TLS_DIR": TLS_DIR if component.tls else "",
        "PRIMARY_NAME": primary,
        "PRIMARY_HOST": f"{primary}.{names.headless_name(cluster, component)}",
    }
    amounts = {"cpu": canonical(component.resources.cpu), "memory": canonical(component.resources.memory)}
    return {
        "name": "database",
        "image": f"{redis.IMAGE}:{component.version}",
        "command": redis.command(),
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {"name": "REDISCLI_AUTH", "valueFrom": password},
            *({"name": name, "value": value} for name, value in said.items() if value),
        ],
        "ports": [{"name": "database", "containerPort": redis.PORT, "protocol": "TCP"}],
        "readinessProbe": {"exec": {"command": redis.probe()}, "periodSeconds": 1},
        "resources": {"requests": amounts, "limits": amounts},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }
