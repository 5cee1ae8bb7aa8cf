"""Owners among the objects that a world begins with: their uids are not known when the author writes them down.

objects=[app, owned_by(app, ConfigMap(metadata=ObjectMeta(name="app-1", namespace="default")))]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from attractor.check.errors import SpecError
from attractor.check.world.api.users import described
from attractor.objects.gvk import Key
from attractor.objects.resource import OwnerReference

if TYPE_CHECKING:
    from attractor.objects.resource import Resource

R = TypeVar("R", bound="Resource")


def owned_by(owner: Resource, child: R, *, controller: bool = True) -> R:
    """A copy of an initial object with an owner reference to another initial object.

    Args:
        owner: The owner; it comes before the child in ``World(objects=...)``.
        child: The object that is owned.
        controller: Whether the owner is the controlling one.
    """
    made = child.deep_copy()
    reference = OwnerReference(
        api_version=owner.gvk.api_version,
        kind=owner.gvk.kind,
        name=owner.metadata.name,
        uid="",
        controller=controller or None,
        block_owner_deletion=controller or None,
    )
    made.metadata.owner_references = [*made.metadata.owner_references, reference]
    return made


class InitialOwners:
    """The uids of the initial objects, for references to them: an author cannot know what they will be."""

    def __init__(self) -> None:
        self._uids: dict[tuple[str, str, Key], str] = {}

    def made(self, obj: Resource, uid: str) -> None:
        """An initial object has got its uid."""
        self._uids[obj.gvk.api_version, obj.gvk.kind, obj.key] = uid

    def completed(self, obj: Resource) -> Resource:
        """An object whose owner references without a uid have that of the initial object that they name."""
        if all(each.uid for each in obj.metadata.owner_references):
            return obj
        made = obj.deep_copy()
        for each in made.metadata.owner_references:
            each.uid = each.uid or self._uid(obj, each.api_version, each.kind, each.name)
        return made

    def _uid(self, obj: Resource, version: str, kind: str, name: str) -> str:
        for namespace in (obj.key.namespace, ""):
            found = self._uids.get((version, kind, Key(namespace, name)))
            if found is not None:
                return found
        raise SpecError(
            f"{described(type(obj), obj.key)} is owned by {kind} {name}, which is not among the objects before it; "
            "put the owner first in `objects=`, or give the reference a uid"
        )
