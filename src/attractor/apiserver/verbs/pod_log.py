"""``pods/log``: what a container printed.

No kubelet runs here, so a log is what somebody says it is. The core knows one place: the pod's annotation
``logs.attractor.dev/CONTAINER``. A driver that runs containers for real may know better and streams; it gets the
answer of the core as ``LogBody``, with everything that the caller asked for already checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.request.options import int64_of
from attractor.apiserver.request.routing import method_not_allowed
from attractor.apiserver.response import LogBody, LogOptions, Response
from attractor.apiserver.verbs.connect import chosen_container, unreachable_node
from attractor.objects.errors import Invalid
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.verbs.call import Call
    from attractor.objects.errors import ApiError
    from attractor.objects.json_types import JsonObject

ANNOTATION = "logs.attractor.dev/"


def pod_log(call: Call) -> Response:
    """The log of a pod's container."""
    if call.op.verb != "get":
        raise method_not_allowed()
    asked: Mapping[str, Any] = call.op.body if isinstance(call.op.body, dict) else {}
    options = _options(asked, call.op.name)
    pod = call.kind.decode(call.existing().value)
    container = chosen_container(pod, asked.get("container") or "")
    said = (pod["metadata"].get("annotations") or {}).get(f"{ANNOTATION}{container}")
    if said is None:
        code = 200 if pod["spec"].get("nodeName") else 204
        return Response(code, LogBody(pod, container, options, b"", _unreachable(call, pod)))
    return Response(200, LogBody(pod, container, options, cut(said.encode(), options)))


def _unreachable(call: Call, pod: JsonObject) -> ApiError | None:
    """Why nobody can say what a pod printed: its node is not known, or has no address."""
    name = pod["spec"].get("nodeName")
    return unreachable_node(call.kind, name, call.txn) if name else None


def cut(text: bytes, options: LogOptions) -> bytes:
    """The part of a log that was asked for: its last lines, then at most so many bytes of them.

    >>> cut(b"one\\ntwo\\nthree\\n", LogOptions(tail_lines=2))
    b'two\\nthree\\n'
    >>> cut(b"one\\ntwo\\n", LogOptions(limit_bytes=5))
    b'one\\nt'
    """
    if options.tail_lines is not None:
        lines = text.splitlines(keepends=True)
        text = b"".join(lines[len(lines) - options.tail_lines :]) if options.tail_lines < len(lines) else text
    return text if options.limit_bytes is None else text[: options.limit_bytes]


def _options(asked: Mapping[str, Any], pod: str) -> LogOptions:
    numbers = {name: _number(asked, name) for name in ("tailLines", "limitBytes", "sinceSeconds")}
    errors = []
    if (tail := numbers["tailLines"]) is not None and tail < 0:
        errors.append(FieldError.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if (limit := numbers["limitBytes"]) is not None and limit < 1:
        errors.append(FieldError.invalid("limitBytes", limit, "must be greater than 0"))
    since = numbers["sinceSeconds"]
    if since is not None and asked.get("sinceTime"):
        errors.append(FieldError.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif since is not None and since < 1:
        errors.append(FieldError.invalid("sinceSeconds", since, "must be greater than 0"))
    if errors:
        raise Invalid.of(GroupKind("", "PodLogOptions"), pod, errors)
    return LogOptions(
        follow=_flag(asked, "follow"),
        previous=_flag(asked, "previous"),
        timestamps=_flag(asked, "timestamps"),
        tail_lines=tail,
        limit_bytes=limit,
        since_s=since,
    )


def _flag(asked: Mapping[str, Any], name: str) -> bool:
    return name in asked and str(asked[name]).lower() not in {"false", "0"}


def _number(asked: Mapping[str, Any], name: str) -> int | None:
    text = str(asked.get(name) or "")
    return int64_of(text) if text else None
