"""``Recorder``: writes down what a manager's controllers see and do.

    recorder = Recorder(file)
    client.transport = recorder.listening(client.transport)
    manager = Manager(client, [recorder.watching(one) for one in controllers])

Guarantees: what happens is written in the order in which it happens, with the time; recording never fails a reconcile
or changes what it sees; a recording that has reached its limit says so and ends, and the run goes on. A process that is
started again goes on with its file (``Recorder.resumed``), so that the restart is a part of the recording.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec
import orjson

from attractor.check.report.messages import as_json
from attractor.check.world.simulation.process.worker import LOCAL
from attractor.client.verbs.watch import LineSplitter
from attractor.runtime import effects
from attractor.runtime.effects import described
from attractor.testing.directed.reconciles import stepwise
from attractor.testing.recording.redaction import is_about_secrets, redacted
from attractor.testing.request_log import describe

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping
    from pathlib import Path

    from attractor.client import ByteStream, ClientRequest, ClientResponse, Transport
    from attractor.objects.gvk import Key
    from attractor.runtime import Context, Controller, Result
    from attractor.runtime.effects import Effect

FORMAT = "attractor/recording"
VERSION = 2
LIMIT_BYTES = 64 << 20

_asking: ContextVar[int | None] = ContextVar("asking", default=None)
"""The number of the question that the current task is about; None outside reconciles."""


class Recorder:
    """One recording."""

    def __init__(self, file: IO[bytes], *, limit_bytes: int = LIMIT_BYTES) -> None:
        """``limit_bytes`` is for the whole file, with what is in it already."""
        self._file = file
        self._left = limit_bytes - file.tell()
        self._questions = self._works = 0
        self.is_full = False
        self._write({"what": "recording", "format": FORMAT, "version": VERSION})

    @classmethod
    @contextmanager
    def resumed(cls, path: Path) -> Iterator[Recorder]:
        """Begin a file, or go on with it behind its last whole line, and close it in the end; raises ``OSError``."""
        path.touch()
        with path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise OSError(errno.EBUSY, "another process records there") from error
            whole = sum(len(line) for line in file if line.endswith(b"\n"))
            file.seek(whole)
            file.truncate()
            yield cls(file)

    def _write(self, entry: dict[str, Any]) -> None:
        if self.is_full:
            return
        entry["at"] = time.time_ns()
        line = orjson.dumps(entry, option=orjson.OPT_NON_STR_KEYS, default=repr) + b"\n"
        self._left -= len(line)
        if self._left < 0:
            self.is_full = True
            line = orjson.dumps({"what": "limit reached"}) + b"\n"
        self._file.write(line)
        self._file.flush()

    def moved(self, action: str, arguments: Mapping[str, Any]) -> None:
        """Somebody who directs the run lets something happen, told by the name of the world's step."""
        self._write({"what": "move", "action": action, "arguments": dict(arguments)})

    def unmoved(self) -> None:
        """It could not happen after all."""
        self._write({"what": "unmoved"})

    # Reconciles.

    def watching(self, declared: Controller) -> Controller:
        """The same declaration, whose reconciles and background work are recorded."""
        name = declared.name

        async def reconcile(ctx: Context, key: Key) -> Result | None:
            return cast("Result | None", await self._recorded(declared.reconcile(ctx, key), name, key, "begin"))

        return replace(declared, reconcile=reconcile)

    async def _recorded(self, coroutine: Coroutine[Any, Any, Any], controller: str, key: Key, what: str) -> Any:
        """Run a reconcile, or background work, and write down what it asks and how it ends."""
        at: dict[str, Any] = {"controller": controller, "key": str(key)}
        if what == "work":
            self._works += 1
            at["work"] = self._works

        async def turn(effect: Effect[Any] | None) -> None:
            if effect is not None and not isinstance(effect, LOCAL):
                self._questions += 1
                _asking.set(self._questions)
                self._write({"what": "ask", "question": self._questions, **at, **_effect(effect)})

        def told(effect: Effect[Any], value: Any, error: BaseException | None) -> None:
            if not isinstance(effect, LOCAL):
                self._answer(effect, value, error)

        def swap(effect: Effect[Any]) -> Effect[Any]:
            return self._watched_start(controller, effect) if isinstance(effect, effects.Start) else effect

        self._write({"what": what, **at})
        _asking.set(None)
        try:
            result = await stepwise(coroutine, turn, told, swap)
        except asyncio.CancelledError:
            self._write({"what": "cancelled", **at})
            raise
        except Exception as error:
            self._write({"what": "end", **at, "error": type(error).__name__})
            raise
        finally:
            _asking.set(None)
        self._write({"what": "end", **at, "error": None})
        return result

    def _watched_start(self, controller: str, effect: effects.Start) -> effects.Start:
        """The same start of background work that is recorded."""

        async def work(ctx: Context, *args: Any) -> None:
            await self._recorded(cast("Any", effect.work(ctx, *args)), controller, ctx.key, "work")

        return msgspec.structs.replace(effect, work=work)

    def _answer(self, effect: Effect[Any], value: Any, error: BaseException | None) -> None:
        number = _asking.get()
        _asking.set(None)
        entry: dict[str, Any] = {"what": "answer", "question": number, **_told(effect, value, error)}
        if isinstance(effect, effects.Gather) and error is None:
            entry["value"] = None
            entry["parts"] = [
                _told(asked, None if isinstance(each, BaseException) else each, each)
                if isinstance(each, BaseException)
                else _told(asked, each, None)
                for asked, each in zip(effect.effects, value, strict=True)
            ]
        self._write(entry)

    # Requests and watches.

    def listening(self, transport: Transport) -> Transport:
        """The same transport, whose requests and watch events are recorded."""
        return _RecordingTransport(transport, self)

    def requested(self, request: ClientRequest, response: ClientResponse | None, error: str) -> None:
        """A request was answered, or failed."""
        asked = describe(request)
        if asked is None or asked.resource == "events":
            return
        question = _asking.get()
        if question is None and asked.verb == "list":
            if response is not None and response.code == 200:
                body = redacted(orjson.loads(response.body), is_secret=is_about_secrets(request.path))
                self._write({"what": "list", "group": asked.group, "resource": asked.resource, "answer": body})
            return
        if question is None:
            return
        is_secret = is_about_secrets(request.path)
        self._write(
            {
                "what": "request",
                "question": question,
                "method": request.method,
                "path": request.path,
                "query": [list(pair) for pair in request.query],
                "contentType": request.content_type,
                "body": redacted(_json(request.body), is_secret=is_secret),
                "code": None if response is None else response.code,
                "answer": None if response is None else redacted(_json(response.body), is_secret=is_secret),
                "error": error or None,
            }
        )

    def delivered(self, group: str, resource: str, line: bytes) -> None:
        """A watch told of an event."""
        event = orjson.loads(line)
        if event.get("type") in {"ADDED", "MODIFIED", "DELETED"}:
            told = redacted(event["object"], is_secret=resource == "secrets")
            where = {"group": group, "resource": resource}
            self._write({"what": "deliver", **where, "type": event["type"], "object": told})


def _told(effect: Effect[Any], value: Any, error: BaseException | None) -> dict[str, Any]:
    """Return the answer to an effect; answers of outside systems are left out."""
    is_hidden = error is not None or isinstance(effect, effects.Call)
    return {
        "value": None if is_hidden else redacted(as_json(value)),
        "error": None if error is None else type(error).__name__,
    }


def _effect(effect: Effect[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"effect": type(effect).__name__, "text": _text(effect)}
    if isinstance(effect, effects.Gather):
        found["parts"] = [{"effect": type(each).__name__, "text": _text(each)} for each in effect.effects]
    return found


def _text(effect: Effect[Any]) -> str:
    return f"{effect.protocol.__name__}.{effect.method}" if isinstance(effect, effects.Call) else described(effect)


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        return f"{len(body)} bytes"


class _RecordingTransport:
    """Tells the recorder of everything that passes."""

    def __init__(self, inner: Transport, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder

    async def send(self, request: ClientRequest) -> ClientResponse:
        try:
            response = await self._inner.send(request)
        except Exception as error:
            self._recorder.requested(request, None, type(error).__name__)
            raise
        self._recorder.requested(request, response, "")
        return response

    async def open(self, request: ClientRequest) -> ByteStream:
        stream = await self._inner.open(request)
        asked = describe(request)
        if asked is None or asked.verb != "watch" or stream.code >= 400:
            return stream
        return _RecordingStream(stream, self._recorder, asked.group, asked.resource)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _RecordingStream:
    """Tells the recorder of each event just before the cache takes it."""

    def __init__(self, inner: ByteStream, recorder: Recorder, group: str, resource: str) -> None:
        self._inner = inner
        self._recorder = recorder
        self._where = group, resource
        self._splitter = LineSplitter()

    @property
    def code(self) -> int:
        return self._inner.code

    async def receive(self) -> bytes:
        piece = await self._inner.receive()
        for line in self._splitter.feed(piece):
            self._recorder.delivered(*self._where, line)
        return piece

    def close(self) -> None:
        self._inner.close()
