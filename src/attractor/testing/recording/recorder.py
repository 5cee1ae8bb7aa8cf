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
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import orjson

from attractor.check.world.telling import as_json, described
from attractor.check.world.worker import LOCAL
from attractor.client.watching import LineSplitter
from attractor.runtime import effects
from attractor.testing.directed.reconciles import gated
from attractor.testing.recording.redaction import is_about_secrets, redacted
from attractor.testing.requestlog import describe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attractor.client import ByteStream, ClientRequest, ClientResponse, Transport
    from attractor.objects.gvk import Key
    from attractor.runtime import Context, Controller, Result
    from attractor.runtime.effects import Effect

FORMAT = "attractor/recording"
VERSION = 1
LIMIT_BYTES = 64 << 20

_asking: ContextVar[int | None] = ContextVar("asking", default=None)
"""The number of the question that the current task is about; None outside reconciles."""


class Recorder:
    """One recording."""

    def __init__(self, file: IO[bytes], *, limit_bytes: int = LIMIT_BYTES) -> None:
        """``limit_bytes`` is for the whole file, with what is in it already."""
        self._file = file
        self._left = limit_bytes - file.tell()
        self._questions = 0
        self.is_full = False
        self._write({"what": "recording", "format": FORMAT, "version": VERSION})

    @classmethod
    @contextmanager
    def resumed(cls, path: Path) -> Iterator[Recorder]:
        """Begin a file, or go on with it behind its last whole line, and close it in the end; raises ``OSError``."""
        path.touch()
        with path.open("r+b") as file:
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

    # Reconciles.

    def watching(self, declared: Controller) -> Controller:
        """The same declaration, whose reconciles are recorded."""
        name = declared.name

        async def turn(effect: Effect[Any] | None) -> None:
            if effect is not None and not isinstance(effect, LOCAL):
                self._ask(name, effect)

        def told(effect: Effect[Any], value: Any, error: BaseException | None) -> None:
            if not isinstance(effect, LOCAL):
                self._answer(effect, value, error)

        stepwise = gated(declared, turn, told)

        async def reconcile(ctx: Context, key: Key) -> Result | None:
            at = {"controller": name, "key": str(key)}
            self._write({"what": "begin", **at})
            _asking.set(None)
            try:
                result = await stepwise.reconcile(ctx, key)
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

        return replace(declared, reconcile=_keyed(reconcile))

    def _ask(self, controller: str, effect: Effect[Any]) -> None:
        self._questions += 1
        _asking.set(self._questions)
        at = {"controller": controller, "key": str(_key.get())}
        self._write({"what": "ask", "question": self._questions, **at, **_effect(effect)})

    def _answer(self, effect: Effect[Any], value: Any, error: BaseException | None) -> None:
        number = _asking.get()
        _asking.set(None)
        is_hidden = error is not None or isinstance(effect, effects.Call)
        told = None if is_hidden else redacted(as_json(value))
        failed = None if error is None else type(error).__name__
        self._write({"what": "answer", "question": number, "value": told, "error": failed})

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


_key: ContextVar[Key | None] = ContextVar("key", default=None)


def _keyed(reconcile: Any) -> Any:
    """Let what runs inside know which object it is about."""

    async def run(ctx: Context, key: Key) -> Result | None:
        _key.set(key)
        result: Result | None = await reconcile(ctx, key)
        return result

    return run


def _effect(effect: Effect[Any]) -> dict[str, Any]:
    text = f"{effect.protocol.__name__}.{effect.method}" if isinstance(effect, effects.Call) else described(effect)
    return {"effect": type(effect).__name__, "text": text}


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
