"""The core: ``handle(request, txn) -> Response``.

A request is understood (route, kind, options, body) into an ``Operation``, and the operation's verb is executed
against the transaction. Both halves are pure; ``handle`` turns every ``ApiError`` into its Status. To add a verb, add
a module under ``verbs`` and a line to ``_VERBS``; a subresource with a meaning of its own goes into ``_SUBRESOURCES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from attractor.apiserver.admission.chain import DEFAULT_CHAIN
from attractor.apiserver.admission.connect import admit_connection
from attractor.apiserver.admission.plugin import Chain
from attractor.apiserver.auth.reviews import is_review, review
from attractor.apiserver.auth.service_accounts.token_request import token_request
from attractor.apiserver.kinds.registry import find_kind
from attractor.apiserver.kinds.served_kind import Kind
from attractor.apiserver.request import bodies, options, routing
from attractor.apiserver.request.caller import DeleteOptions, ListOptions, User
from attractor.apiserver.request.operation import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    NO_DELETE_OPTIONS,
    NO_LIST_OPTIONS,
    NO_WRITE_OPTIONS,
    NOBODY,
    STRATEGIC_PATCH,
    Operation,
    PatchType,
    WriteOptions,
)
from attractor.apiserver.request.routing import Target, asks_watch
from attractor.apiserver.response import Response, refusal
from attractor.apiserver.verbs.binding import BINDING, bind
from attractor.apiserver.verbs.call import Call
from attractor.apiserver.verbs.connect import REACHING, why_not
from attractor.apiserver.verbs.create import create
from attractor.apiserver.verbs.delete import delete, delete_collection
from attractor.apiserver.verbs.eviction import evict
from attractor.apiserver.verbs.patch import patch
from attractor.apiserver.verbs.pod_log import pod_log
from attractor.apiserver.verbs.read import get, list_objects
from attractor.apiserver.verbs.scale import scale
from attractor.apiserver.verbs.update import update
from attractor.objects import names
from attractor.objects.errors import ApiError, BadRequest, MethodNotAllowed, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.apiserver.admission.plugin import Plugin
    from attractor.apiserver.auth.reviews import Reviewer
    from attractor.apiserver.request.operation import Verb
    from attractor.apiserver.transaction import Transaction

_VERBS: Final[dict[Verb, Callable[[Call], Response]]] = {
    "get": get,
    "list": list_objects,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
_SUBRESOURCES: Final[dict[str, Callable[[Call], Response]]] = {
    "binding": bind,
    "eviction": evict,
    "log": pod_log,
    "scale": scale,
    "token": token_request,
}
_NO_QUERY: Mapping[str, Sequence[str]] = {}
_ONLY_CREATE = frozenset({"create"})
_STATE_SUBRESOURCES = frozenset({"status", "scale", "finalize", "approval", "ephemeralcontainers", "resize"})
"""Subresources that read and write the object itself, or a part of it."""

_DEPRECATED: Final = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
"""Resources of the core group that nobody should use any more, and what callers are told."""

_NO_BODY: Final = bodies.Parsed(None, ())

_PATCH_TYPES: Final[dict[str, PatchType]] = {
    one: one for one in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
}
_WHAT: Final[dict[PatchType, str]] = {JSON_PATCH: "error decoding patch: ", MERGE_PATCH: "error decoding patch: "}
"""How a complaint about a patch's text begins."""


class Request:
    """One authenticated request: method, path, query, body and user."""

    __slots__ = ("body", "content_type", "method", "path", "query", "user", "user_agent")

    def __init__(
        self,
        method: str,
        path: str,
        query: Mapping[str, Sequence[str]] = _NO_QUERY,
        body: bytes = b"",
        content_type: str = "",
        user: User = NOBODY,
        user_agent: str = "",
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.content_type = content_type
        self.user = user
        self.user_agent = user_agent


class Core:
    """Carries out requests on transactions; ``chain`` is admission, ``reviewer`` answers access and token reviews."""

    def __init__(self, chain: Sequence[Plugin] = DEFAULT_CHAIN, reviewer: Reviewer | None = None) -> None:
        self.chain = Chain(chain)
        self.reviewer = reviewer

    def handle(self, request: Request, txn: Transaction) -> Response:
        """Answer a request; what is wrong with it is an answer too, and then nothing is written but what was kept."""
        try:
            op, kind = self.understand(request, txn)
            return self.execute_on(op, kind, txn)
        except ApiError as error:
            txn.refuse()
            return _warned(refusal(error), txn)

    def execute(self, op: Operation, txn: Transaction) -> Response:
        """Carry out an operation; raises ``ApiError``."""
        return self.execute_on(op, kind_for(op, txn), txn)

    def execute_on(self, op: Operation, kind: Kind, txn: Transaction) -> Response:
        """Carry out an operation on a kind that is already known."""
        if said := deprecations(op, kind):
            txn.warn(*said)
        call = Call(op, kind, txn, self.chain)
        if not kind.is_stored:
            if is_review(kind) and self.reviewer is not None:
                return review(call, self.reviewer)
            if kind.gvk == BINDING:
                return _warned(bind(call), txn)
        verb = _SUBRESOURCES.get(op.subresource) or _VERBS.get(op.verb)
        if verb is None:
            raise routing.method_not_allowed()
        response = verb(call)
        return _warned(response, txn) if txn.warnings else response

    def understand(self, request: Request, txn: Transaction) -> tuple[Operation, Kind]:
        """The operation that a request asks for, and its kind; raises ``ApiError``."""
        target = routing.parse_path(request.path)
        if target is None:
            raise routing.no_such_resource()
        kind = find_kind(txn, target.group, target.version, target.resource)
        if kind is None:
            raise routing.no_such_resource()
        query = request.query
        is_watch = bool(query) and asks_watch(query)
        if kind.is_custom:
            verb = routing.custom_verb_of(request.method, target, is_watch=is_watch)
            _check_custom(kind, target, verb)
            if verb == "create" and target.name:  # what is created says its name itself
                target = Target(target.group, target.version, target.resource, target.namespace, "", target.subresource)
        else:
            if target.subresource and target.subresource not in kind.subresources:
                raise routing.no_such_resource()
            is_there, is_named = bool(target.namespace), bool(target.name)
            verb = _builtin_verb(kind, request.method, is_there, is_named, target.subresource, is_watch)
            if target.subresource and target.subresource in REACHING:
                admit_connection(self.chain, kind, target, query, request.user, txn)
                raise why_not(kind, target, txn, next(iter(query.get("container", ())), ""))
        if target.name and (target.name[0] == "." or "%" in target.name):
            _check_name(target.name)
        op = _Reader(request, target, kind, verb).operation()
        return op, kind


def deprecations(op: Operation, kind: Kind) -> tuple[str, ...]:
    """The deprecation warnings of a resource, given whether or not the request succeeds."""
    if op.resource in _DEPRECATED and not op.group:
        return (_DEPRECATED[op.resource],)
    return (kind.deprecation,) if kind.deprecation else ()


def _check_name(name: str) -> None:
    """Refuse a name that could not stand in a path."""
    errors = names.path_segment(name)
    if errors:
        raise BadRequest(f'Name parameter invalid: "{name}": {";".join(errors)}')


def _warned(response: Response, txn: Transaction) -> Response:
    """The response with what was said on the way to it, in the order in which it was."""
    return Response(response.code, response.body, (*txn.warnings, *response.warnings))


def kind_for(op: Operation, txn: Transaction) -> Kind:
    """The kind that an operation is about; raises ``NotFound`` or ``MethodNotAllowed``."""
    kind = find_kind(txn, op.group, op.version, op.resource)
    if kind is None:
        raise routing.no_such_resource()
    target = routing.Target(op.group, op.version, op.resource, op.namespace, op.name, op.subresource)
    if kind.is_custom:
        _check_custom(kind, target, op.verb)
        return kind
    if op.subresource and op.subresource not in kind.subresources:
        raise routing.no_such_resource()
    _check_place(kind, target)
    _check_scope(kind, target, op.verb)
    if op.subresource in REACHING:
        raise why_not(kind, target, txn)
    return kind


@lru_cache(maxsize=1024)
def _builtin_verb(kind: Kind, method: str, is_there: bool, is_named: bool, subresource: str, is_watch: bool) -> Verb:
    """The verb that a method means, where a built-in kind has it; it depends on no name, so it is told once."""
    namespace, name = "namespace" if is_there else "", "name" if is_named else ""
    target = routing.Target(kind.gvk.group, kind.gvk.version, kind.resource, namespace, name, subresource)
    _check_place(kind, target)
    if subresource == "proxy" and method in {"HEAD", "OPTIONS"}:  # every method there is is proxied
        method = "GET"
    verb = routing.verb_of(method, target, is_watch=is_watch)
    _check_scope(kind, target, verb)
    return verb


def _check_custom(kind: Kind, target: Target, verb: Verb) -> None:
    """Refuse what a custom kind does not have at this place: as if the kind were not there, or by name."""
    if bool(target.namespace) != kind.namespaced and (target.namespace or verb not in {"list", "watch"}):
        raise routing.no_such_resource()
    if target.subresource and target.subresource not in kind.subresources:
        raise NotFound.of(kind.group_resource, target.name)
    if target.subresource and verb not in {"get", "update", "patch"}:
        raise MethodNotAllowed.of(kind.group_resource, verb)


def _check_place(kind: Kind, target: Target) -> None:
    """Refuse a path that the kind does not have, whatever the method."""
    if target.namespace and not kind.namespaced:
        raise routing.no_such_resource()
    if kind.namespaced and not target.namespace and (target.name or kind.verbs == _ONLY_CREATE):
        raise routing.no_such_resource()
    if target.name and not target.subresource and kind.verbs == _ONLY_CREATE:
        raise routing.no_such_resource()


def _check_scope(kind: Kind, target: Target, verb: Verb) -> None:
    """Refuse a verb that the kind does not have at this place."""
    if kind.namespaced and not target.namespace and verb not in {"list", "watch"}:
        raise routing.method_not_allowed()
    if not target.subresource and verb not in kind.verbs:
        raise routing.method_not_allowed()
    if target.subresource in _STATE_SUBRESOURCES and verb not in {"get", "update", "patch"}:
        raise routing.method_not_allowed()
    if target.subresource == "finalize" and verb != "update":
        raise routing.method_not_allowed()


class _Reader:
    """Reads an ``Operation`` from a request: the options and the body that its verb has."""

    __slots__ = ("kind", "request", "target", "verb")

    def __init__(self, request: Request, target: Target, kind: Kind, verb: Verb) -> None:
        self.request = request
        self.target = target
        self.kind = kind
        self.verb: Verb = verb

    def operation(self) -> Operation:
        """The whole operation."""
        query = self.request.query
        match self.verb:
            case "get":
                if self.target.subresource != "log":
                    version = query.get("resourceVersion")
                    seen = ListOptions(resource_version=version[0]) if version else NO_LIST_OPTIONS
                    return self._with(_NO_BODY, list_=seen)
                asked = {name: values[0] for name, values in query.items() if values}
                return self._with(bodies.Parsed(asked, ()))
            case "create" | "update":
                if not query:
                    return self._with(self._object())
                name = "CreateOptions" if self.verb == "create" else "UpdateOptions"
                write = options.write_options(query, name)  # before the body is looked at
                return self._with(self._object(), write=write)
            case "patch":
                return self._patch()
            case "delete":
                return self._with(_NO_BODY, delete=self._delete_options())
            case "deletecollection":
                listed = options.list_options(query, is_watch=False)
                return self._with(_NO_BODY, delete=self._delete_options(), list_=listed)
            case "list" | "watch":
                listed = options.list_options(query, is_watch=self.verb == "watch")
                return self._with(_NO_BODY, list_=listed)

    def _object(self) -> bodies.Parsed:
        must_say_kind = self.kind.is_custom and self.target.subresource != "scale"
        request, kind = self.request, self.kind.gvk.kind
        return bodies.parse_object(request.body, request.content_type, kind, must_say_kind=must_say_kind)

    def _patch(self) -> Operation:
        said = self.request.content_type
        patch_type = _PATCH_TYPES.get(said) or _PATCH_TYPES.get(said.split(";", 1)[0].strip())
        if patch_type is None or (patch_type == STRATEGIC_PATCH and self.kind.is_custom):
            accepted = [one for one in _PATCH_TYPES if one != STRATEGIC_PATCH]
            raise bodies.unsupported(accepted) if self.kind.is_custom else bodies.unroutable()
        write = options.write_options(self.request.query, "PatchOptions", is_apply=patch_type == APPLY_PATCH)
        body = self.request.body
        parsed = (
            bodies.parse_apply(body)
            if patch_type == APPLY_PATCH
            else bodies.parse_json(body, _WHAT.get(patch_type, ""))
        )
        return self._with(parsed, write=write, patch_type=patch_type)

    def _delete_options(self) -> DeleteOptions:
        body = self.request.body
        parsed = bodies.parse_delete_options(body, self.request.content_type) if body else None
        return options.delete_options(self.request.query, parsed)

    def _with(
        self,
        parsed: bodies.Parsed,
        *,
        write: WriteOptions = NO_WRITE_OPTIONS,
        delete: DeleteOptions = NO_DELETE_OPTIONS,
        list_: ListOptions = NO_LIST_OPTIONS,
        patch_type: PatchType = MERGE_PATCH,
    ) -> Operation:
        request, target = self.request, self.target
        return Operation(
            self.verb,
            target.group,
            target.version,
            target.resource,
            target.namespace,
            target.name,
            target.subresource,
            parsed.value,
            parsed.duplicates,
            patch_type,
            write,
            delete,
            list_,
            request.user,
            request.user_agent,
        )
