"""The words of a story: labels of messages and titles of steps, from the events inside a step."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from attractor.check.events import Closed, Delivered, Ended, Operated, Performed, Recorded, Requested, Started
from attractor.objects.errors import ApiError
from attractor.objects.resource import Resource
from attractor.runtime import effects
from attractor.runtime.effects import described
from attractor.runtime.worker.outcome import is_panic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from attractor.check.events import StepEvent
    from attractor.client.transport import ClientRequest, ClientResponse
    from attractor.objects.json_types import JsonObject
    from attractor.runtime.effects import Effect

MOST_SHOWN = 60
"""How many letters of a value are told."""
_OWN_MEMORY = (effects.Recall, effects.Remember, effects.Forget)
_PREFIX = re.compile(r"/apis?/(?:[^/ ]+/)?v\d\w*/")


def request_label(request: ClientRequest) -> str:
    """A request in few words: ``POST configmaps/a-1``."""
    path = request.path.split("/namespaces/", 1)[-1]
    return f"{request.method} {_PREFIX.sub('', path)}"


def response_label(response: ClientResponse) -> str:
    """An answer in few words: ``409 AlreadyExists``."""
    if response.code < 400:
        return str(response.code)
    reason = orjson.loads(response.body).get("reason", "")
    return f"{response.code} {reason}".strip()


def request_json(request: ClientRequest) -> JsonObject:
    """A request as JSON."""
    body: Any = None
    if request.body:
        body = orjson.loads(request.body)
    return {
        "method": request.method,
        "path": request.path,
        "query": [list(pair) for pair in request.query],
        "contentType": request.content_type,
        "body": body,
    }


def response_json(response: ClientResponse) -> JsonObject:
    """An answer as JSON."""
    return {"code": response.code, "body": orjson.loads(response.body) if response.body else None}


def as_json(value: Any) -> Any:
    """A value of a reconcile as JSON, objects as they are written, other things by their text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Resource):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {str(name): as_json(each) for name, each in value.items()}
    return repr(value)


def title(
    action: str,
    arguments: Mapping[str, Any],
    events: Sequence[StepEvent],
    *,
    work: str = "",
    age: Callable[[Any], str] = lambda _: "",
) -> str:
    """A step in one line; ``work`` is the background work that it belongs to, ``age`` says how old a read object is."""
    host = arguments.get("host")
    match action:
        case "list":
            return f"list {arguments['kind']}"
        case "crash":
            return f"{host} crashes and starts again"
        case "crash while sending":
            return f"{host} crashes while it sends, and starts again"
        case "stop":
            return f"{host} is told to stop, and begins nothing new"
        case "stopped":
            return f"{host} ends in good order and starts again"
        case "leadership lost":
            return f"{host} notices that it no longer leads, and stands by"
        case "new leader":
            return f"{host} becomes leader"
        case "timer":
            return f"the timer of {arguments['key']} fires"
        case "create" | "edit" | "delete":
            return f"{action} " + ", ".join(str(each) for each in arguments.values())
        case "outside":
            return f"{arguments['external']}: {arguments['event'].replace('_', ' ')}"
    parts = [text for event in events if (text := _told(event, age))]
    if action not in {"start", "go on", "deliver", "collect garbage"}:
        parts.insert(0, f"{action} {work}".rstrip() if action == "background" else action)
    return "; ".join(parts or filter(None, map(_recalled, events))) or action


def _raised(error: BaseException) -> str:
    """An exception: one that is a mistake in the program with its text, one that the world answered by its name."""
    text = str(error).partition("\n")[0] if is_panic(error) else ""
    return f"raises {type(error).__name__}" + (f": {text}" if text else "")


def _recalled(event: StepEvent) -> str:
    """The use of a reconcile's memory; told where a step is nothing else, for then somebody else can notice it."""
    if isinstance(event, Performed) and isinstance(event.effect, _OWN_MEMORY):
        is_empty = isinstance(event.effect, effects.Recall) and event.answer.value is None
        return f"{type(event.effect).__name__.lower()} {event.effect.slot} -> {'nothing' if is_empty else 'ok'}"
    return ""


def _told(event: StepEvent, age: Callable[[Any], str]) -> str:
    match event:
        case Performed(effect=effect, answer=answer):
            if isinstance(effect, _OWN_MEMORY):
                return ""
            then = age(answer.value) if isinstance(effect, effects.Get) else ""
            return f"{described(effect)} -> {then}{_answered(effect, answer.value, answer.error)}"
        case Started(key=key):
            return f"start {key}"
        case Ended(error=error, follows=follows):
            again = {"done": "", "later": ", again later", "backoff": ", again after a while"}[follows.what]
            return (_raised(error) if error else "ends") + again
        case Delivered(_, kind, told):
            return f"{told.type} {kind.lower()} {told.key}"
        case Operated():
            return f"{event.actor}: {event.verb} {event.resource} {event.namespace}/{event.name} -> {event.code}"
        case Closed(host, kind):
            return f"watch of {host}/{kind} closed"
        case Requested(sender="rival", request=request) if request.method != "GET":
            return request_label(request)
        case Recorded(reason=reason):
            return f"event {reason}"
    return ""


def _answered(effect: Effect[Any], value: Any, error: BaseException | None) -> str:
    if isinstance(error, ApiError):
        return f"{error.code} {type(error).__name__}"
    if error is not None:
        return type(error).__name__
    if value is None:
        return "nothing" if isinstance(effect, effects.Get) else "ok"
    if isinstance(value, list):
        return f"{len(value)} found"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(effect, effects.Get) and isinstance(value, Resource):
        return content(value.to_dict()) or "ok"
    if isinstance(effect, effects.Call):
        return shortened(repr(value))
    return "ok"


def content(shown: JsonObject) -> str:
    """What an object says beside its name, in few words: ``spec.text=x``."""
    parts = [f"{path}={value}" for path, value in _leaves({**shown, "metadata": {}}, "") if value not in (None, "")]
    if (shown.get("metadata") or {}).get("deletionTimestamp"):
        parts.insert(0, "deleting")
    return shortened(", ".join(each for each in parts if not each.startswith(("kind=", "apiVersion="))))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}" if path else name)
    else:
        yield path, value


def shortened(text: str) -> str:
    """A text that fits into a line with others."""
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"
