"""Plans: what a controller is about to do, as a graph that can be transformed, shown, and carried out.

    snapshot = await take_snapshot(ctx, cluster, KINDS)
    graph = ObjectGraph(cluster)
    for obj in wanted(cluster):
        graph.want(obj)
    plan = Plan.build(graph, Chain([Own(), Freeze(), Compare(snapshot), RemoveOrphans(snapshot), SecretsFirst()]))
    return await plan.execute(ctx)

Guarantees: what an object depends on is written before it; a cycle is refused before anything is written; what is no
longer wanted is deleted; a plan made from a stale cache harms no object that it did not mean; executing again does
nothing more.

Read ``dag`` first, then ``object_graph``, ``chain``, ``standard`` and ``plan``; ``snapshot`` and ``revisions`` for what
was; ``comparison`` for what counts as a difference; ``difference``, ``report`` and ``pictures`` for people.
"""

from attractor.plan.chain import Chain, Requeue, Stop, Transformed, Transformer
from attractor.plan.dag import Dag, DagError
from attractor.plan.object_graph import Action, ObjectGraph, Ref, Vertex
from attractor.plan.plan import NameTaken, Outcome, Plan, Step
from attractor.plan.report import report
from attractor.plan.revisions import History, UnknownRevision
from attractor.plan.snapshot import Snapshot, take_snapshot
from attractor.plan.standard import (
    Compare,
    DeleteInOrder,
    DoNotTerminate,
    Freeze,
    Own,
    Refused,
    RemoveOrphans,
    SecretsFirst,
    Validate,
)

__all__ = [
    "Action",
    "Chain",
    "Compare",
    "Dag",
    "DagError",
    "DeleteInOrder",
    "DoNotTerminate",
    "Freeze",
    "History",
    "NameTaken",
    "ObjectGraph",
    "Outcome",
    "Own",
    "Plan",
    "Ref",
    "Refused",
    "RemoveOrphans",
    "Requeue",
    "SecretsFirst",
    "Snapshot",
    "Step",
    "Stop",
    "Transformed",
    "Transformer",
    "UnknownRevision",
    "Validate",
    "Vertex",
    "report",
    "take_snapshot",
]
