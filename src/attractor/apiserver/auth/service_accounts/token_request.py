"""``serviceaccounts/token``: a token for a service account, limited in time, audience and, if asked, to an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.auth.service_accounts.claims import API_AUDIENCES, Bound, claims_for
from attractor.apiserver.auth.service_accounts.token_keys import STORE_KEY, token_key
from attractor.apiserver.request.routing import method_not_allowed, no_such_resource
from attractor.apiserver.response import JsonBody, Response
from attractor.apiserver.verbs.subresource_bodies import admit, read_body
from attractor.objects.errors import BadRequest, Conflict, Invalid, NotFound
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupResource, GroupVersionKind
from attractor.objects.timestamps import format_time, parse_time

if TYPE_CHECKING:
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject

TOKEN_REQUEST = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
DEFAULT_LIFETIME_S = 3600
MIN_LIFETIME_S = 600
MAX_LIFETIME_S = 1 << 32
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def token_request(call: Call) -> Response:
    """Issue a token for the named service account."""
    if call.op.verb != "create":
        raise method_not_allowed()
    _check_name(call)
    request, warnings = read_body(call, TOKEN_REQUEST)
    account = call.kind.decode(call.existing().value)
    request["spec"] = _defaulted(request["spec"])
    admit(call, request)
    spec = _defaulted(request["spec"])
    _check_lifetime(spec["expirationSeconds"])
    key = call.txn.get(STORE_KEY)
    if key is None:
        raise no_such_resource()  # a server without a signing key does not issue tokens
    now_s = parse_time(call.txn.now).seconds
    claims = claims_for(
        account,
        _bound(call, account, spec["boundObjectRef"]),
        spec["audiences"],
        now_s=now_s,
        lifetime_s=spec["expirationSeconds"],
        token_id=call.txn.source.uid(),
    )
    metadata = account["metadata"]
    answer: JsonObject = {
        "kind": TOKEN_REQUEST.kind,
        "apiVersion": TOKEN_REQUEST.api_version,
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "creationTimestamp": call.txn.now},
        "spec": spec,
        "status": {
            "token": token_key(key.value).sign(claims),
            "expirationTimestamp": format_time(claims["exp"]),
        },
    }
    return Response(201, JsonBody(answer), tuple(warnings))


def _check_name(call: Call) -> None:
    """A request that says whom the token is for must mean the account in the path."""
    body: Any = call.op.body
    metadata = body.get("metadata") if isinstance(body, dict) and body.get("kind") == TOKEN_REQUEST.kind else None
    said = metadata.get("name") if isinstance(metadata, dict) else None
    if said and said != call.op.name:
        error = FieldError.invalid("metadata.name", said, "must match the service account name if specified")
        raise Invalid.of(TOKEN_REQUEST.group_kind, call.op.name, [error])


def _defaulted(spec: JsonObject) -> JsonObject:
    """What is asked for, with what was left out filled in."""
    lifetime_s = spec.get("expirationSeconds")
    return {
        "audiences": spec.get("audiences") or list(API_AUDIENCES),
        "expirationSeconds": DEFAULT_LIFETIME_S if lifetime_s is None else lifetime_s,
        "boundObjectRef": spec.get("boundObjectRef"),
    }


def _check_lifetime(lifetime_s: int) -> None:
    at, why = "spec.expirationSeconds", ""
    if lifetime_s < MIN_LIFETIME_S:
        why = "may not specify a duration less than 10 minutes"
    if lifetime_s > MAX_LIFETIME_S:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        raise Invalid.of(TOKEN_REQUEST.group_kind, "", [FieldError.invalid(at, lifetime_s, why)])


def _bound(call: Call, account: JsonObject, ref: JsonObject | None) -> Bound | None:
    """The object that the token is to be bound to, if it is there and the reference means it."""
    if ref is None:
        return None
    owner = account["metadata"]["name"]
    kind, name, uid = ref.get("kind") or "", ref.get("name") or "", ref.get("uid") or ""
    resource = _BINDABLE.get(kind)
    if resource is None or (ref.get("apiVersion") or "v1") != "v1":
        version = ref.get("apiVersion") or ""
        shown = version if "/" in version else f"/{version}"
        raise BadRequest(f"cannot bind token to object of type {shown}, Kind={kind}")
    namespace = "" if kind == "Node" else f"{account['metadata']['namespace']}/"
    entry = call.txn.get(f"core/{resource}/{namespace}{name}")
    if entry is None:
        raise NotFound.of(GroupResource("", resource), name)
    obj = orjson.loads(entry.value)
    found = obj["metadata"]["uid"]
    if uid and uid != found:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise Conflict.of(GroupResource("", kind), name, why)
    if kind == "Pod" and (obj["spec"].get("serviceAccountName") or "default") != owner:
        said = obj["spec"].get("serviceAccountName") or "default"
        raise BadRequest(
            f'cannot bind token for serviceaccount "{owner}" to pod running with different serviceaccount name "{said}"'
        )
    return Bound(kind.lower(), name, found)
