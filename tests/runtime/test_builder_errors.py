"""A declaration that cannot work is refused when it is made, and the error names the fix."""

from typing import Any, Protocol

import pytest

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import Resource
from attractor.runtime import BuilderError, Context, For, Index, Manager, Permission, Result, Watches, controller
from attractor.testing import ClusterUnderTest
from tests.runtime.things import Thing


async def reconcile(ctx: Context, key: Key) -> Result | None:
    return None


class Outside(Protocol):
    async def call(self) -> None: ...


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "does not say what it reconciles; declare it with `for_=`"),
        ({"for_": Thing, "name": "My Pairs"}, "no DNS label: use lower-case letters"),
        ({"for_": Resource}, "needs the class of a kind, a subclass of Resource with a version"),
        ({"for_": "Thing"}, "needs the class of a kind"),
        ({"for_": Thing, "workers": 0}, "would never run; use 1 or more"),
        ({"for_": Thing, "workers": "3"}, "has '3' workers, so it would never run"),
        ({"for_": Thing, "background_limit": 0}, "has 0 places for background work, so it would never run"),
        ({"for_": Thing, "timeout_s": 0}, "use a positive one, or math.inf for none"),
        ({"for_": Thing, "timeout_s": "1s"}, "has a timeout of '1s'; give a number of seconds"),
        ({"for_": Thing, "worker": 3}, "has no option 'worker'; did you mean `workers=`"),
        ({"for_": Thing, "colour": 3}, "has no option 'colour'; there are: background_limit, "),
        ({"for_": Thing, "owns": ConfigMap}, r"`owns` takes a list, as in owns=\[ConfigMap\]"),
        ({"for_": Thing, "externals": Outside}, r"`externals` takes a list, as in externals=\[Dns\]"),
        ({"for_": Thing, "watches": [ConfigMap]}, "says nothing of how it is watched or indexed"),
        ({"for_": Thing, "sources": [[Key("a", "b")]]}, "cannot be read with `async for`; give a Channel"),
        ({"for_": For(Thing, when=True)}, "`when` takes a Predicate, such as generation_changed, not True"),  # type: ignore[arg-type]
        ({"for_": Thing, "permissions": [ConfigMap]}, r"is no permission; write permissions=\[Permission\(Secret\)\]"),
        ({"for_": Thing, "permissions": [Permission(ConfigMap, "get")]}, "the verbs of a permission are a list"),  # type: ignore[arg-type]
        ({"for_": Thing, "externals": ["dns"]}, "takes the class that says what an outside system can do"),
        ({"for_": Thing, "owns": [ConfigMap, ConfigMap]}, "owns ConfigMap twice; declare it once"),
        ({"for_": Thing, "watches": [Watches(ConfigMap)]}, "needs either `to_keys`, a function from an object"),
        ({"for_": Thing, "watches": [Watches(ConfigMap, index="uses")]}, r"declare it with indexes=\[Index\(Thing"),
        (
            {
                "for_": Thing,
                "watches": [Watches(ConfigMap, index="x")],
                "indexes": [Index(ConfigMap, "x", lambda _: [])],
            },
            "names no index of Thing",
        ),
    ],
)
def test_a_mistake_is_named_with_its_fix(options: dict[str, Any], text: str) -> None:
    with pytest.raises(BuilderError, match=text):
        controller(reconcile, **options)


def test_a_function_that_is_not_async_or_takes_other_arguments_is_refused() -> None:
    wrong: Any = lambda ctx, key: None  # noqa: E731
    with pytest.raises(BuilderError, match="not `async`"):
        controller(wrong, name="x", for_=Thing)

    async def other(ctx: Context) -> None:
        return None

    with pytest.raises(BuilderError, match="must take a context and a key"):
        controller(other, for_=Thing)  # type: ignore[arg-type]


async def test_a_manager_refuses_none_two_of_a_name_and_missing_outside_systems(cluster: ClusterUnderTest) -> None:
    client = cluster.controller_client()
    with pytest.raises(BuilderError, match="has no controllers; give it at least one"):
        Manager(client, [])
    first = controller(reconcile, for_=Thing)
    with pytest.raises(BuilderError, match="two controllers are called 'reconcile'; give one of them another name"):
        Manager(client, [first, controller(reconcile, for_=ConfigMap)])
    with pytest.raises(BuilderError, match="needs the outside system Outside; give the manager externals"):
        Manager(client, [controller(reconcile, for_=Thing, externals=[Outside])])
