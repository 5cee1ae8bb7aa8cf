"""The admission that every write passes through, in order.

Mutating webhooks come before everything that only checks. What is refused without asking anybody outside is refused
before validating webhooks are asked, so that a webhook hears only of writes that are otherwise in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission import NamespaceLifecycle
from attractor.apiserver.certificaterequests import CertificateRequests
from attractor.apiserver.policies.plugin import ValidatingAdmissionPolicies
from attractor.apiserver.rbac import RbacAuthorizer
from attractor.apiserver.webhooks.plugins import MutatingWebhooks, ValidatingWebhooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.admission import Plugin
    from attractor.apiserver.authorization import Authorizer

ROLES = RbacAuthorizer()


def chain_with(plugins: Sequence[Plugin], authorizer: Authorizer = ROLES) -> tuple[Plugin, ...]:
    """The chain with more plug-ins where Kubernetes has its own: before the webhooks, which see what these made.

    Those that run last come after the webhooks: they count what will be stored. ``authorizer`` answers what conditions
    and policies ask about the author of a request.
    """
    first, *others = (
        NamespaceLifecycle(),
        MutatingWebhooks(authorizer),
        CertificateRequests(),
        ValidatingAdmissionPolicies(authorizer),
        ValidatingWebhooks(authorizer),
    )
    last = [one for one in plugins if one.runs_last]
    return (first, *(one for one in plugins if not one.runs_last), *others, *last)


DEFAULT_CHAIN: tuple[Plugin, ...] = chain_with(())
