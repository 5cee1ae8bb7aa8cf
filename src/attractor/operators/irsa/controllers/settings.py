"""Settings of the operator: the cluster, and the OIDC provider of its ServiceAccounts on AWS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.operators.irsa.controllers.names import is_arn
from attractor.runtime import BuilderError

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_PROVIDER = re.compile(r"arn:(?P<partition>aws[a-z-]*):iam::(?P<account>\d{12}):oidc-provider/(?P<issuer>\S+)")
RESYNC_S = 600.0


class SettingsError(BuilderError):
    """A setting is missing or makes no sense; the text names it."""


@dataclass(frozen=True)
class Settings:
    """The operator's settings; raises ``SettingsError``."""

    cluster: str
    """The cluster's name: part of every name on AWS, so that clusters can share an account."""
    oidc_provider_arn: str
    """The cluster's OIDC provider in IAM, ``arn:aws:iam::<account>:oidc-provider/<issuer>``."""
    permissions_boundary_arn: str = ""
    """A policy that limits every role; empty for none."""
    resync_s: float = RESYNC_S
    """How often AWS is compared with what it should be although nothing changed in the cluster; 0 for never."""

    def __post_init__(self) -> None:
        if not _CLUSTER.fullmatch(self.cluster):
            raise SettingsError(
                f"cluster name {self.cluster!r} cannot be part of a name on AWS; use up to 100 letters, digits, - and _"
            )
        if not _PROVIDER.fullmatch(self.oidc_provider_arn):
            raise SettingsError(
                f"{self.oidc_provider_arn!r} is no OIDC provider; give its ARN, as in "
                "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"
            )
        if self.permissions_boundary_arn and not is_arn(self.permissions_boundary_arn):
            raise SettingsError(f"the permissions boundary {self.permissions_boundary_arn!r} is no ARN of a policy")
        if self.resync_s < 0:
            raise SettingsError(f"resync_s is {self.resync_s}; use 0 for never, or a positive time")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """From variables ``IRSA_CLUSTER_NAME``, ``IRSA_OIDC_PROVIDER_ARN`` and the optional rest."""
        for name in ("IRSA_CLUSTER_NAME", "IRSA_OIDC_PROVIDER_ARN"):
            if not environment.get(name):
                raise SettingsError(f"{name} is not set; the IRSA operator needs it for every name on AWS")
        resync = environment.get("IRSA_RESYNC_S", str(RESYNC_S))
        try:
            resync_s = float(resync)
        except ValueError:
            raise SettingsError(f"IRSA_RESYNC_S is {resync!r}; give seconds, as in 600") from None
        return cls(
            environment["IRSA_CLUSTER_NAME"],
            environment["IRSA_OIDC_PROVIDER_ARN"],
            environment.get("IRSA_PERMISSIONS_BOUNDARY_ARN", ""),
            resync_s,
        )

    @property
    def partition(self) -> str:
        """``aws``, ``aws-cn`` or another."""
        return self._provider("partition")

    @property
    def account(self) -> str:
        """The AWS account's number."""
        return self._provider("account")

    @property
    def issuer(self) -> str:
        """The OIDC issuer without its scheme, as trust policies name it."""
        return self._provider("issuer")

    def _provider(self, part: str) -> str:
        found = _PROVIDER.fullmatch(self.oidc_provider_arn)
        assert found is not None, "checked when the settings were made"
        return found[part]
