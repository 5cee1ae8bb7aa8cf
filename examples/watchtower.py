"""See little and tell much: a manager that keeps only what it needs, and traces what it does.

Shows: scopes by namespace, label and field, a transform, resync, spans, structured logs, several workers.
"""

from attractor import Client, Context, Key, Manager, Result, Scope, Tracer, Watches, controller, drop_managed_fields
from attractor.k8s import Pod, Secret
from attractor.toolkit import labels_changed, resource_version_changed


def users(pod: Pod) -> list[Key]:
    """The Secrets that a Pod mounts."""
    named = [volume.secret.secret_name for volume in pod.spec.volumes or [] if volume.secret is not None]
    return [Key(pod.metadata.namespace, name) for name in named if name]


@controller(
    for_=Secret,
    watches=[Watches(Pod, users, when=resource_version_changed | labels_changed)],
    workers=4,
    timeout_s=10,
)
async def watchtower(ctx: Context, key: Key) -> Result | None:
    """Warn of Secrets that run out of date while somebody uses them."""
    secret = await ctx.find(Secret, key)
    if secret is None or "expired" not in secret.metadata.labels:
        return None
    pods = [one.metadata.name for one in await ctx.list(Pod, namespace=key.namespace) if key in users(one)]
    ctx.log.warning("an expired secret is in use", secret=str(key), pods=len(pods))
    await ctx.emit(secret, "Expired", f"in use by {', '.join(pods) or 'nobody'}", type="Warning")
    return None


def manager(client: Client, tracer: Tracer | None = None) -> Manager:
    """The watchtower: Secrets that are watched over, Pods of one namespace, and nothing of who set which field."""
    return Manager(
        client,
        [watchtower],
        scopes={
            Secret: Scope(label_selector="watched=yes"),
            Pod: Scope("default", field_selector="status.phase!=Succeeded"),
        },
        transform=drop_managed_fields,
        resync_s=3600,
        tracer=tracer,
    )
