"""The admission that every write passes through, in order.

Mutating webhooks come before everything that only checks. What is refused without asking anybody outside is refused
before validating webhooks are asked, so that a webhook hears only of writes that are otherwise in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import NamespaceLifecycle
from attractor.apiserver.admission.policies.mutating import MutatingAdmissionPolicies
from attractor.apiserver.admission.policies.plugin import ValidatingAdmissionPolicies
from attractor.apiserver.admission.webhooks.plugins import MutatingWebhooks, ValidatingWebhooks
from attractor.apiserver.auth.rbac import RbacAuthorizer
from attractor.apiserver.kinds.certificate_requests import CertificateRequests

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from attractor.apiserver.admission.plugin import Plugin
    from attractor.apiserver.auth.authorizer import Authorizer

ROLES = RbacAuthorizer()


CHAIN_NAMES = (
    "NamespaceLifecycle",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
)
"""The plug-ins of every chain, by the names that kube-apiserver gives them."""


def chain_with(
    plugins: Sequence[Plugin], authorizer: Authorizer = ROLES, *, without: Collection[str] = ()
) -> tuple[Plugin, ...]:
    """The chain with more plug-ins where Kubernetes has its own: before the webhooks, which see what these made.

    Those that run last come after the webhooks: they count what will be stored. ``authorizer`` answers what conditions
    and policies ask about the author of a request. ``without`` leaves out some of ``CHAIN_NAMES``.
    """
    before = {"NamespaceLifecycle": NamespaceLifecycle()}
    after: dict[str, Plugin] = {
        "MutatingAdmissionPolicy": MutatingAdmissionPolicies(authorizer),
        "MutatingAdmissionWebhook": MutatingWebhooks(authorizer),
        "": CertificateRequests(),
        "ValidatingAdmissionPolicy": ValidatingAdmissionPolicies(authorizer),
        "ValidatingAdmissionWebhook": ValidatingWebhooks(authorizer),
    }
    return (
        *(plugin for name, plugin in before.items() if name not in without),
        *(one for one in plugins if not one.runs_last),
        *(plugin for name, plugin in after.items() if name not in without),
        *(one for one in plugins if one.runs_last),
    )


DEFAULT_CHAIN: tuple[Plugin, ...] = chain_with(())
