"""CEL's view of a request's author: ``authorizer`` and ``authorizer.requestResource``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.auth.authorizer import Attributes as Asked
from attractor.apiserver.request.caller import User
from attractor.cel.authorizer import AUTHORIZER, REQUEST_RESOURCE, Authorizer, Question, ResourceCheck

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.auth.authorizer import Authorizer as Deciding
    from attractor.cel.authorizer import ServiceAccount


def asking(attributes: Attributes, deciding: Deciding) -> dict[str, Any]:
    """The values of both variables, for one request."""
    op, kind = attributes.op, attributes.kind

    def decide(account: ServiceAccount | None, question: Question) -> tuple[bool, str]:
        version = "*" if question.resource else ""
        asked = Asked(
            question.verb, question.group, version, question.resource, question.subresource, question.namespace,
            question.name, question.path,
        )  # fmt: skip
        decision = deciding.decide(_user(account) if account else op.user, asked, attributes.txn.snapshot)
        return decision.allowed, decision.reason

    authorizer = Authorizer(decide)
    namespace = attributes.name if (kind.gvk.group, kind.resource) == ("", "namespaces") else op.namespace
    question = Question("", kind.gvk.group, kind.resource, op.subresource, namespace, attributes.name)
    return {AUTHORIZER: authorizer, REQUEST_RESOURCE: ResourceCheck(authorizer, question)}


def _user(account: ServiceAccount) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{account.namespace}")
    return User(f"system:serviceaccount:{account.namespace}:{account.name}", groups=groups)
