"""The scheduler: binds Pods that wait for a node to the emptiest node that they fit on.

One reconcile places everything that waits, the highest priority first, and among equals the oldest; so nodes and their
Pods are looked at once for all. What cannot be placed is told why, and looked at again when a node changes or a Pod
goes. ``placement`` says what fits. Not simulated: affinity between Pods, topology spread, preemption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor import Conflict, Context, For, Index, Key, NotFound, ObjectMeta, Watches, controller
from attractor.k8s import Binding, Node, ObjectReference, Pod, PodCondition
from attractor.toolkit import Predicate
from attractor.workloads.placement import Place, obstacle, requests_of, summary
from attractor.workloads.pods import condition_of, is_finished

if TYPE_CHECKING:
    from attractor.runtime.predicates import Change

SCHEDULER = "default-scheduler"
"""The ``schedulerName`` of Pods that are placed here."""
WAITING = "waiting"


def _by_node(pod: Pod) -> list[str]:
    """Where a Pod is found: under its node, or among those that wait for one; nowhere once it has finished."""
    if is_finished(pod):
        return []
    if pod.spec.node_name:
        return [f"on {pod.spec.node_name}"]
    is_ours = (pod.spec.scheduler_name or SCHEDULER) == SCHEDULER
    return [WAITING] if is_ours and not pod.metadata.is_deleting and not pod.spec.scheduling_gates else []


def _matters(change: Change) -> bool:
    """A Pod began to wait, or gave back what it had: it is gone or has finished."""
    old, new = change.old, change.new
    if new is None:
        return True
    if not new.spec.node_name:
        return old is None or old.spec.scheduling_gates != new.spec.scheduling_gates
    return is_finished(new) and (old is None or not is_finished(old))


def _has_changed(change: Change) -> bool:
    """A node came or went, or what the scheduler looks at has changed."""
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    parts = [(one.spec, one.metadata.labels, one.status.allocatable) for one in (old, new)]
    return bool(parts[0] != parts[1])


def _everything(_pod: Pod) -> list[Key]:
    return [Key("", SCHEDULER)]


@controller(
    name="default-scheduler",
    for_=For(Node, when=Predicate(_has_changed)),
    watches=[Watches(Pod, _everything, when=Predicate(_matters))],
    indexes=[Index(Pod, "place", _by_node)],
    workers=1,
)
async def scheduler(ctx: Context, _key: Key) -> None:
    """Bind every Pod that waits and fits somewhere."""
    waiting = await ctx.list(Pod, index=("place", WAITING))
    if not waiting:
        return
    places = [
        Place.of(node, await ctx.list(Pod, index=("place", f"on {node.metadata.name}")))
        for node in await ctx.list(Node)
        if not node.metadata.is_deleting
    ]
    for pod in sorted(waiting, key=_urgency):
        await _place(ctx, pod, places)


def _urgency(pod: Pod) -> tuple[int, float, Key]:
    born = pod.metadata.creation_timestamp
    return (-(pod.spec.priority or 0), born.timestamp() if born else 0.0, pod.key)


async def _place(ctx: Context, pod: Pod, places: list[Place]) -> None:
    requests = requests_of(pod)
    obstacles, best = [], None
    for place in places:
        why = obstacle(place, pod, requests)
        if why:
            obstacles.append(why)
        elif best is None or place.pods < best.pods:
            best = place
    if best is None:
        await _refuse(ctx, pod, summary(obstacles, len(places)))
    elif await _bind(ctx, pod, best.node.metadata.name):
        best.take(requests)


async def _bind(ctx: Context, pod: Pod, node: str) -> bool:
    """Assign a Pod to a node, unless it is gone or somebody else did it."""
    meta = ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace, uid=pod.metadata.uid)
    try:
        await ctx.create_subresource(
            pod, "binding", Binding(metadata=meta, target=ObjectReference(kind="Node", name=node))
        )
    except (Conflict, NotFound):
        return False
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    await ctx.emit(pod, "Scheduled", f"Successfully assigned {where} to {node}")
    return True


async def _refuse(ctx: Context, pod: Pod, why: str) -> None:
    """Tell a Pod once why it fits nowhere."""
    known = condition_of(pod, "PodScheduled")
    if known is not None and (known.reason, known.message) == ("Unschedulable", why):
        return
    changed = pod.deep_copy()
    moment = (await ctx.now()).replace(microsecond=0)
    made = PodCondition(
        type="PodScheduled", status="False", reason="Unschedulable", message=why, last_transition_time=moment
    )
    changed.status.conditions = [*(one for one in pod.status.conditions if one.type != "PodScheduled"), made]
    try:
        await ctx.patch_from(pod, changed, subresource="status")
    except NotFound:
        return
    await ctx.emit(pod, "FailedScheduling", why, type="Warning")
