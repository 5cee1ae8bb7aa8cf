"""An IAM that has bad days, and what must hold of IAM when they are over."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any, Self

from attractor.objects.gvk import Key
from attractor.operators.irsa.controllers.documents import policy_document
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.drivers.iam import Iam, Unavailable
from attractor.operators.irsa.proofs.model import ModelIam
from tests.operators.irsa.things import READ, SETTINGS


class FaultyIam:
    """Each method fails once for each name with probability one half, before or after it took effect."""

    def __init__(self, inner: Any, seed: str) -> None:
        self._inner = inner
        self._seed = seed
        self._met: set[tuple[str, str]] = set()
        self._stack = AsyncExitStack()
        self.struck = 0

    async def __aenter__(self) -> Self:
        if hasattr(self._inner, "__aenter__"):
            await self._stack.enter_async_context(self._inner)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        async def call(*arguments: str) -> Any:
            about = (method, arguments[0].rpartition("/")[2])
            fate = zlib.crc32(f"{self._seed} {about}".encode()) % 4
            is_struck = fate < 2 and about not in self._met
            self._met.add(about)
            if not is_struck:
                return await getattr(self._inner, method)(*arguments)
            self.struck += 1
            if fate:
                await getattr(self._inner, method)(*arguments)
            raise Unavailable("ServiceFailure", "injected " + ("after" if fate else "before"))

        return call


async def assert_as_desired(iam: Iam, keys: Iterable[Key]) -> None:
    """One policy each with the right statement, one role each with exactly that policy."""
    for key in keys:
        names = aws_names(SETTINGS, key)
        policy = await iam.get_policy(names.policy_arn)
        assert policy is not None, key
        document = await iam.get_policy_version(names.policy_arn, policy.default_version_id)
        assert document == policy_document([READ]), key
        role = await iam.get_role(names.name)
        assert role is not None, key
        assert role.arn == names.role_arn, key
        assert await iam.list_attached_role_policies(names.name) == (names.policy_arn,), key


def names_in(iam: ModelIam) -> tuple[list[str], list[str]]:
    """ARNs of policies and names of roles."""
    return [arn for arn, _ in iam.state.policies], [name for name, _ in iam.state.roles]
