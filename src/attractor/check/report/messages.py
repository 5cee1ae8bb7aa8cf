"""The words of an account: lanes, messages, summaries; from what happened inside a step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from attractor.check.world.simulation.events import (
    Called,
    Closed,
    Delivered,
    Ended,
    Enqueued,
    Note,
    Operated,
    Performed,
    Recorded,
    Requested,
    Started,
)
from attractor.objects.errors import ApiError
from attractor.objects.resource import Resource
from attractor.runtime import effects
from attractor.runtime.effects import described
from attractor.runtime.worker.outcome import is_panic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attractor.client.transport import ClientRequest, ClientResponse
    from attractor.objects.json_types import JsonObject
    from attractor.runtime.effects import Effect

SERVER = "apiserver"
MOST_SHOWN = 60
"""How many letters of a value are told."""
_OWN_MEMORY = (effects.Recall, effects.Remember, effects.Forget)


@dataclass(frozen=True)
class Message:
    """Something that went from one lane to another, or got lost on the way."""

    source: str
    target: str
    label: str
    lost: bool = False


class Lanes:
    """Which lane acts. Workers have no names in the model; here the lowest free number takes a key."""

    def __init__(self) -> None:
        self._busy: dict[str, dict[str, int]] = {}

    def worker(self, name: str, key: str) -> str:
        """The lane of the worker that has a key, or would take it."""
        host = name.split("/", maxsplit=1)[0]
        busy = self._busy.setdefault(host, {})
        task = f"{name} {key}"
        if task not in busy:
            busy[task] = next(number for number in range(len(busy) + 1) if number not in busy.values())
        return f"{host} worker {busy[task]}"

    def actor(self, action: str, arguments: dict[str, Any], notes: Sequence[Note]) -> str:
        """The lane that a step belongs to."""
        if "controller" in arguments:
            name = f"{arguments['host']}/{arguments['controller']}"
            if action in {"timer", "resync"}:
                return f"{action} {arguments['host']}"
            if "place" in arguments:
                return f"background {arguments['host']}"
            return self.worker(name, arguments["key"])
        if action == "outside":
            return f"external {arguments['external']}"
        if action in {"list", "deliver", "close watch"}:
            return f"cache {arguments['host']}"
        if action == "late request":
            return action
        if "host" in arguments:
            return str(arguments["host"])
        if action in {"create", "edit", "delete"}:
            return "user"
        operated = [note.actor for note in notes if isinstance(note, Operated)]
        return operated[0] if operated else action

    def after(self, action: str, arguments: dict[str, Any], notes: Sequence[Note]) -> None:
        """Free the workers whose reconciles have ended or died."""
        for note in notes:
            if isinstance(note, Ended):
                self._busy.get(note.worker.split("/")[0], {}).pop(f"{note.worker} {note.key}", None)
        if action.startswith("crash") or action in {"leadership lost", "stopped"}:
            self._busy.pop(arguments["host"], None)

    def messages(self, actor: str, notes: Sequence[Note]) -> Iterator[Message]:
        """What went between lanes during a step."""
        for note in notes:
            match note:
                case Requested():
                    yield from _exchange(actor, note)
                case Delivered(watch, told):
                    host, kind = watch.split("/")
                    yield Message(SERVER, f"cache {host}", f"{told.type} {kind.lower()} {told.key}")
                case Called(external, method, args, _, trouble):
                    yield from _call(actor, f"external {external}", f"{method}{args}", trouble)
                case Enqueued(worker, key) if not actor.startswith("timer"):
                    host = worker.split("/")[0]
                    yield Message(f"cache {host}", f"queue {host}", f"{worker.split('/')[1]}: {key}")
                case Performed(effect=effects.Get() | effects.List()) if not _asks_server(notes):
                    yield Message(f"cache {note.worker.split('/')[0]}", actor, described(note.effect))
                case Operated(who, verb, target, _):
                    yield Message(who, SERVER, f"{verb} {target}")


def _call(actor: str, external: str, label: str, trouble: str | None) -> Iterator[Message]:
    if actor == external:
        return
    yield Message(actor, external, label, lost=trouble == "call failed")
    if trouble != "call failed":
        yield Message(external, actor, "answer", lost=trouble is not None)


def _asks_server(notes: Sequence[Note]) -> bool:
    return any(isinstance(note, Requested) for note in notes)


def _exchange(actor: str, note: Requested) -> Iterator[Message]:
    label = request_label(note.request)
    if note.response is None:
        yield Message(actor, SERVER, label, lost=True)
        return
    yield Message(actor, SERVER, label)
    yield Message(SERVER, actor, response_label(note.response), lost=note.trouble == "answer lost")


def request_label(request: ClientRequest) -> str:
    """A request in few words: ``POST configmaps/a-1``."""
    path = request.path.split("/namespaces/", 1)[-1].removeprefix("/api/v1/")
    return f"{request.method} {path}"


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


def last_request(notes: Sequence[Note]) -> Requested | None:
    """The last request of a step."""
    found = [note for note in notes if isinstance(note, Requested)]
    return found[-1] if found else None


def last_effect(notes: Sequence[Note]) -> JsonObject | None:
    """The first thing that a reconcile asked for in a step, and what it was answered."""
    for note in notes:
        if isinstance(note, Performed):
            error = note.answer.error
            return {
                "type": type(note.effect).__name__,
                "text": described(note.effect),
                "answer": None if error is not None else as_json(note.answer.value),
                "error": None if error is None else f"{type(error).__name__}: {error}",
            }
    return None


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


def summary(action: str, arguments: dict[str, Any], notes: Sequence[Note]) -> str:
    """A step in one line."""
    parts = [text for note in notes if (text := _said(note))]
    if action in {"create", "edit", "delete"}:
        return f"{action} " + ", ".join(str(each) for each in arguments.values())
    if action == "outside":
        return f"{arguments['external']}: {arguments['event'].replace('_', ' ')}"
    if action not in {"start", "go on", "deliver", "collect garbage"}:
        parts.insert(0, action)
    return "; ".join(parts or filter(None, map(_recalled, notes))) or action


def _raised(error: BaseException) -> str:
    """A mistake in the program is told with its text, which says what to mend; an answer of the world by its name."""
    text = str(error).partition("\n")[0] if is_panic(error) else ""
    return f"raises {type(error).__name__}" + (f": {text}" if text else "")


def _recalled(note: Note) -> str:
    """What a reconcile did with its memory: told where a step is nothing else, for then somebody else can notice it."""
    if isinstance(note, Performed) and isinstance(note.effect, _OWN_MEMORY):
        is_empty = isinstance(note.effect, effects.Recall) and note.answer.value is None
        return f"{type(note.effect).__name__.lower()} {note.effect.slot} -> {'nothing' if is_empty else 'ok'}"
    return ""


def _said(note: Note) -> str:
    match note:
        case Performed(effect=effect, answer=answer):
            if isinstance(effect, _OWN_MEMORY):
                return ""
            return f"{described(effect)} -> {_answered(effect, answer.value, answer.error)}"
        case Started(key=key):
            return f"start {key}"
        case Ended(error=error, follows=follows):
            again = {"done": "", "later": ", again later", "backoff": ", again after a while"}[follows.what]
            return (_raised(error) if error else "ends") + again
        case Delivered(watch, told):
            return f"{told.type} {watch.split('/')[1].lower()} {told.key}"
        case Operated(actor, verb, target, code):
            return f"{actor}: {verb} {target} -> {code}"
        case Closed(watch):
            return f"watch of {watch} closed"
        case Requested(sender=sender) if sender == "rival" and note.request.method != "GET":
            return request_label(note.request)
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
