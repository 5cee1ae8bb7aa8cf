"""IAM's JSON documents, in one canonical text for each meaning.

Two documents mean the same when their statements are the same multiset, and the actions and resources of each are:
order says nothing, and neither does ``"a"`` instead of ``["a"]``. Documents are compared and sent in canonical form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.operators.irsa.api import Statement
    from attractor.operators.irsa.controllers.settings import Settings

VERSION = "2012-10-17"
_LISTS = ("Action", "NotAction", "Resource", "NotResource")


def policy_document(statements: Iterable[Statement]) -> str:
    """Return the IAM policy document of these statements."""
    allowed = [{"Effect": "Allow", "Resource": one.resource, "Action": one.action} for one in statements]
    return canonical({"Version": VERSION, "Statement": allowed})


def trust_document(settings: Settings, namespace: str, service_account: str) -> str:
    """Return the trust document of a role: for this one ServiceAccount, with a token that was made for AWS."""
    issuer = settings.issuer
    subject = f"system:serviceaccount:{namespace}:{service_account}"
    allowed = {
        "Effect": "Allow",
        "Principal": {"Federated": settings.oidc_provider_arn},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {f"{issuer}:aud": "sts.amazonaws.com", f"{issuer}:sub": subject}},
    }
    return canonical({"Version": VERSION, "Statement": [allowed]})


def canonical(document: Any) -> str:
    """The canonical text of a document; a text that is no JSON object is left as it is."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            return str(document)
    if not isinstance(document, dict):
        return _text(document)
    statements = _listed(document.get("Statement", []))
    ordered = sorted((_statement(one) for one in statements), key=_text)
    return _text({**document, "Statement": ordered})


def _statement(statement: Any) -> Any:
    if not isinstance(statement, dict):
        return statement
    return {name: sorted(_listed(part), key=_text) if name in _LISTS else part for name, part in statement.items()}


def _listed(part: Any) -> list[Any]:
    return part if isinstance(part, list) else [part]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
