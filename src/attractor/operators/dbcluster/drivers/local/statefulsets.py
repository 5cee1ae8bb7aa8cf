"""The StatefulSet controller: pods ``name-0`` to ``name-(n-1)``, with their claims, one step at a time.

Contract, as Kubernetes has it (``OrderedReady``): a pod is created only when all before it are ready; too many pods go
from the highest number down; a change replaces pods from the highest number down, and waits for each to be ready
again. Claims outlive their pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import PersistentVolumeClaim, Pod
from attractor.objects.errors import AlreadyExists
from attractor.objects.resource import to_builtins
from attractor.operators.dbcluster.drivers.local.protocol import FINALIZER, NODE_NAME
from attractor.runtime import Context, Permission, Result, controller
from attractor.runtime.toolkit.children import data_hash
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.objects.json_types import JsonObject

REVISION = "controller-revision-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"


@controller(
    name="local-statefulsets",
    for_=StatefulSet,
    owns=[Pod],
    permissions=[Permission(PersistentVolumeClaim, ("get", "create"))],
)
async def statefulsets(ctx: Context, key: Key) -> Result | None:
    """Take the next step, and tell how far it is."""
    stateful = await ctx.find(StatefulSet, key)
    if stateful is None or stateful.metadata.is_deleting:
        return None
    listed = await ctx.list(Pod, namespace=key.namespace)
    pods = {one.metadata.name: one for one in listed if is_controlled_by(one, stateful)}
    await _step(ctx, stateful, pods)
    await _tell(ctx, stateful, pods)
    return None


async def _step(ctx: Context, stateful: StatefulSet, pods: dict[str, Pod]) -> None:
    wanted = [f"{stateful.metadata.name}-{number}" for number in range(stateful.spec.replicas or 0)]
    for number, name in enumerate(wanted):
        if name not in pods:
            await _create(ctx, stateful, number)
            return
        if not is_ready(pods[name]) and is_current(pods[name], stateful):
            return
    extra = sorted((name for name in pods if name not in wanted), key=_number)
    if extra:
        await _delete(ctx, pods[extra[-1]])
        return
    for name in reversed(wanted):
        if not is_current(pods[name], stateful):
            await _delete(ctx, pods[name])
            return
        if not is_ready(pods[name]):
            return


async def _create(ctx: Context, stateful: StatefulSet, number: int) -> None:
    """The claims first, which may be there from an earlier pod of this number; then the pod."""
    for template in stateful.spec.volume_claim_templates:
        claim = claim_for(stateful, template, number)
        if await ctx.find(PersistentVolumeClaim, claim.key, cached=False) is None:
            try:
                await ctx.create(claim)
            except AlreadyExists:
                ctx.log.info("a claim is there already", claim=str(claim.key))
    try:
        await ctx.create(pod_for(stateful, number))
    except AlreadyExists:
        ctx.log.info("a pod is there already", number=number)


async def _delete(ctx: Context, pod: Pod) -> None:
    if not pod.metadata.is_deleting:
        await ctx.delete(pod)


async def _tell(ctx: Context, stateful: StatefulSet, pods: dict[str, Pod]) -> None:
    told, revision = stateful.deep_copy(), revision_of(stateful)
    alive = [pod for pod in pods.values() if not pod.metadata.is_deleting]
    status = told.status
    status.observed_generation = stateful.metadata.generation
    status.replicas = len(pods)
    status.ready_replicas = status.available_replicas = sum(is_ready(pod) for pod in alive)
    status.updated_replicas = sum(is_current(pod, stateful) for pod in alive)
    status.update_revision = revision
    if status.updated_replicas == len(pods) or not status.current_revision:
        status.current_revision = revision
    status.current_replicas = sum(pod.metadata.labels.get(REVISION) == status.current_revision for pod in alive)
    if told.status != stateful.status:
        await ctx.patch_from(stateful, told, subresource="status")


def pod_for(stateful: StatefulSet, number: int) -> Pod:
    """The pod of a number, as the template says."""
    name, template = f"{stateful.metadata.name}-{number}", to_builtins(stateful.spec.template)
    claims = [
        {"name": one.metadata.name, "persistentVolumeClaim": {"claimName": claim_name(stateful, one, number)}}
        for one in stateful.spec.volume_claim_templates
    ]
    labels = {**template.get("metadata", {}).get("labels", {}), POD_NAME: name, REVISION: revision_of(stateful)}
    spec: JsonObject = {
        **template["spec"],
        "hostname": name,
        "subdomain": stateful.spec.service_name,
        "nodeName": NODE_NAME,
        "terminationGracePeriodSeconds": 0,  # the finalizer holds the pod until its process has ended
        "volumes": [*template["spec"].get("volumes", []), *claims],
    }
    metadata = {"name": name, "namespace": stateful.metadata.namespace, "labels": labels, "finalizers": [FINALIZER]}
    pod = Pod.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    set_controller(stateful, pod)
    return pod


def claim_for(stateful: StatefulSet, template: Any, number: int) -> PersistentVolumeClaim:
    """The claim of a number, as its template says."""
    plain = to_builtins(template)
    metadata = {
        **plain["metadata"],
        "name": claim_name(stateful, template, number),
        "namespace": stateful.metadata.namespace,
        "finalizers": [FINALIZER],
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": plain["spec"]}
    return PersistentVolumeClaim.from_dict(body)


def claim_name(stateful: StatefulSet, template: Any, number: int) -> str:
    """``template-statefulset-number``."""
    return f"{template.metadata.name}-{stateful.metadata.name}-{number}"


def revision_of(stateful: StatefulSet) -> str:
    """Stands for the template; pods of an older one are replaced."""
    return data_hash(to_builtins(stateful.spec.template))


def is_current(pod: Pod, stateful: StatefulSet) -> bool:
    """Return whether a pod was made from the present template, and is to stay."""
    return pod.metadata.labels.get(REVISION) == revision_of(stateful) and not pod.metadata.is_deleting


def is_ready(pod: Pod) -> bool:
    """Return whether a pod answers."""
    ready = any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
    return ready and not pod.metadata.is_deleting


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
