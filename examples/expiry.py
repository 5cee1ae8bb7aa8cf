"""Objects that end themselves: a Token is deleted when its time is over.

Shows: the time, ``requeue_after_s``, deletion of this very object, predicates, terminal errors.
"""

from datetime import timedelta

from attractor import Context, For, Key, Permission, Resource, Result, Struct, TerminalError, controller
from attractor.toolkit import generation_changed


class TokenSpec(Struct):
    """How long it lives."""

    ttl_s: int = 60


class Token(Resource, group="examples.attractor.dev", version="v1"):
    """Something that expires."""

    spec: TokenSpec


@controller(for_=For(Token, when=generation_changed), permissions=[Permission(Token, ("delete",))])
async def expiry(ctx: Context, key: Key) -> Result | None:
    """Delete the token once it is old enough; come back then, not before."""
    token = await ctx.find(Token, key)
    if token is None or token.metadata.is_deleting:
        return None
    if token.spec.ttl_s < 0:
        raise TerminalError(f"token {key} would have ended before it began; set spec.ttlS to 0 or more")
    created = token.metadata.creation_timestamp
    assert created is not None, "stored objects have a creation time"
    left = created + timedelta(seconds=token.spec.ttl_s) - await ctx.now()
    if left > timedelta(0):
        return Result(requeue_after_s=left.total_seconds())
    await ctx.delete(token)
    return None
